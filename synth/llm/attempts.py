"""Proposals and what became of them: which is the best so far, and what a model is told of the others."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from synth.interface import Candidate
from synth.llm.brief import block, clip, tree
from verifiers.interface import Args, CheckResult, Decision, Finding, Question, Report, Verdict

MAX_FINDINGS = 8
MAX_QUESTIONS = 3
MAX_DECISIONS = 8
MAX_EARLIER = 4
"""Proposals that a new one is told of."""

Failure = tuple[str, str]
"""A check and the case on which it failed."""


@dataclass
class Attempt:
    """One proposal with what became of it."""

    candidate: Candidate
    report: Report | None = None

    @property
    def failures(self) -> frozenset[Failure]:
        return frozenset((c.id, _case(f)) for c, f in self._wrong())

    @property
    def reached(self) -> tuple[int, int]:
        """How many checks and recorded cases passed."""
        checks = self.report.checks if self.report is not None else ()
        held = (c.measured.get("held") for c in checks)
        passed = sum(c.verdict in (Verdict.PASS, None) for c in checks)
        return (passed, sum(h for h in held if isinstance(h, int)))

    def told(self, base: Attempt | None = None) -> dict[str, Any]:
        """What a model is told of it: its code (as a diff against ``base``, where there is one) and what was found.

        Nothing of this may stand outside a block of data: findings quote names and contents of recordings.
        """
        out: dict[str, Any] = {}
        if base is None:
            out["code"] = self.candidate.source
            bindings = sorted(self.candidate.bindings.items())
            out["bindings"] = [{"task_id": task_id, "args": dict(args)} for task_id, args in bindings]
        else:
            old, new = (a.candidate.source.splitlines() for a in (base, self))
            out["what_it_changed"] = clip("\n".join(list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:]))
        if self.report is None:
            return out
        found = [{"check": c.id, **_finding(f)} for c, f in self._wrong()]
        out |= {"verdict": str(self.report.verdict), "findings": found[:MAX_FINDINGS]}
        asked = [q for c in self.report.checks for q in c.questions]
        if asked:
            out["open_questions"] = [_question(q) for q in sorted(asked, key=lambda q: -q.harm)[:MAX_QUESTIONS]]
        return out

    def _wrong(self) -> Iterator[tuple[CheckResult, Finding]]:
        checks = self.report.checks if self.report is not None else ()
        for check in checks:
            if check.verdict not in (None, Verdict.PASS):
                yield from ((check, f) for f in check.findings if f.severity == "error")


@dataclass
class Line:
    """A proposal and its repairs. The best so far is what the next repair starts from."""

    best: Attempt | None = None
    stale: int = 0
    """Repairs in a row that were not better."""
    _seen: set[Failure] = field(default_factory=set)
    """Everything that any of them failed."""

    def add(self, attempt: Attempt) -> bool:
        """Whether it is the best so far."""
        better = self._better(attempt)
        self._seen |= attempt.failures
        self.stale = 0 if better else self.stale + 1
        self.best = attempt if better else self.best
        return better

    def _better(self, new: Attempt) -> bool:
        """Whether more passes, or all that was wrong is right and what is wrong now is new.

        A judge stops at the first check that fails: a repaired case often uncovers another one, and that is progress.
        """
        best = self.best
        if best is None or best.report is None or new.report is None:
            return True
        if new.report.verdict != best.report.verdict and new.reached >= best.reached:
            return new.report.verdict < best.report.verdict
        if new.reached != best.reached:
            return new.reached > best.reached
        if new.failures < best.failures:
            return True
        return not new.failures & best.failures and bool(new.failures - self._seen)


def repair_of(best: Attempt, last: Attempt) -> str:
    """The data that a repair starts from: the best proposal, and the last one where it was dropped."""
    document: dict[str, Any] = {"best_proposal": best.told()}
    if last is not best:
        document["later_proposal_that_was_not_better"] = last.told(best)
    return block("findings", document)


def learned_from(tried: Sequence[Attempt]) -> str:
    """The data that a new proposal starts from: what was wrong with the earlier ones; "" without any."""
    rows = [a.told() for a in tried if a.report is not None]
    return block("earlier_proposals", rows[-MAX_EARLIER:]) if rows else ""


def answered(decisions: Sequence[Decision], task_ids: Collection[str]) -> str:
    """What somebody said is right on starts that no recording has, as data; "" where nothing is known of these recordings."""
    rows = [
        {**_question(d.question), "what_is_right": d.says, **({"in_words": clip(d.text)} if d.text else {})}
        for d in decisions if d.question.case.task_id in task_ids
    ]  # fmt: skip
    return block("decisions", rows[-MAX_DECISIONS:]) if rows else ""


def _case(finding: Finding) -> str:
    example = finding.counterexample
    return f"{example.case} {sorted((k, repr(v)) for k, v in example.args.items())}" if example is not None else finding.message


def _finding(finding: Finding) -> dict[str, Any]:
    out: dict[str, Any] = {"message": clip(finding.message), "line": finding.line}
    if finding.notes:
        out["notes"] = [clip(n) for n in finding.notes[:6]]
    case = finding.counterexample
    if case is not None:
        out["counterexample"] = {
            "case": case.case, "args": _args(case.args), "expected": clip(case.expected), "observed": clip(case.observed),
        }  # fmt: skip
        if case.base is not None:
            out["counterexample"]["workspace_before"] = tree(case.base)
    return out


def _question(question: Question) -> dict[str, Any]:
    """A case beyond the recordings where the commands and the skill part."""
    return {
        "message": clip(question.message), "args": _args(question.case.args), "workspace_before": tree(question.case.base),
        "the_commands": list(question.commands.diff) or question.commands.failure or clip(question.commands.answer or ""),
        "the_skill": list(question.skill.diff) or question.skill.failure or clip(question.skill.answer or ""),
    }  # fmt: skip


def _args(args: Args) -> Mapping[str, Any]:
    return {name: clip(value) if isinstance(value, str) else value for name, value in args.items()}

"""From one pattern to its best verified candidate, or to the reason why there is none. Registers nothing.

Traces are usable or not before anything is generated; some are then kept from the generator (hold-out), or each in turn
(leave-one-out); candidates are judged in the generator's order, and the first that passes on all traces wins.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice

from synth.holdout import Split, case_key, distinct, split
from synth.interface import Candidate, Generator, Template, TracePattern
from synth.judge import Judge
from verifiers.interface import Args, Evidence, Report, Verdict


@dataclass(frozen=True, slots=True)
class SearchSettings:
    hold_out: int = 1
    """Cases kept from the generator where there are at least four."""
    min_usable: int = 3
    max_candidates: int = 8
    seed: int = 0
    template: Template = "skill"
    refits: bool = False
    """The generator is cheap enough to be asked again without each trace (leave-one-out)."""
    sealed: bool = False
    """Judge on the shown traces alone first, so that no feedback to the generator can tell of a held-out one."""


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate that passed everything, on all traces."""

    candidate: Candidate
    report: Report
    bindings: Mapping[str, Args]
    held_out: tuple[str, ...]
    refitted: tuple[str, ...]
    tried: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotFound:
    """No candidate passed. ``report`` is the one that came furthest; None where nothing was generated."""

    why: str
    report: Report | None = None
    held_out: tuple[str, ...] = ()
    tried: int = 0
    notes: tuple[str, ...] = ()
    refused_evidence: bool = False
    """Too little of the evidence can be used at all."""


@dataclass
class Search:
    """One pattern's search. ``say`` hears what happens."""

    pattern: TracePattern
    evidence: Sequence[Evidence]
    generator: Generator
    judge: Judge
    settings: SearchSettings = SearchSettings()
    say: Callable[[str], None] = lambda text: None
    _reports: dict[str, Report] = field(default_factory=dict)
    """Code -> the report on all traces, of every candidate tried."""
    _without: dict[frozenset[str], tuple[Candidate, ...]] = field(default_factory=dict)
    """task_ids shown -> the candidates that they alone lead to."""

    def run(self) -> Found | NotFound:
        """Searches. At most one more split is tried when a candidate holds on the shown traces and not on the held-out ones."""
        unusable = self.judge.unusable(self.evidence)
        usable = [e for e in self.evidence if e.task_id not in unusable]
        notes = tuple(f"trace {task_id} is not used: {why}" for task_id, why in sorted(unusable.items()))
        if distinct(usable) < self.settings.min_usable:
            return NotFound(_too_few(usable, unusable, self.settings.min_usable), notes=notes, refused_evidence=True)
        first = self._attempt(usable, split(usable, self.settings.hold_out, self.settings.seed))
        if isinstance(first, NotFound) and first.held_out and self._overfitted(first):
            shown = frozenset(first.held_out)
            self.say("a candidate did not hold on the held-out trace: trying with that trace shown and another held out")
            again = self._attempt(usable, split(usable, self.settings.hold_out, self.settings.seed, shown), failures=1)
            first = replace(again, tried=first.tried + again.tried)
        return replace(first, notes=(*notes, *first.notes))

    def _overfitted(self, ended: NotFound) -> bool:
        """Whether something other than the held-out traces' absence from the template can be learned by showing them."""
        return ended.tried > 0 and self.settings.refits

    def _attempt(self, usable: Sequence[Evidence], parts: Split, failures: int = 0) -> Found | NotFound:
        held = tuple(e.task_id for e in parts.held_out)
        best: Report | None = None
        tried = 0
        for candidate in self._candidates(parts.seen):
            tried += 1
            self.say(f"judging candidate {tried} ({candidate.name})")
            judged = self._judge(candidate, parts, failures)
            if judged.report.verdict is Verdict.PASS:
                return Found(candidate, judged.report, judged.bindings, held, judged.refits.held, tried, judged.refits.notes)
            self.generator.rejected(candidate, without(judged.report, frozenset(held)))
            best = judged.report if best is None else _further(best, judged.report)
        if best is None:
            return NotFound(self.generator.why_none(), held_out=held)
        return NotFound(_refusal(best, frozenset(held)), best, held, tried)

    def _candidates(self, seen: Sequence[Evidence]) -> Iterator[Candidate]:
        ids = {e.task_id for e in seen}
        traces = tuple(t for t in self.pattern.traces if t.task_id in ids)
        commands = tuple(dict.fromkeys(c for t in traces for c in t.commands))
        shown = replace(self.pattern, traces=traces, frequency=len(traces), command_sequence=commands)
        return islice(self.generator.generate(shown, seen, self.settings.template), self.settings.max_candidates)

    def _judge(self, candidate: Candidate, parts: Split, failures: int) -> _Judged:
        if self.settings.sealed and parts.held_out:
            report = self.judge.verify(candidate, parts.seen, candidate.bindings, frozenset(), 0)
            if report.verdict is not Verdict.PASS:
                return _Judged(report, candidate.bindings)
        bindings = {**candidate.bindings, **self._bind(candidate, parts.seen, parts.held_out)}
        refits = self._leave_one_out(candidate, parts.seen) if self.settings.refits else _Refits()
        unseen = frozenset(e.task_id for e in parts.held_out) | set(refits.held)
        report = self.judge.verify(candidate, [*parts.seen, *parts.held_out], bindings, unseen, failures + refits.wrong)
        self._reports[code_of(candidate.source)] = report
        return _Judged(report, bindings, refits)

    def _bind(self, candidate: Candidate, seen: Sequence[Evidence], new: Sequence[Evidence]) -> Mapping[str, Args]:
        """Arguments for traces that the candidate was made without.

        The generator may tell them by making the very same code from all traces; else they are inferred.
        """
        known: dict[str, Args] = {}
        if self.settings.refits and new:
            # The same code first; else one with the same parameters, whose values for these traces then have to prove themselves.
            ranked = sorted(self._made((*seen, *new)), key=lambda c: code_of(c.source) != code_of(candidate.source))
            for told in (c for c in ranked if _names(c) == _names(candidate)):
                known = {e.task_id: told.bindings[e.task_id] for e in new if e.task_id in told.bindings} | known
        return {**self.judge.bind(candidate, seen, [e for e in new if e.task_id not in known]), **known}

    # -------------------------------------------------------- leave-one-out

    def _made(self, evidence: Sequence[Evidence]) -> tuple[Candidate, ...]:
        """What the generator makes of just these traces, remembered."""
        key = frozenset(e.task_id for e in evidence)
        if key not in self._without:
            self._without[key] = tuple(self._candidates(evidence)) if evidence else ()
        return self._without[key]

    def _leave_one_out(self, winner: Candidate, seen: Sequence[Evidence]) -> _Refits:
        """Makes the skill again without each trace, and says on which of them it then holds."""
        held: list[str] = []
        notes: list[str] = []
        wrong = 0
        for out in seen:
            rest = [e for e in seen if case_key(e) != case_key(out)]
            verdict = self._refit(winner, rest, out)
            if verdict is None:
                notes.append(f"not refittable without trace {out.task_id}: the others do not vary enough")
            elif verdict:
                held.append(out.task_id)
            else:
                wrong += 1
                notes.append(f"a skill made without trace {out.task_id} was wrong on it")
        return _Refits(tuple(held), wrong, tuple(notes))

    def _refit(self, winner: Candidate, rest: Sequence[Evidence], out: Evidence) -> bool | None:
        """Whether what the rest leads to holds on the trace left out; None where it leads to nothing that is as general."""
        for candidate in self._made(rest):
            if code_of(candidate.source) == code_of(winner.source):
                return True
            if code_of(candidate.source) in self._reports or parameters(candidate) < parameters(winner):
                continue
            if not self.judge.holds(candidate, rest, candidate.bindings):
                continue
            bindings = self._bind(candidate, rest, [out])
            return out.task_id in bindings and self.judge.holds(candidate, [out], bindings)
        return None


@dataclass(frozen=True, slots=True)
class _Refits:
    """What leave-one-out found."""

    held: tuple[str, ...] = ()
    """Traces on which the skill made without them holds."""
    wrong: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Judged:
    report: Report
    bindings: Mapping[str, Args]
    refits: _Refits = _Refits()


@lru_cache(maxsize=512)
def code_of(source: str) -> str:
    """The code of a skill without what it says of itself: docstrings and descriptions name the traces that it was made from."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source
    documented = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        elif isinstance(node, ast.Call):
            node.keywords = [k for k in node.keywords if k.arg != "description"]
    return ast.dump(tree)


def _names(candidate: Candidate) -> frozenset[str]:
    return frozenset(name for args in candidate.bindings.values() for name in args)


def parameters(candidate: Candidate) -> int:
    """How many arguments a candidate takes."""
    return max((len(args) for args in candidate.bindings.values()), default=0)


def without(report: Report, hidden: frozenset[str]) -> Report:
    """A report with every finding removed that tells of a hidden trace."""
    if not hidden:
        return report
    telling = re.compile("|".join(re.escape(h) for h in sorted(hidden)))

    def keeps(said: object) -> bool:
        return telling.search(repr(said)) is None

    checks = tuple(
        replace(c, findings=tuple(f for f in c.findings if keeps(f)), measured={}, why=c.why if keeps(c.why) else "")
        for c in report.checks
    )
    bindings = {task_id: args for task_id, args in report.bindings.items() if task_id not in hidden}
    return replace(report, checks=checks, bindings=bindings)


def _further(a: Report, b: Report) -> Report:
    """The report that came nearer to passing."""

    def rank(report: Report) -> tuple[int, int, int]:
        failed = sum(c.verdict is Verdict.FAIL for c in report.checks)
        passed = sum(c.verdict is Verdict.PASS for c in report.checks)
        return (int(report.verdict), failed, -passed)

    return b if rank(b) < rank(a) else a


def _refusal(report: Report, held: frozenset[str]) -> str:
    """Why the best candidate was not good enough, naming a held-out trace where it failed on one."""
    told = [f.counterexample.trace for c in report.checks if c.verdict is Verdict.FAIL for f in c.findings if f.counterexample]
    failed_on = next((t for t in told if t in held), None)
    return f"does not hold on left-out trace {failed_on}: {report.why}" if failed_on else report.why


def _too_few(usable: Sequence[Evidence], unusable: Mapping[str, str], least: int) -> str:
    cases = distinct(usable)
    text = f"only {cases} distinct usable trace{'' if cases == 1 else 's'}, {least} are needed"
    if unusable:
        task_id, why = next(iter(sorted(unusable.items())))
        more = f" and {len(unusable) - 1} more" if len(unusable) > 1 else ""
        text += f" ({task_id}{more} cannot be used: {why})"
    return text

"""Candidates from a language model: several proposals, each repaired while the findings show progress.

A model only ever proposes. What it says of its proposal is not read; the sandbox decides, on traces that it has not seen too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from synth.interface import Candidate, ExecutionTrace, Template, TracePattern
from synth.judged_by import judge_code
from synth.llm.ahead import batched, side_by_side
from synth.llm.asking import Asker
from synth.llm.attempts import Attempt, Line, answered, learned_from, repair_of
from synth.llm.brief import recordings
from synth.llm.errors import AnswerError, BudgetSpent
from synth.llm.grouping import grouped
from synth.llm.messages import MessagesClient
from synth.llm.prompts import fill, prompts_sha256
from synth.llm.refusals import Refusals
from synth.llm.service import Service
from synth.llm.settings import Settings
from synth.llm.tools import Declined, Proposal
from synth.tracing.traces import to_evidence
from synth.usage import Usage
from verifiers.interface import Args, Decision, Evidence, Report, Verdict
from verifiers.subject import parse_subject

MOST_STALE = 2
"""Repairs in a row that are not better, after which the next proposal begins anew."""


@dataclass
class ModelGenerator:
    """Proposes skills by asking a model. See ``synth.interface.Generator``."""

    settings: Settings = field(default_factory=Settings)
    client: Service = field(default_factory=MessagesClient)
    name: str = field(init=False, default="")
    decisions: tuple[Decision, ...] = ()
    """Answers to questions about the task."""
    _asker: Asker = field(init=False)
    _why: str = "the model proposed nothing"
    _ended: bool = False
    """The pattern is at its end: nothing further is asked."""
    _spent: bool = False
    """It ended for want of budget, not of a skill."""
    _reports: dict[str, Report] = field(default_factory=dict)
    """Source -> what became of it."""

    def __post_init__(self) -> None:
        self._asker = Asker(self.settings, self.client)
        self.name = f"{self.client.name}/{self._asker.model}"

    @property
    def events(self) -> tuple[str, ...]:
        return self._asker.events

    @property
    def lost_ahead(self) -> tuple[str, ...]:
        """Why requests that were asked ahead brought no answer; each is asked again in its turn."""
        return self._asker.lost_ahead

    def generate(self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill") -> Iterator[Candidate]:
        """Yields proposals; each is repaired as long as ``rejected`` tells of progress.

        Raises:
            ModelUnavailable: the service did not answer, after all retries.
            ModelRejected: it refused the request itself.
        """
        self._reports.clear()
        self._why, self._ended, self._spent = "the model proposed nothing", False, False
        ids = frozenset(e.task_id for e in evidence)
        refusals = self._refusals()
        if refusals is not None and (why := refusals.why(sorted(ids))):
            self._why = why
            return
        shown = self._shown(evidence, pattern.failures)
        tried: list[Attempt] = []
        for number in range(1, self.settings.candidates + 1):
            yield from self._line(shown, ids, self._propose(number, tried), tried)
            if self._ended or any(a.report is not None and a.report.verdict is Verdict.PASS for a in tried):
                break
        # A candidate that nobody judged was not refused.
        judged = all(a.report is not None for a in tried)
        if refusals is not None and judged and not self._spent:
            refusals.keep(sorted(ids), self._why)

    def rejected(self, candidate: Candidate, report: Report) -> None:
        """Remembers what was found, for the next repair."""
        self._reports[candidate.source] = report

    def why_none(self) -> str:
        return self._why

    def take_usage(self, *, last: bool = False) -> Usage:
        """What was spent on the pattern since it was begun, with how the answers went."""
        return self._asker.take_usage(last=last)

    def ahead(self, patterns: Sequence[tuple[TracePattern, Sequence[Evidence]]], workers: int, batch: bool) -> int:
        """Asks for the first proposals of many patterns before any of them is taken up.

        Args:
            patterns: Each with the evidence that ``generate`` will be given.
            workers: Requests at a time.
            batch: One batch instead, at half the price.

        Returns:
            How many were answered; those that were not are asked again in their turn.

        Raises:
            ModelError: the batch was not taken.
        """
        if self.settings.cache is None or self.settings.replay is not None or self.settings.record is not None:
            return 0
        refusals = self._refusals()
        due = [(p, e) for p, e in patterns if refusals is None or not refusals.why(sorted(x.task_id for x in e))]
        requests = [self._asker.request(self._shown(e, p.failures), self._propose(1, [])) for p, e in due]
        return batched(self._asker, requests) if batch else side_by_side(self._asker, requests, workers)

    def improved(self, evidence: Sequence[Evidence], instruction: str) -> Candidate | str:
        """The proposal that one instruction leads to, or why the model declined.

        Raises:
            AnswerError, BudgetSpent, ModelError: there is none.
        """
        found = self._asker.proposal(self._shown(evidence), instruction)
        if isinstance(found, Declined):
            return f"the model declined the task: {_flat(found.why)}"
        return self._candidate(found, frozenset(e.task_id for e in evidence))

    def together(self, alone: Sequence[ExecutionTrace], least: int) -> list[frozenset[str]]:
        """Groups of traces that detection left alone, as the model sees them: task_ids.

        Args:
            least: Traces that a group needs.

        Raises:
            ModelError: it gave nothing that can be used.
        """
        return grouped(self._asker, alone, least)

    # ------------------------------------------------------------ one line of proposals

    def _line(self, shown: str, ids: frozenset[str], instruction: str, tried: list[Attempt]) -> Iterator[Candidate]:
        """A first proposal and its repairs. Each repair starts from the best so far, and the line ends without progress."""
        line = Line()
        for _ in range(self.settings.rounds + 1):
            candidate = self._candidate_for(shown, instruction, ids)
            if candidate is None:
                return
            if any(a.candidate.source == candidate.source for a in tried):
                self._why = "the model proposed the same code again"
                return
            attempt = Attempt(candidate)
            tried.append(attempt)
            yield candidate
            attempt.report = self._reports.pop(candidate.source, None)
            if attempt.report is None:
                return
            self._why = f"{len(tried)} proposals did not pass: {attempt.report.why}"
            line.add(attempt)
            if line.stale >= MOST_STALE or line.best is None:
                self._why = f"the repairs made no progress: {attempt.report.why}"
                return
            instruction = fill("repair", earlier=repair_of(line.best, attempt))

    def _candidate_for(self, shown: str, instruction: str, ids: frozenset[str]) -> Candidate | None:
        """The candidate in the model's answer; None where there is none, with why."""
        try:
            found = self._asker.proposal(shown, instruction)
        except BudgetSpent as e:
            self._ended = self._spent = True
            self._why = e.diagnostics()
            return None
        except AnswerError as e:
            # Who refuses, or gives no usable answer twice, does not do otherwise for being asked again.
            self._ended, self._why = True, e.diagnostics()
            return None
        if isinstance(found, Declined):
            self._ended, self._why = True, f"the model declined the task: {_flat(found.why)}"
            return None
        return self._candidate(found, ids)

    def _candidate(self, proposal: Proposal, ids: frozenset[str]) -> Candidate:
        """The proposal as a candidate. Bindings of traces that were not shown are dropped: they could only be invented."""
        bindings: dict[str, Args] = {b.task_id: b.args for b in proposal.bindings if b.task_id in ids}
        subject = parse_subject(proposal.code, "skill.py")
        said = (_flat(proposal.notes),) if proposal.notes.strip() else ()
        notes = (*said, f"made with the prompts {prompts_sha256()}")
        name = _identifier(subject.name if subject.parameters or subject.description else proposal.name)
        description = _flat(proposal.description) or subject.description
        return Candidate(name, proposal.code, bindings, description, self.name, notes, float(len(proposal.code)))

    def _shown(self, evidence: Sequence[Evidence], failures: Sequence[ExecutionTrace] = ()) -> str:
        told = answered(self.decisions, {e.task_id for e in evidence})
        names = ", ".join(f"`{name}`" for name in self.settings.refuse_imports)
        refused = fill("refused_modules", names=names) if names else ""
        return "\n".join(part for part in (recordings(evidence, [to_evidence(t) for t in failures]), told, refused) if part)

    def _propose(self, number: int, tried: Sequence[Attempt]) -> str:
        learned = learned_from(tried)
        earlier = fill("earlier", data=learned) if learned else ""
        return fill("propose", number=str(number), total=str(self.settings.candidates), earlier=earlier)

    def _refusals(self) -> Refusals | None:
        s = self.settings
        if s.cache is None or s.replay is not None:
            return None
        asked = f"{s.candidates} {s.rounds} {s.effort} {s.thinking}"
        facts = (self.name, prompts_sha256(), str(judge_code()), asked, *s.refuse_imports)
        return Refusals(s.cache / "refused", facts)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _identifier(text: str) -> str:
    """A registrable name made from whatever a model called its skill."""
    name = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_")[:50]
    return name if re.match(r"[a-z]", name) else f"skill_{name}".rstrip("_")

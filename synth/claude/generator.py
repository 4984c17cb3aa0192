"""Candidates from a language model: several proposals, each repaired while the findings show progress.

A model only ever proposes. What it says of its proposal is not read; the sandbox decides, on traces that it has not seen too.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from synth.claude.brief import findings, recordings, signature
from synth.claude.budget import Budget
from synth.claude.client import Client, chosen_model
from synth.claude.errors import AnswerError, BudgetSpent, Malformed, ModelError, Refused, Truncated
from synth.claude.exchange import Answer, Request, Tape
from synth.claude.prompts import fill, prompt, prompts_sha256
from synth.claude.tools import Declined, Proposal, read
from synth.interface import Candidate, Template, TracePattern
from synth.usage import Usage
from verifiers.interface import Args, ConfigError, Evidence, Report, Verdict
from verifiers.subject import parse_subject


@dataclass(frozen=True, slots=True)
class Settings:
    model: str | None = None
    """None = ANTHROPIC_MODEL, else the default."""
    candidates: int = 3
    """First proposals per pattern."""
    rounds: int = 3
    """Repairs per proposal."""
    max_tokens: int = 200_000
    """Per pattern, input and output together."""
    max_cost_usd: float | None = None
    max_output_tokens: int = 8_000
    """Of one answer."""
    record: Path | None = None
    replay: Path | None = None

    def __post_init__(self) -> None:
        if self.record is not None and self.replay is not None:
            raise ConfigError("exchanges are either recorded or replayed", "Give one of --llm-record and --llm-replay")


class Asking(Protocol):
    """What answers requests: the SDK's client, or a fake."""

    def ask(self, request: Request) -> Answer: ...

    async def ask_async(self, request: Request) -> Answer: ...


@dataclass
class _Attempt:
    """One proposal with what became of it."""

    candidate: Candidate
    report: Report | None = None


@dataclass
class AnthropicGenerator:
    """Proposes skills by asking a model. See ``synth.interface.Generator``."""

    settings: Settings = field(default_factory=Settings)
    client: Asking = field(default_factory=Client)
    _why: str = "the model proposed nothing"
    _events: list[str] = field(default_factory=list)
    _reports: dict[str, Report] = field(default_factory=dict)
    """Source -> what became of it."""
    _budget: Budget | None = None
    _spent: bool = False

    name: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.name = f"anthropic/{chosen_model(self.settings.model)}"

    @property
    def events(self) -> tuple[str, ...]:
        """Refusals, malformed and truncated answers, in order: kept, never thrown away."""
        return tuple(self._events)

    # ------------------------------------------------------------ the generator's interface

    def generate(self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill") -> Iterator[Candidate]:
        """Yields proposals; each is repaired as long as ``rejected`` tells of progress.

        Raises:
            ModelUnavailable: the service did not answer, after all retries.
            ModelRejected: it refused the request itself.
        """
        self._start()
        shown = recordings(evidence)
        ids = frozenset(e.task_id for e in evidence)
        tried: list[_Attempt] = []
        for number in range(1, self.settings.candidates + 1):
            instruction = fill("propose", number=str(number), total=str(self.settings.candidates), earlier=_earlier(tried))
            yield from self._line(shown, ids, instruction, tried)
            if any(a.report is not None and a.report.verdict is Verdict.PASS for a in tried) or self._spent:
                return

    def rejected(self, candidate: Candidate, report: Report) -> None:
        """Remembers what was found, for the next repair."""
        self._reports[candidate.source] = report

    def why_none(self) -> str:
        return self._why

    def take_usage(self) -> Usage:
        """What was spent on the pattern since it was begun, with how the answers went."""
        budget, self._budget = self._budget, None
        usage = budget.usage if budget is not None else Usage()
        events, self._events = tuple(self._events), []
        counts = {kind: sum(e.startswith(kind) for e in events) for kind in ("refused", "malformed", "truncated")}
        return replace(
            usage, refusals=counts["refused"], malformed=counts["malformed"], truncated=counts["truncated"],
            events=events, model=chosen_model(self.settings.model), prompts=prompts_sha256(),
        )  # fmt: skip

    async def propose(self, pattern: TracePattern, evidence: Sequence[Evidence]) -> list[Candidate]:
        """First proposals only, asked at once and without blocking; those that are no proposal are left out (see ``events``)."""
        self._start()
        shown, ids = recordings(evidence), frozenset(e.task_id for e in evidence)
        total = self.settings.candidates
        requests = [
            self._request(shown, fill("propose", number=str(n), total=str(total), earlier="")) for n in range(1, total + 1)
        ]
        answers = await asyncio.gather(*(self._ask_async(r) for r in requests))
        found = [self._read(answer, ids) for answer in answers]
        return [c for c in found if isinstance(c, Candidate)]

    # ------------------------------------------------------------ one line of proposals

    def _line(self, shown: str, ids: frozenset[str], instruction: str, tried: list[_Attempt]) -> Iterator[Candidate]:
        """A first proposal and its repairs. Each repair starts from the best so far, and the line ends without progress."""
        best: _Attempt | None = None
        stale = 0
        for _ in range(self.settings.rounds + 1):
            candidate = self._ask_for_candidate(self._request(shown, instruction), ids)
            if candidate is None:
                return
            if any(a.candidate.source == candidate.source for a in tried):
                self._why = "the model proposed the same code again"
                return
            attempt = _Attempt(candidate)
            tried.append(attempt)
            yield candidate
            attempt.report = self._reports.pop(candidate.source, None)
            if attempt.report is None:
                return
            self._why = f"{len(tried)} proposals did not pass: {attempt.report.why}"
            progress = best is None or _better(attempt, best)
            stale = 0 if progress else stale + 1
            best = attempt if progress else best
            if stale >= 2:
                self._why = f"the repairs made no progress: {attempt.report.why}"
                return
            instruction = self._repair(best, attempt)

    def _repair(self, best: _Attempt | None, last: _Attempt) -> str:
        if best is None or best.report is None or last.report is None:
            raise AssertionError("a repair needs a report")
        worse = "" if last is best else f"\nA later attempt was not better and was dropped: {_one_line(last.report)}"
        return fill("repair", earlier=f"\n{findings(best.candidate, best.report)}{worse}")

    # ------------------------------------------------------------ asking

    def _start(self) -> None:
        self._reports.clear()
        self._why = "the model proposed nothing"
        if self._budget is None:
            self._budget = Budget(chosen_model(self.settings.model), self.settings.max_tokens, self.settings.max_cost_usd)
        self._spent = False

    def _request(self, shown: str, instruction: str) -> Request:
        model = chosen_model(self.settings.model)
        return Request(model, prompt("system"), shown, instruction, self.settings.max_output_tokens, prompts_sha256())

    def _ask_for_candidate(self, request: Request, ids: frozenset[str]) -> Candidate | None:
        """The candidate in the answer; a malformed answer is asked for once more. None where there is none, with why."""
        try:
            answer = self._ask(request)
            found = self._read(answer, ids)
            if isinstance(found, Malformed):
                again = f"{request.instruction}\n\n{fill('malformed', why=found.what)}"
                found = self._read(self._ask(replace(request, instruction=again)), ids)
        except BudgetSpent as e:
            self._spent, self._why = True, e.what
            return None
        if isinstance(found, Candidate):
            return found
        self._why = found.what
        # A refusal or a declined task does not become another one by asking again.
        self._spent = self._spent or isinstance(found, Refused | _Declined)
        return None

    def _ask(self, request: Request) -> Answer:
        assert self._budget is not None
        self._budget.allow(request)
        if self.settings.replay is not None:
            answer = Tape(self.settings.replay).find(request)
        else:
            answer = self._recorded(request, self._outcome(request))
        self._budget.count(answer)
        return answer

    def _outcome(self, request: Request) -> Answer | ModelError:
        try:
            return self.client.ask(request)
        except ModelError as e:
            return e

    async def _ask_async(self, request: Request) -> Answer:
        assert self._budget is not None
        self._budget.allow(request)
        if self.settings.replay is not None:
            answer = Tape(self.settings.replay).find(request)
        else:
            answer = self._recorded(request, await self.client.ask_async(request))
        self._budget.count(answer)
        return answer

    def _recorded(self, request: Request, outcome: Answer | ModelError) -> Answer:
        if self.settings.record is not None:
            Tape(self.settings.record).keep(request, outcome)
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    def _read(self, answer: Answer, ids: frozenset[str]) -> Candidate | AnswerError:
        try:
            proposal = read(answer)
        except (Refused, Malformed, Truncated) as e:
            self._events.append(f"{type(e).__name__.lower()}: {e.what}")
            return e
        if isinstance(proposal, Declined):
            return _Declined(f"the model declined the task: {_flat(proposal.why)}")
        return self._candidate(proposal, ids)

    def _candidate(self, proposal: Proposal, ids: frozenset[str]) -> Candidate:
        """The proposal as a candidate. Bindings of traces that were not shown are dropped: they could only be invented."""
        bindings: dict[str, Args] = {b.task_id: b.args for b in proposal.bindings if b.task_id in ids}
        subject = parse_subject(proposal.code, "skill.py")
        said = (_flat(proposal.notes),) if proposal.notes.strip() else ()
        notes = (*said, f"made with the prompts {prompts_sha256()}")
        name = _identifier(subject.name if subject.parameters or subject.description else proposal.name)
        description = _flat(proposal.description) or subject.description
        return Candidate(name, proposal.code, bindings, description, self.name, notes, float(len(proposal.code)))


class _Declined(AnswerError):
    """The model used ``decline_task``."""


def _better(attempt: _Attempt, best: _Attempt) -> bool:
    """Whether a repair came further: fewer and milder things wrong."""
    if attempt.report is None or best.report is None:
        return False
    return _rank(attempt.report) < _rank(best.report) and signature(attempt.report) != signature(best.report)


def _rank(report: Report) -> tuple[int, int, int]:
    passed = sum(c.verdict is Verdict.PASS for c in report.checks)
    errors = sum(f.severity == "error" for c in report.checks if c.verdict is not Verdict.PASS for f in c.findings)
    return (int(report.verdict), -passed, errors)


def _earlier(tried: Sequence[_Attempt]) -> str:
    lines = [f"- {_one_line(a.report)}" for a in tried if a.report is not None]
    return (
        "\nEarlier proposals did not pass; take another approach. What was wrong with them:\n" + "\n".join(lines) if lines else ""
    )


def _one_line(report: Report) -> str:
    return _flat(report.why)[:400].replace("<", "(")


def _flat(text: str) -> str:
    return " ".join(text.split())


def _identifier(text: str) -> str:
    """A registrable name made from whatever a model called its skill."""
    name = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_")[:50]
    return name if re.match(r"[a-z]", name) else f"skill_{name}".rstrip("_")

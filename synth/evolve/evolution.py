"""One skill's evolution: what may be shown and what is held out, the search, the decision, and the history of all candidates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from sandbox.interface import SandboxError
from synth.crystallization.holdout import Split, distinct, split
from synth.crystallization.judge import Judge
from synth.crystallization.promotion import Crystallization
from synth.crystallization.search import Found, code_of, too_few
from synth.detect.signature import signature
from synth.evolve import standing
from synth.evolve.optimiser import Data, optimise
from synth.interface import Candidate, Draft, RegistryEntry, TracePattern
from synth.llm.attempts import Attempt, learned_from
from synth.llm.brief import block
from synth.llm.generator import MOST_STALE, ModelGenerator
from synth.llm.prompts import fill
from synth.registry import Registry
from synth.tracing.traces import to_evidence
from synth.usage import Usage, total
from verifiers.interface import Args, AssayError, ConfigError, Inconclusive, Report, Verdict
from verifiers.subject import parse_subject

SCHEMA = "assay-evolve/1"
Ending = Literal["promoted", "waits", "kept", "unsettled"]


@dataclass(frozen=True, slots=True)
class Base:
    """What is to be improved."""

    name: str
    """Of its history in the registry."""
    draft: Draft
    """With all recordings, newer ones too."""
    unseen: frozenset[str] = frozenset()
    """task_ids of recordings that its code was made without."""
    failures: int = 0
    entry: RegistryEntry | None = None
    """None = it is not registered: a better one becomes a skill of its own."""
    by_hand: str = ""
    """Why a better one must wait for a person; "" where it need not."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One version with what became of it."""

    candidate: Candidate
    report: Report
    """On the shown recordings; on all of them where the held-out ones have judged it."""
    judged_on: Literal["shown", "all"]
    why: str
    """Why it is not better; "" where it is."""


@dataclass(frozen=True, slots=True)
class Outcome:
    ending: Ending
    why: str
    skill: str
    version: str | None
    """Of the better version."""
    before: Report | None
    after: Report | None
    held_out: tuple[str, ...]
    unused: Mapping[str, str]
    tried: tuple[Tried, ...]
    usage: Usage


@dataclass
class Evolution:
    """Improves one skill. The held-out recordings are in no request, no metric and no feedback."""

    base: Base
    generator: ModelGenerator
    crystallization: Crystallization
    """Its judge judges, its registry gets what is better."""
    hold_out: int | None = None
    """Cases; None = a quarter of them."""
    most: int = 12
    """Proposals."""
    same_terms: bool = False
    """Score the version before as if it, too, had been made with the shown recordings. What is promoted may then have a lower
    score than it had."""
    say: Callable[[str], None] = lambda text: None
    tried: dict[str, Tried] = field(default_factory=dict)
    """By code, in the order in which they were made; without the base."""
    unused: dict[str, str] = field(default_factory=dict)
    _parts: Split = field(default_factory=lambda: Split((), ()))
    _bindings: dict[str, Args] = field(default_factory=dict)
    _before: Report | None = None
    _candidates: dict[str, Candidate] = field(default_factory=dict)
    """By code, the base too."""
    _reports: dict[str, Report] = field(default_factory=dict)
    """Code -> the report on the shown recordings."""
    _made_from: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _asked: int = 0
    _stale: int = 0
    _stopped: str = ""
    """What ended the search before its end."""
    _declined: str = ""
    _usages: list[Usage] = field(default_factory=list)

    def run(self) -> Outcome:
        """Searches and decides.

        Raises:
            Inconclusive: nothing can be measured: too few recordings, or none that could be held out.
            ConfigError: the model cannot be asked.
        """
        self._prepare()
        try:
            optimise(self.base.draft.source, self._shown_ids, self._metric, self._feedback, self._propose, self._ended)
        except ConfigError:
            raise
        except (AssayError, SandboxError) as e:
            self._stopped = e.diagnostics()
        try:
            return self._decide()
        except (AssayError, SandboxError) as e:
            return self.outcome("unsettled", e.diagnostics())

    def outcome(self, ending: Ending, why: str, version: str | None = None, after: Report | None = None) -> Outcome:
        """How it ended, with what was spent and tried so far."""
        self._usages.append(self.generator.take_usage())
        held = tuple(e.task_id for e in self._parts.held_out)
        return Outcome(
            ending, why, self.base.name, version, self._before, after, held, self.unused, tuple(self.tried.values()),
            total(self._usages),
        )  # fmt: skip

    # ------------------------------------------------------------ what is shown, and how it stands

    def _prepare(self) -> None:
        judge, draft = self._judge, self.base.draft
        self.generator.decisions = draft.decisions
        evidence = judge.rebuilt([to_evidence(t) for t in draft.evidence])
        self.unused = dict(judge.unusable(evidence))
        usable = [e for e in evidence if e.task_id not in self.unused]
        given: dict[str, Args] = {e.task_id: draft.bindings[e.task_id] for e in usable if e.task_id in draft.bindings}
        new = [e for e in usable if e.task_id not in given]
        maker = self._candidate(draft.source, given)
        self._bindings = {**given, **judge.bind(maker, [e for e in usable if e.task_id in given], new)}
        self.unused |= {e.task_id: "no arguments make the skill do what it did" for e in new if e.task_id not in self._bindings}
        usable = [e for e in usable if e.task_id in self._bindings]
        least = self.crystallization.settings.min_usable
        if distinct(usable) < least:
            raise Inconclusive(too_few(usable, self.unused, least), "Record it on other data, and name the new TRACES")
        count = self.hold_out if self.hold_out is not None else max(1, distinct(usable) // 4)
        self._parts = split(usable, count, self.crystallization.settings.seed, self.base.unseen)
        if not self._parts.held_out:
            what = f"no recording can be held out to decide: there are {distinct(usable)} different ones, and 4 are needed"
            raise Inconclusive(what, "Record it on other data, and name the new TRACES")
        self.say(f"{len(self._parts.seen)} recordings are shown, {len(self._parts.held_out)} held out")
        self._before = self._judged_on_all(maker, self._unseen if self.same_terms else self.base.unseen)
        self._candidates[draft.source], self._reports[draft.source] = maker, self._judged_on_shown(maker)
        for report in (self._before, self._reports[draft.source]):
            if report.verdict is Verdict.INCONCLUSIVE and (lost := [n.why for n in report.not_checked if not n.decided]):
                # What could not be judged today may be as good as ever.
                raise Inconclusive(f"the version before cannot be judged: {lost[0]}", "Try again", self.base.name)

    def _candidate(self, source: str, bindings: Mapping[str, Args]) -> Candidate:
        subject = parse_subject(source, "skill.py")
        return Candidate(self.base.draft.name, source, bindings, subject.description, self.generator.name)

    @property
    def _shown_ids(self) -> list[str]:
        return [e.task_id for e in self._parts.seen]

    @property
    def _unseen(self) -> frozenset[str]:
        """task_ids of recordings that neither the base nor what is made of it was made with."""
        return self.base.unseen & {e.task_id for e in self._parts.held_out}

    def _judged_on_shown(self, candidate: Candidate) -> Report:
        bindings = {task_id: self._bindings[task_id] for task_id in self._shown_ids}
        return self._judge.verify(candidate, self._parts.seen, bindings, frozenset(), self.base.failures)

    def _judged_on_all(self, candidate: Candidate, unseen: frozenset[str]) -> Report:
        evidence = [*self._parts.seen, *self._parts.held_out]
        return self._judge.verify(candidate, evidence, self._bindings, unseen, self.base.failures)

    @property
    def _judge(self) -> Judge:
        return self.crystallization.judge.deciding(self.base.draft.decisions)

    # ------------------------------------------------------------ for the optimiser

    def _metric(self, code: str) -> dict[str, float]:
        report = self._reports[code] if code in self._reports else self._judged(code)
        if self._function(code) != self._function(self.base.draft.source):
            return dict.fromkeys(self._shown_ids, 0.0)
        return standing.metric(code, report, self._shown_ids)

    def _judged(self, code: str) -> Report:
        """The report on a new version; in the history before anything is made of it."""
        self.say(f"judging proposal {self._asked}")
        report = self._reports[code] = self._judged_on_shown(self._candidates[code])
        base = self.base.draft.source
        self._keep(Tried(self._candidates[code], report, "shown", self._why_not((code, report), (base, self._reports[base]))))
        return report

    def _feedback(self, code: str) -> dict[str, Any]:
        return standing.feedback(self._candidates[code], self._reports[code])

    def _ended(self) -> bool:
        return bool(self._declined) or self._stale >= MOST_STALE or self._asked >= self.most

    def _propose(self, code: str, feedback: Data) -> str | None:
        """Code made from some code; None where there is none, or none that is new."""
        self._asked += 1
        self.say(f"asking for proposal {self._asked}")
        made = [Attempt(self._candidates[c], self._reports.get(c)) for c in self._made_from[code]]
        instruction = fill(
            "evolve", number=str(self._asked), total=str(self.most), skill=block("skill", feedback), earlier=learned_from(made)
        )
        found = self.generator.improved(self._parts.seen, instruction)
        if isinstance(found, str):
            self._declined = found
            return None
        if code_of(found.source) in {code_of(known) for known in self._candidates}:
            self._stale += 1
            return None
        self._stale = 0
        self._candidates[found.source] = replace(self._candidate(found.source, {}), notes=found.notes)
        self._made_from[code].append(found.source)
        return found.source

    # ------------------------------------------------------------ the decision

    def _decide(self) -> Outcome:
        """The first version that is better on the held-out recordings too, best on the shown ones first."""
        ids = self._shown_ids
        promising = [t for t in self.tried.values() if not t.why]
        promising.sort(key=lambda t: -sum(standing.metric(t.candidate.source, t.report, ids).values()))
        assert self._before is not None
        for number, t in enumerate(promising, 1):
            self.say(f"judging version {number} of {len(promising)} on the held-out recordings")
            report = self._judged_on_all(t.candidate, self._unseen)
            why = self._why_not((t.candidate.source, report), (self.base.draft.source, self._before))
            if why.startswith("its score") and self.base.unseen > self._unseen and not self.same_terms:
                why += " (made without recordings that were shown now; --same-terms leaves that out)"
            self._keep(Tried(t.candidate, report, "all", why))
            if not why:
                return self._promote(t.candidate, report)
        reasons = [t.why for t in self.tried.values() if t.judged_on == "all"] or [t.why for t in self.tried.values()]
        none = f"no version was better: {reasons[0]}" if reasons else ""
        said = self._stopped or self._declined or ("" if reasons else "the model proposed the same code again")
        return self.outcome("unsettled" if self._stopped else "kept", "; ".join(text for text in (none, said) if text))

    def _why_not(self, new: tuple[str, Report], old: tuple[str, Report]) -> str:
        why = standing.why_not_better(new, old)
        mine, theirs = self._function(new[0]), self._function(old[0])
        return why or ("" if mine == theirs else f"its function is {mine}, and others call {theirs}")

    def _function(self, code: str) -> str:
        return parse_subject(code, "skill.py").name

    def _keep(self, tried: Tried) -> None:
        """In the history, whatever became of it, before anything is built on it."""
        self.tried[tried.candidate.source] = tried
        detail = {"judged_on": tried.judged_on, "score": standing.score_of(tried.report), "why": tried.why or "better"}
        self._registry.tried(self.base.name, tried.candidate.source, tried.report, detail, actor=self.generator.name)

    @property
    def _registry(self) -> Registry:
        assert self.crystallization.registry is not None  # this is never done without one
        return self.crystallization.registry

    def _promote(self, candidate: Candidate, report: Report) -> Outcome:
        base, draft = self.base, self.base.draft
        waits = base.by_hand
        if base.entry is not None and (now := self._registry.show(base.name)).version != base.entry.version:
            waits = f"meanwhile another version is in use ({now.version[:12]})"
        if waits:
            self.crystallization.require_approval = True
        held = tuple(e.task_id for e in self._parts.held_out)
        found = Found(candidate, report, self._bindings, held, (), len(self.tried), (), self.unused)
        evidence = {e.task_id: e for e in (*self._parts.seen, *self._parts.held_out)}
        supersedes = base.name if base.entry is not None else None
        made = self.crystallization.register(self._pattern(), found, evidence, supersedes, draft.decisions)
        why = "; ".join(text for text in (waits, made.why, *made.notes[len(candidate.notes) :]) if text)
        ending: Ending = "waits" if made.why else "promoted"
        return replace(self.outcome(ending, why, made.version, report), skill=made.skill or base.name)

    def _pattern(self) -> TracePattern:
        """The recordings as one task, as the version before was made of it."""
        traces = self.base.draft.evidence
        known: Mapping[str, Any] = self.base.entry.metadata if self.base.entry is not None else {}
        return TracePattern(
            known.get("pattern_type", "repetitive"), tuple(dict.fromkeys(c for t in traces for c in t.commands)), len(traces),
            float(known.get("success_rate", 1.0)), self.base.name,
            str(known.get("signature") or signature(traces[0].task_description)), traces,
        )  # fmt: skip


def to_json(outcome: Outcome) -> dict[str, Any]:
    """The ``assay-evolve/1`` document."""

    def stand(report: Report | None) -> dict[str, Any] | None:
        if report is None:
            return None
        score = report.score.value if report.score is not None else None
        return {"verdict": report.verdict.name, "score": score, "questions": standing.open_questions(report)}

    return {
        "schema": SCHEMA, "skill": outcome.skill, "ending": outcome.ending, "version": outcome.version, "why": outcome.why,
        "before": stand(outcome.before), "after": stand(outcome.after), "held_out": list(outcome.held_out),
        "unused": dict(sorted(outcome.unused.items())), "usage": asdict(outcome.usage),
        "candidates": [
            {"sha256": t.report.sha256, "judged_on": t.judged_on, **(stand(t.report) or {}), "why": t.why} for t in outcome.tried
        ],
    }  # fmt: skip

"""From a pattern to a registered skill, or to one sentence that says why not. Nothing is registered on any failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.interface import SandboxError
from synth.crystallization.judge import Judge
from synth.crystallization.outcome import Ending, PatternOutcome
from synth.crystallization.search import Found, NotFound, Search, SearchSettings
from synth.detect.answering import with_answers
from synth.detect.match import evidence_keys, match_existing
from synth.documentation import skill_md
from synth.draft import unverified
from synth.interface import Draft, ExecutionTrace, Generator, RegistryEntry, Told, TracePattern
from synth.tracing.traces import to_evidence, trace_digest
from synth.usage import take_usage
from verifiers.decisions import digest_of
from verifiers.interface import AssayError, ConfigError, Decision, Evidence, Report, Verdict

if TYPE_CHECKING:
    from synth.registry import Registry

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Known:
    """A registered skill that a pattern's traces belong to."""

    entry: RegistryEntry
    traces: tuple[ExecutionTrace, ...]
    source: str
    decisions: tuple[Decision, ...] = ()
    """Answers to questions about it, which hold for its next version too."""

    @property
    def in_use(self) -> bool:
        """It is the active version; else it passed once and no longer does, mostly because of an answer."""
        return self.entry.status == "active"


@dataclass
class Crystallization:
    """Takes patterns through search, verification and registration."""

    generator: Generator
    judge: Judge
    registry: Registry | None
    """None = nothing is registered; what would be is reported as ``refused`` with that reason."""
    settings: SearchSettings = field(default_factory=SearchSettings)
    require_approval: bool = False
    say: Say = lambda text: None
    enough_new: int = 1
    """New traces of a registered skill's task that are worth a new version."""
    attest: Callable[[Path, Report], object] | None = None
    """Signs the report on a version's directory, where a key is configured."""

    def run(self, pattern: TracePattern) -> PatternOutcome:
        """One pattern's outcome. A lost engine, a full disk or a refusal of the registry are outcomes too."""
        began = time.monotonic()
        try:
            outcome = self._run(pattern)
        except SandboxError as e:
            outcome = self._end(pattern, "inconclusive", e.diagnostics())
        except AssayError as e:
            # A missing key or a wrong setting says nothing of the skill.
            unsettled = e.exit_code == 3 or isinstance(e, ConfigError)
            outcome = self._end(pattern, "inconclusive" if unsettled else "refused", e.diagnostics())
        return replace(outcome, seconds=time.monotonic() - began, usage=take_usage(self.generator), generator=self.generator.name)

    def shown(self, pattern: TracePattern) -> tuple[TracePattern, Sequence[Evidence]] | None:
        """What the generator will be given for a new task; None where nothing, or where that takes more than replays to say."""
        traces, _ = with_answers(pattern.traces)
        evidence = [to_evidence(t) for t in traces]
        if self._known(pattern) is not None or any(e.base is None for e in evidence):
            return None
        return Search(replace(pattern, traces=traces), evidence, self.generator, self.judge, self.settings).shown()

    def _run(self, pattern: TracePattern) -> PatternOutcome:
        known = self._known(pattern)
        if known is None:
            given = self.registry.answers_about(pattern.traces) if self.registry is not None else ()
            return self._crystallize(pattern, None, given)
        new = _new_traces(pattern.traces, known.traces)
        passed_over = set(known.entry.metadata.get("unused", ()))
        fresh = [t for t in new if trace_digest(t) not in passed_over]
        let_in = self.judge.lets_in(known.source)
        if known.in_use and let_in and len(fresh) < self.enough_new:
            return self._already(pattern, known, len(fresh))
        is_now = "is registered for this task" if known.in_use else "was made for this task and no longer passes"
        is_now += "" if let_in else ", and imports what is refused here"
        self.say(f"{known.entry.name} {is_now}: its evidence and {len(fresh)} new traces make a new version")
        merged = replace(pattern, traces=(*known.traces, *new), frequency=len(known.traces) + len(new))
        outcome = self._crystallize(merged, known, known.decisions)
        # Of a skill that is out of use, or is not let in, the same traces once more would be the same search once more.
        same = not (known.in_use and let_in) and not _new_traces(known.traces, pattern.traces)
        if outcome.ending == "registered" or same:
            return replace(outcome, task_ids=tuple(t.task_id for t in pattern.traces))
        return self._crystallize(pattern, None, known.decisions)

    def _crystallize(self, pattern: TracePattern, known: Known | None, decisions: tuple[Decision, ...]) -> PatternOutcome:
        supersedes = known.entry.name if known is not None else None
        bound = frozenset(t.task_id for t in known.traces) if known is not None and known.in_use else frozenset[str]()
        traces, unclear = with_answers(pattern.traces)
        pattern = replace(pattern, traces=traces)
        evidence = self.judge.rebuilt([to_evidence(t) for t in traces])
        judge = self.judge.deciding(decisions) if decisions else self.judge
        if isinstance(self.generator, Told):
            self.generator.decisions = decisions
        found = Search(pattern, evidence, self.generator, judge, self.settings, self.say, bound).run()
        found = replace(found, notes=(*found.notes, unclear)) if unclear else found
        if isinstance(found, NotFound):
            return self._not_found(pattern, found, decisions)
        return self.register(pattern, found, {e.task_id: e for e in evidence}, supersedes, decisions)

    def _not_found(self, pattern: TracePattern, found: NotFound, decisions: tuple[Decision, ...]) -> PatternOutcome:
        ending: Ending = "no-candidate"
        if found.refused_evidence or found.interrupted:
            ending = "inconclusive"
        elif found.report is not None:
            ending = "refused" if found.report.verdict is Verdict.FAIL else "inconclusive"
        draft = None
        if found.nearest is not None:
            draft = unverified(found.nearest.candidate, pattern, found.nearest.bindings)
            # Whoever mends it is held to what was answered, too.
            there = {t.task_id for t in pattern.traces}
            draft = replace(draft, decisions=tuple(d for d in decisions if d.question.case.task_id in there))
        return self._end(
            pattern, ending, found.why, held_out=found.held_out, tried=found.tried, notes=found.notes, unused=found.unused,
            report=found.report, draft=draft,
        )  # fmt: skip

    def register(
        self,
        pattern: TracePattern,
        found: Found,
        evidence: Mapping[str, Evidence],
        supersedes: str | None,
        decisions: tuple[Decision, ...],
    ) -> PatternOutcome:
        """Registers what passed, as the next version of a skill or as a new one.

        Args:
            evidence: As it was judged, by task_id.
            decisions: Answers that hold on; those about cases that were not judged are left out.
        """
        used = {c: found.bindings[c] for c in sorted(found.bindings)}
        traces = tuple(_as_used(t, evidence[t.task_id]) for t in pattern.traces if t.task_id in used)
        held = {d.digest for d in found.report.decisions}
        kept = tuple(d for d in decisions if digest_of(d) in held)
        text = skill_md(found, pattern, kept)
        draft = Draft(supersedes or found.candidate.name, found.candidate.source, traces, used, text, kept)
        common: dict[str, Any] = {
            "score": found.report.score.value if found.report.score else None, "held_out": found.held_out,
            "refitted": found.refitted, "bindings": used, "tried": found.tried,
            "report": found.report, "unused": found.unused,
        }  # fmt: skip
        gone = sorted({d.question.case.task_id for d in decisions if d not in kept})
        lost = (f"answers about cases of traces that are not judged any more do not hold: {', '.join(gone)}",) if gone else ()
        notes = (*found.candidate.notes, *found.notes, *lost)
        if self.registry is None:
            why = "it passed, and no registry was given"
            return self._end(pattern, "refused", why, skill=draft.name, notes=notes, **common)
        entry = self.registry.register(
            draft,
            found.report,
            self.judge.info,
            supersedes=supersedes,
            require_approval=self.require_approval,
            metadata=_metadata(pattern, found),
        )
        notes = (*notes, *self._attested(entry, found.report))
        approve = f"assay registry activate {entry.name} {entry.version[:12]} --approver WHO"
        why = "" if entry.status == "active" else f"it waits for approval: {approve}"
        return self._end(pattern, "registered", why, skill=entry.name, version=entry.version, notes=notes, **common)

    def _attested(self, entry: RegistryEntry, report: Report) -> tuple[str, ...]:
        """Signs a new version; what went wrong, for the notes: the skill is registered all the same."""
        try:
            if self.attest is not None:
                self.attest(Path(entry.path), report)
        except AssayError as e:
            return (f"not attested: {e.diagnostics()}",)
        return ()

    def _already(self, pattern: TracePattern, known: Known, new: int) -> PatternOutcome:
        assert self.registry is not None  # a known skill comes from it
        entry = known.entry
        return self._end(
            pattern, "registered", "it is registered for this task" + (f"; {new} new traces so far" if new else ""),
            skill=entry.name, version=entry.version,
            score=entry.score, bindings=self.registry.draft(entry.name).bindings,
            held_out=tuple(entry.metadata.get("held_out", ())), refitted=tuple(entry.metadata.get("refitted", ())),
        )  # fmt: skip

    def _known(self, pattern: TracePattern) -> Known | None:
        """The skill that was made for the same task: the active one, else one that no longer passes."""
        if self.registry is None:
            return None
        made = [e for e in self.registry.list(None) if e.metadata.get("source") == "crystallized"]
        entry = match_existing(pattern, [e for e in made if e.status == "active"])
        entry = entry or match_existing(pattern, [e for e in made if e.metadata["drifted"]])
        if entry is None:
            return None
        draft = self.registry.draft(entry.name, entry.version)
        return Known(entry, tuple(draft.evidence), draft.source, self.registry.decisions(entry))

    def _end(self, pattern: TracePattern, ending: Ending, why: str, **rest: Any) -> PatternOutcome:
        return PatternOutcome(pattern.task_category, tuple(t.task_id for t in pattern.traces), ending, why, **rest)


def _new_traces(traces: Sequence[ExecutionTrace], known: Sequence[ExecutionTrace]) -> list[ExecutionTrace]:
    seen = {trace_digest(t) for t in known}
    taken = {t.task_id for t in known}
    return [t for t in traces if trace_digest(t) not in seen and t.task_id not in taken]


def _as_used(trace: ExecutionTrace, evidence: Evidence) -> ExecutionTrace:
    """The trace as it was judged: with the base that was reconstructed for it, and marked so."""
    if not evidence.reconstructed or trace.workspace is not None or evidence.base is None:
        return trace
    return replace(
        trace,
        workspace=evidence.base.to_json(),
        post_workspace=evidence.post.to_json() if evidence.post is not None else None,
        exit_codes=evidence.exit_codes,
        metadata={**evidence.metadata, "reconstructed": True},
    )


def _metadata(pattern: TracePattern, found: Found) -> dict[str, Any]:
    """What the seeds keep of a skill's origin, and what recognises more traces of its task."""
    return {
        "source": "crystallized",
        "pattern_type": pattern.pattern_type,
        "frequency": pattern.frequency,
        "success_rate": pattern.success_rate,
        "signature": pattern.signature,
        "evidence": evidence_keys([t for t in pattern.traces if t.task_id in found.bindings]),
        "generator": found.candidate.generator,
        "held_out": list(found.held_out),
        "refitted": list(found.refitted),
        "unused": sorted(trace_digest(t) for t in pattern.traces if t.task_id in found.unused),
    }

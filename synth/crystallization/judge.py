"""How the crystallizer has candidates judged: an interface, and the one that verifies in the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sandbox.interface import Sandbox, SandboxInfo
from synth.interface import Candidate
from verifiers.binding.confirm import infer, reproducing
from verifiers.binding.other_form import proposals
from verifiers.conventions import findings
from verifiers.conventions.allowed_imports import AllowedImports
from verifiers.expectation.oracle import replay
from verifiers.expectation.sessions import Memory, RememberingSession
from verifiers.interface import (
    AS_LISTED,
    Args,
    Binding,
    Budget,
    Decision,
    Evidence,
    ImportRules,
    Profile,
    Report,
    Subject,
    Verdict,
)
from verifiers.reconstruction.reconstruct import rebuild_all
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

EFFECT_CHECKS = frozenset({"evidence-reproduces", "effect-equivalent", "answer-equivalent"})
"""What shows whether a skill does on a trace what the trace did."""


class Judge(Protocol):
    """What the crystallizer needs to know about evidence and candidates."""

    @property
    def info(self) -> SandboxInfo | None: ...

    def rebuilt(self, evidence: Sequence[Evidence]) -> Sequence[Evidence]:
        """The evidence with a reconstructed base where the recording has none and its outputs bear one out."""
        ...

    def lets_in(self, source: str) -> bool:
        """Whether a skill imports nothing that is refused here."""
        ...

    def unusable(self, evidence: Sequence[Evidence]) -> Mapping[str, str]:
        """task_id -> why its recording does not replay."""
        ...

    def bind(self, candidate: Candidate, seen: Sequence[Evidence], new: Sequence[Evidence]) -> Mapping[str, Args]:
        """Inferred arguments for new traces, which its maker has not seen; those that cannot be inferred are missing."""
        ...

    def bind_alone(self, candidate: Candidate, seen: Sequence[Evidence], new: Evidence) -> Args | None:
        """Arguments with which a candidate does what a trace did whose commands have another form; None where there are none."""
        ...

    def deciding(self, decisions: tuple[Decision, ...]) -> Judge:
        """The same judge, for whom these decisions hold."""
        ...

    def verify(
        self,
        candidate: Candidate,
        evidence: Sequence[Evidence],
        bindings: Mapping[str, Args],
        unseen: frozenset[str],
        failures: int,
    ) -> Report:
        """The full report on a candidate.

        Args:
            bindings: Arguments per task_id.
            unseen: task_ids that the candidate was made without.
            failures: Refits that were wrong on the trace that they were made without.
        """
        ...

    def holds(self, candidate: Candidate, evidence: Sequence[Evidence], bindings: Mapping[str, Args]) -> bool:
        """Whether a candidate does on each of these traces what the trace did (effect and answer alone)."""
        ...


@dataclass
class SandboxJudge:
    """Judges by verification in one sandbox. Replays of traces are shared between the candidates of one process."""

    sandbox: Sandbox
    budget: Budget = "standard"
    profile: Profile = "seed"
    seed: int | None = None
    salt: str = ""
    min_usable: int = 3
    imports: ImportRules = AS_LISTED
    programs: frozenset[str] = frozenset()
    """Programs that skills may start besides those that recordings name."""
    progress: Callable[[str], None] | None = None
    planned: Callable[[int], None] | None = None
    """Told how many runs are to come."""
    decisions: tuple[Decision, ...] = ()
    _memory: Memory = field(default_factory=dict)

    @property
    def info(self) -> SandboxInfo:
        return self.sandbox.info

    def deciding(self, decisions: tuple[Decision, ...]) -> SandboxJudge:
        return replace(self, decisions=decisions)

    def rebuilt(self, evidence: Sequence[Evidence]) -> Sequence[Evidence]:
        if all(e.base is not None for e in evidence):
            return evidence
        with self.replays() as traces:
            return rebuild_all(evidence, traces)

    def replays(self) -> RememberingSession:
        """Where a trace's own commands are run again; what they did is remembered."""
        return RememberingSession(self.sandbox, "evidence", self._memory)

    def lets_in(self, source: str) -> bool:
        if not self.imports.refuse:
            return True
        found = findings(parse_subject(source, "skill.py", self.profile), self.imports)
        return not any(f.rule == AllowedImports.id and f.severity == "error" for f in found)

    def unusable(self, evidence: Sequence[Evidence]) -> Mapping[str, str]:
        with self.replays() as traces:
            return replay(evidence, traces).unusable

    def bind(self, candidate: Candidate, seen: Sequence[Evidence], new: Sequence[Evidence]) -> Mapping[str, Args]:
        if not new:
            return {}
        wanted = {e.task_id for e in new}
        # More traces say more about what each parameter is, as long as they agree with what the maker said.
        known = {e.task_id: candidate.bindings[e.task_id] for e in seen if e.task_id in candidate.bindings}
        together = self._infer(candidate, [*seen, *new], known)
        if any(together.get(e.task_id, {}) != candidate.bindings.get(e.task_id, {}) for e in seen):
            together = self._infer(candidate, new)
        return {task_id: args for task_id, args in together.items() if task_id in wanted}

    def bind_alone(self, candidate: Candidate, seen: Sequence[Evidence], new: Evidence) -> Args | None:
        known = {e.task_id: candidate.bindings[e.task_id] for e in seen if e.task_id in candidate.bindings}
        bound = [e for e in seen if e.task_id in known]
        traces = RememberingSession(self.sandbox, "traces", self._memory)
        with traces, self.sandbox.session(f"skill {candidate.name}") as skill:
            return reproducing(self._subject(candidate), replay([new], traces), skill, proposals(known, bound, new))

    def _infer(
        self, candidate: Candidate, evidence: Sequence[Evidence], known: Mapping[str, Args] | None = None
    ) -> dict[str, Args]:
        subject = self._subject(candidate)
        traces = RememberingSession(self.sandbox, "traces", self._memory)
        with traces, self.sandbox.session(f"skill {candidate.name}") as skill:
            found, _ = infer(subject, replay(evidence, traces), skill, known)
        return {task_id: binding.args for task_id, binding in found.items()}

    def verify(
        self,
        candidate: Candidate,
        evidence: Sequence[Evidence],
        bindings: Mapping[str, Args],
        unseen: frozenset[str],
        failures: int,
    ) -> Report:
        shown = {e.task_id for e in evidence}
        held = tuple(d for d in self.decisions if d.question.case.task_id in shown)
        options = Options(
            budget=self.budget, profile=self.profile, seed=self.seed, salt=self.salt, unseen=unseen,
            leave_one_out_failures=failures, min_usable=self.min_usable, memory=self._memory, progress=self.progress,
            planned=self.planned, imports=self.imports, programs=self.programs, decisions=held,
        )  # fmt: skip
        return verify(self._subject(candidate), evidence, _typed(bindings), sandbox=self.sandbox, options=options)

    def holds(self, candidate: Candidate, evidence: Sequence[Evidence], bindings: Mapping[str, Args]) -> bool:
        options = Options(
            profile=self.profile, seed=self.seed, salt=self.salt, checks=EFFECT_CHECKS, min_usable=1, memory=self._memory
        )
        report = verify(self._subject(candidate), evidence, _typed(bindings), sandbox=self.sandbox, options=options)
        return report.verdict is Verdict.PASS

    def _subject(self, candidate: Candidate) -> Subject:
        return parse_subject(candidate.source, f"{candidate.name}/skill.py", self.profile, name=candidate.name)


def _typed(bindings: Mapping[str, Args]) -> dict[str, Binding]:
    return {task_id: Binding(task_id, args) for task_id, args in bindings.items()}

"""The contract of synthesis and promotion: traces, patterns, candidates, drafts, registry entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from verifiers.interface import Args, Decision, Evidence, Report


@dataclass(frozen=True, slots=True)
class ExecutionTrace:
    """Raw ordered record of what an agent did. The first eight fields are the seed's; one JSON object a trace
    (docs/design.md, "The trace format")."""

    task_id: str
    task_description: str
    commands: tuple[str, ...]
    outputs: tuple[str, ...]
    success: bool
    duration_ms: float
    timestamp: datetime
    metadata: Mapping[str, Any]
    task_family: str | None = None
    exit_codes: tuple[int, ...] | None = None
    workspace: Mapping[str, Any] | None = None
    """As in the file (``Snapshot.from_json`` parses it)."""
    post_workspace: Mapping[str, Any] | None = None
    labels: Mapping[str, Any] | None = None
    steps: Sequence[Mapping[str, Any]] | None = None
    """Commands by index, and edits, in order (as in the file); None = the commands are the steps."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown keys, kept."""


PatternType = Literal["repetitive", "complex", "novel"]


@dataclass(frozen=True, slots=True)
class TracePattern:
    """Traces that look like one task. The first five fields are the seed's."""

    pattern_type: PatternType
    command_sequence: tuple[str, ...]
    """Commands of the pattern's traces in order, duplicates dropped."""
    frequency: int
    """Successful traces."""
    success_rate: float
    """0 to 1."""
    task_category: str
    """A snake_case name for the task, made from descriptions (or signature); free of secrets."""
    signature: str
    traces: tuple[ExecutionTrace, ...]
    """The successful ones, oldest first."""
    failures: tuple[ExecutionTrace, ...] = ()
    """Negative evidence."""


TurnOutcome = Literal["success", "failure"]


@dataclass(frozen=True, slots=True)
class TurnTrajectory:
    """One turn of a conversation, as Wayland's recorder keeps it."""

    user_input: str
    picked_skill: str | None
    outcome: TurnOutcome
    summary: str
    timestamp: datetime


@dataclass(frozen=True, slots=True)
class Candidate:
    """Generated code with the binding for each trace. Unverified."""

    name: str
    source: str
    bindings: Mapping[str, Args]
    """task_id -> arguments, for the traces that the generator saw."""
    description: str
    generator: str
    """``embedded/1`` or ``anthropic/<model>``."""
    notes: tuple[str, ...] = ()
    """How it came about: dropped steps with reason, derived values."""
    cost: float = 0.0
    """Order of simplicity, smaller first."""


Template = Literal["skill", "command", "tool"]


class Generator(Protocol):
    """Proposes candidates, best first. ``feedback`` of rejected ones may steer later ones (a repair loop)."""

    name: str

    def generate(self, pattern: TracePattern, evidence: Sequence[Evidence], template: Template = "skill") -> Iterator[Candidate]:
        """Yields candidates lazily. Only ``evidence`` (never held-out traces) is shown to the generator."""
        ...

    def rejected(self, candidate: Candidate, report: Report) -> None:
        """Tells the generator that a candidate did not pass, and why."""
        ...

    def why_none(self) -> str:
        """After ``generate`` ended without (accepted) candidates: why, in one sentence."""
        ...


@runtime_checkable
class Told(Protocol):
    """A generator that is told of answers to questions about the task; set before each ``generate``."""

    decisions: tuple[Decision, ...]


@runtime_checkable
class Names(Protocol):
    """A generator that finds better words for a candidate once the arguments of more recordings are known."""

    def told_again(
        self, candidate: Candidate, evidence: Sequence[Evidence], bindings: Mapping[str, Args]
    ) -> tuple[Candidate, Mapping[str, Args]]:
        """The candidate under the name, and in the words, that the requests of all recordings give it, and the arguments of all
        under the new names; both as they are where there is nothing better. The code stays."""
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    """Files of a draft directory: ``skill.py``, ``evidence.jsonl``, ``bindings.json``, ``SKILL.md``, ``decisions.jsonl``."""

    name: str
    source: str
    evidence: tuple[ExecutionTrace, ...]
    bindings: Mapping[str, Args]
    skill_md: str
    decisions: tuple[Decision, ...] = ()
    """Answers to questions about it; without any there is no such file."""


Status = Literal["staged", "active", "archived", "revoked"]


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One version of one registered skill."""

    name: str
    version: str
    """sha256 of the whole directory."""
    status: Status
    score: float
    estimate: float
    description: str
    registered_at: datetime
    report_sha256: str
    path: str
    """Directory of this version."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

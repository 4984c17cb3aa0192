"""What importers share: the report, the error, and how a trace is put together from foreign parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from synth.interface import ExecutionTrace, TurnTrajectory
from synth.tracing.collector import file_part
from synth.tracing.traces import trace_from_record
from verifiers.interface import AssayError

Kind = Literal[
    "jsonl", "omni", "claude-code", "codex", "gemini-cli", "openhands", "mini-swe-agent", "swe-agent", "swe-agent-log", "aider",
    "cline", "terminal-bench", "wayland", "asciicast", "typescript", "history", "shell",
]  # fmt: skip


class UnknownFormat(AssayError, ValueError):
    """A file that no importer knows, or a version of a known format that it does not know."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """One thing that was not imported."""

    where: str
    what: str
    """``trace``, ``step``, ``field``, ``line`` …"""
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} dropped: {self.why}"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What came in and what did not."""

    kind: Kind
    traces: tuple[ExecutionTrace, ...] = ()
    turns: tuple[TurnTrajectory, ...] = ()
    """Of formats that record requests without commands: good for streaks, never for evidence."""
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    """What was assumed."""
    sessions: int = 0
    """Files that are sessions of an agent or a person."""

    def __add__(self, other: ImportReport) -> ImportReport:
        return ImportReport(
            self.kind,
            self.traces + other.traces,
            self.turns + other.turns,
            self.dropped + other.dropped,
            tuple(dict.fromkeys(self.notes + other.notes)),
            self.sessions + other.sessions,
        )


@dataclass(slots=True)
class Builder:
    """A trace in the making: foreign steps one by one, then ``build``."""

    task_id: str
    description: str
    where: str
    timestamp: datetime | None = None
    commands: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    stderrs: list[str | None] = field(default_factory=list)
    exit_codes: list[int | None] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    edits: list[dict[str, Any]] = field(default_factory=list)
    """Those among the steps, as in the trace format."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    workspace: dict[str, Any] | None = None

    def edit(self, path: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
        """One file, whole before and after, as entries of the trace format."""
        found = {"edit": {"path": path, "before": before, "after": after}}
        self.edits.append(found)
        self.steps.append(found)

    def step(self, command: str, output: str, exit_code: int | None = None, stderr: str | None = None) -> None:
        self.steps.append({"command": len(self.commands)})
        self.commands.append(command)
        self.outputs.append(output)
        self.stderrs.append(stderr)
        self.exit_codes.append(exit_code)

    def build(self, success: bool, duration_ms: float = 0.0) -> ExecutionTrace:
        """The trace; exit codes and stderrs only where every step has them.

        Raises:
            EvidenceError: a command or output cannot be part of a trace.
        """
        record: dict[str, Any] = {
            "task_id": self.task_id,
            "task_description": self.description,
            "commands": self.commands,
            "outputs": self.outputs,
            "success": success,
            "duration_ms": max(0.0, duration_ms),
            "timestamp": (self.timestamp or datetime.fromtimestamp(0, UTC)).isoformat(),
            "metadata": dict(self.metadata),
        }
        if self.commands and all(code is not None for code in self.exit_codes):
            record["exit_codes"] = self.exit_codes
        if self.commands and all(s is not None for s in self.stderrs):
            record["metadata"]["stderrs"] = self.stderrs
        if self.edits:
            record["steps"] = self.steps
        if self.workspace is not None:
            record["workspace"] = self.workspace
        return trace_from_record(record, self.where)


def task_id_for(source: str, *parts: str) -> str:
    """A stable task_id: the source's name and a digest of what identifies the trace in it."""
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]
    return f"{file_part(source)[:60]}-{digest}"


def parse_time(value: object) -> datetime | None:
    """An ISO 8601 time or seconds (or milliseconds) since the epoch; None for anything else."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            return None
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e14:
        return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    return None


def as_text(value: object) -> str:
    """Foreign output as text: strings as they are, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def content_text(value: object) -> str:
    """Text of a message: a string, or the text blocks of a list."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "\n".join(str(b.get("text", "")) for b in value if isinstance(b, Mapping) and b.get("type") == "text")
    return ""


def known_version(version: object, majors: Iterable[int], tool: str, where: Path | str) -> None:
    """Refuses a version whose major number is not among the known ones; an absent one is let through.

    Raises:
        UnknownFormat: names the version and the known ones.
    """
    if version is None:
        return
    major = str(version).lstrip("v").split(".")[0]
    if not major.isdecimal() or len(major) > 9 or int(major) not in set(majors):
        raise UnknownFormat(
            f"{tool} version {version!r} is not known", f"Known major versions: {', '.join(map(str, majors))}", where
        )

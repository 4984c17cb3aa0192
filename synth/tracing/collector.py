"""The trace store: one JSON file a trace in the Omni layout, written atomically, the oldest pruned.

A trace is visible whole or not at all: a write that is killed leaves a dot file that no reader looks at and a later writer
removes. Any number of processes may write to one directory.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synth.interface import ExecutionTrace
from synth.tracing.traces import dump_trace, iter_traces, trace_from_record
from verifiers.interface import AssayError, EvidenceError

_STALE_S = 3600
"""Age from which a half-written file's writer counts as dead."""
_WRITERS = 10
"""Processes that may fill up a directory at once without any of them missing the limit."""


class TraceStoreError(AssayError, OSError):
    """The trace directory cannot be written."""


class TraceCollector:
    """Stores traces in ``trace_dir``.

    Args:
        trace_dir: Made when the first trace is stored.
        max_traces_stored: From this many files on, the oldest are removed.
    """

    def __init__(self, trace_dir: Path | str, max_traces_stored: int = 1000) -> None:
        if max_traces_stored < 1:
            raise ValueError("max_traces_stored must be at least 1")
        self.trace_dir = Path(trace_dir)
        self.max_traces_stored = max_traces_stored
        self._numbers = itertools.count()
        self._room = 0
        """Traces that can be stored before the directory is looked at again."""

    # ------------------------------------------------------------ writing

    async def record(
        self,
        task_description: str,
        commands: Sequence[str],
        outputs: Sequence[str],
        success: bool,
        duration_ms: float,
        *,
        task_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> str:
        """Stores one execution, off the event loop, and returns its task_id.

        Args:
            task_description: What was asked.
            commands: In order.
            outputs: One for each command.
            success: Whether the task was done.
            duration_ms: Of all of it.
            task_id: Made from time and process without one.
            metadata: Anything else worth keeping.
            more: ``exit_codes``, ``workspace``, ``post_workspace``, ``task_family`` or unknown keys, as in the trace format.

        Raises:
            EvidenceError: the parts do not make a trace (one output for each command, strings, …).
            TraceStoreError: the directory cannot be written.
        """
        trace = new_trace(
            task_description, commands, outputs, success, duration_ms, task_id=task_id, metadata=metadata, **more
        )  # fmt: skip
        await asyncio.to_thread(self.store, trace)
        return trace.task_id

    def check(self) -> None:
        """Returns if traces can be stored: to be asked before the work that is to be recorded.

        Raises:
            TraceStoreError: they cannot.
        """
        there = next(p for p in (self.trace_dir, *self.trace_dir.absolute().parents) if os.path.lexists(p))
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            what = "is not a directory" if not there.is_dir() else "cannot be written"
            raise TraceStoreError(f"{what}, and traces would be kept there", "Check its permissions", there)

    def store(self, trace: ExecutionTrace) -> Path:
        """Stores a trace and returns its file.

        Raises:
            TraceStoreError: the directory cannot be written.
        """
        data = (dump_trace(trace) + "\n").encode()
        try:
            self._make_room()
            path = self._write(trace, data)
            self._prune_if_due()
        except OSError as e:
            advice = "Check the directory's permissions and room"
            raise TraceStoreError(f"cannot store a trace: {e.strerror}", advice, self.trace_dir) from e
        return path

    def _make_room(self) -> None:
        """Makes the directory; git is told to leave a new data directory alone."""
        data = next((p for p in self.trace_dir.parents if p.name == ".assay" and not p.exists()), None)
        self.trace_dir.mkdir(parents=True, exist_ok=True)
        if data is not None:
            (data / ".gitignore").write_text("*\n", encoding="utf-8")

    def _write(self, trace: ExecutionTrace, data: bytes) -> Path:
        temporary = self.trace_dir / f".{os.getpid()}-{time.monotonic_ns()}-{next(self._numbers)}.tmp"
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            return self._link(temporary, trace)
        finally:
            temporary.unlink(missing_ok=True)

    def _link(self, temporary: Path, trace: ExecutionTrace) -> Path:
        """Names the whole file ``{YYYYmmdd_HHMMSS}_{task_id}_{n}.json``, with the first free n: a link never overwrites."""
        stem = f"{trace.timestamp:%Y%m%d_%H%M%S}_{file_part(trace.task_id)}"
        for n in itertools.count():
            path = self.trace_dir / f"{stem}_{n}.json"
            try:
                os.link(temporary, path)
            except FileExistsError:
                continue
            return path
        raise AssertionError("itertools.count never ends")

    def _prune_if_due(self) -> None:
        """Prunes where the limit may be reached. Listing a large directory after each trace would cost more than writing it."""
        self._room -= 1
        if self._room < 0:
            before = len(self.files())
            kept = before - len(self.prune())
            self._room = (self.max_traces_stored - kept) // _WRITERS

    def prune(self) -> list[Path]:
        """Removes the oldest files beyond the limit, and what dead writers left behind; returns the traces removed."""
        files = self.files()
        surplus = files[: max(0, len(files) - self.max_traces_stored)]
        for path in surplus:
            path.unlink(missing_ok=True)  # another process may have pruned it first
        for path in self.trace_dir.glob(".*.tmp"):
            try:
                if time.time() - path.stat().st_mtime > _STALE_S:
                    path.unlink()
            except FileNotFoundError:
                continue
        return surplus

    # ------------------------------------------------------------ reading

    def files(self) -> list[Path]:
        """Trace files, oldest first (the name begins with the time)."""
        if not self.trace_dir.is_dir():
            return []
        with os.scandir(self.trace_dir) as entries:
            names = [e.name for e in entries if e.name.endswith(".json") and not e.name.startswith(".")]
        return [self.trace_dir / n for n in sorted(names, key=_order)]

    def traces(self, unreadable: list[EvidenceError] | None = None) -> list[ExecutionTrace]:
        """All stored traces, oldest first. Files that cannot be read are left out and listed in ``unreadable``.

        Raises:
            EvidenceError: a file cannot be read, and nobody asked for the list.
        """
        out: list[ExecutionTrace] = []
        for path in self.files():
            try:
                out += iter_traces(path)
            except EvidenceError as e:
                if not path.exists():
                    continue  # pruned since the directory was listed
                if unreadable is None:
                    raise
                unreadable.append(e)
        return out

    def traces_by_task(self, task_description: str) -> list[ExecutionTrace]:
        """Stored traces of this description (case and blanks aside), oldest first; unreadable files are passed over."""
        wanted = _normal(task_description)
        return [t for t in self.traces([]) if _normal(t.task_description) == wanted]

    async def get_traces_by_task(self, task_description: str) -> list[ExecutionTrace]:
        """Like ``traces_by_task``, off the event loop."""
        return await asyncio.to_thread(self.traces_by_task, task_description)


def new_trace(
    task_description: str,
    commands: Sequence[str],
    outputs: Sequence[str],
    success: bool,
    duration_ms: float,
    *,
    task_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    **more: Any,
) -> ExecutionTrace:
    """One execution as a trace, stamped with the time; arguments and errors as for ``TraceCollector.record``."""
    record = {
        "task_id": task_id or new_task_id(),
        "task_description": task_description,
        "commands": list(commands),
        "outputs": list(outputs),
        "success": success,
        "duration_ms": duration_ms,
        "timestamp": datetime.now(UTC).isoformat(),
        "metadata": dict(metadata or {}),
        **more,
    }
    return trace_from_record(record, f"trace {record['task_id']}")


def new_task_id() -> str:
    """A task_id that no other call makes: time, process and a random part."""
    return f"task-{time.time_ns():x}-{os.getpid():x}-{os.urandom(3).hex()}"


def file_part(task_id: str) -> str:
    """A task_id as part of a file name: at most 100 harmless characters."""
    return re.sub(r"[^\w.\-]+", "-", task_id, flags=re.ASCII).strip("-.")[:100] or "task"


def _order(name: str) -> tuple[str, str, int]:
    """Sorting key: time, then task, then running number."""
    stem, _, number = name.removesuffix(".json").rpartition("_")
    return name[:15], stem, int(number) if number.isdecimal() else 0


def _normal(description: str) -> str:
    return " ".join(description.lower().split())

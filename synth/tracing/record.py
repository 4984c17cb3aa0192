"""``assay record``: runs commands in the user's own shell and working directory, and keeps what replay needs.

Unlike everything else in assay this runs on the host: it is the user's own command, as if typed.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

from sandbox.interface import Entry, Snapshot
from synth.interface import ExecutionTrace
from synth.tracing.collector import new_task_id
from synth.tracing.traces import trace_from_record
from verifiers.interface import AssayError

SKIPPED = frozenset(
    {".git", "node_modules", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".assay"}
)
"""Directories left out of snapshots unless asked for."""
_OURS = ".assay"
"""Where recordings are kept: no part of any task."""
_WITH_GIT = SKIPPED - {".git"}
_CHANGES_GIT = re.compile(
    r"(?<![\w./-])git\s+(?:-\S+\s+(?:\S+\s+)?)*?(?:add|am|apply|branch|checkout|cherry-pick|clone|commit|config|fetch|init|merge|"
    r"mv|pull|push|rebase|remote|reset|restore|revert|rm|stash|switch|tag|update-ref|worktree)\b"
)


Step = Callable[[str], None]
_ASKED_EVERY_S = 0.2
"""How soon a command ends whose recording is not wanted any more."""


class RecordError(AssayError, OSError):
    """The commands cannot be recorded here."""


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """What one recording may hold."""

    files: int = 5_000
    total_bytes: int = 64 << 20
    """Content of all files of one snapshot."""
    output_bytes: int = 1 << 20
    """Kept of each stream of each command; the rest is shown but not kept."""
    wall_s: float | None = None
    """For each command; None = as long as it takes."""


@dataclass(frozen=True, slots=True)
class _Ran:
    out: bytes
    err: bytes
    exit_code: int
    cwd: str
    truncated: bool
    timed_out: bool


def record(
    task: str,
    commands: Sequence[str],
    workdir: Path | str = ".",
    *,
    success: bool | None = None,
    task_id: str | None = None,
    limits: RecordLimits = RecordLimits(),
    echo: bool = False,
    skip: frozenset[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    step: Step | None = None,
) -> ExecutionTrace:
    """Runs commands one after another with ``bash -c``, each where the previous one ended, and returns the trace.

    Args:
        task: What the commands are for.
        commands: Shell command lines.
        workdir: The workspace. Both snapshots are of it.
        success: Whether the task was done; None = every command exited 0. What may fail says so itself: ``COMMAND || true``.
        task_id: Made from time and process without one.
        limits: What is kept.
        echo: Shows outputs while they come (standard output and error of this process).
        skip: Directory names that snapshots leave out; None = ``SKIPPED``, but ``.git`` where a command changes a repository
            (and it is within the limits).
        metadata: Added to the trace's.
        step: Told each command as it starts, and "" again and again while it runs. What it raises ends the command with its
            children, starts no other, and comes out of here.

    Raises:
        RecordError: no commands, no directory, no bash, or the workspace is larger than the limits.
    """
    root = Path(workdir).resolve()
    if not commands:
        raise RecordError("there is no command to record", "Usage: assay record --task TEXT -- COMMAND")
    if any("\0" in c for c in commands):
        raise RecordError("a command has a NUL character, which no command can hold", "")
    if not root.is_dir():
        raise RecordError("is not a directory", "Name the directory that the task works on", root)
    left_out: set[str] = set()
    skip, before = _first_picture(root, commands, limits, skip, left_out)
    began, clock = datetime.now(UTC), time.monotonic()
    ran = _run_all(commands, root, limits, echo, step)
    duration_ms = (time.monotonic() - clock) * 1000
    after = snapshot_directory(root, limits, skip, left_out)
    facts: dict[str, Any] = {
        "source": "assay record",
        "workspace_root": str(root),
        "cwds": [r.cwd for r in ran],
        "stderrs": [_text(r.err) for r in ran],
        **(metadata or {}),
    }
    named = sorted(p for p in left_out if PurePosixPath(p).name != _OURS)
    if named:
        facts["left_out"] = named
    for name, flagged in (("truncated", [r.truncated for r in ran]), ("timed_out", [r.timed_out for r in ran])):
        if any(flagged):
            facts[name] = [i for i, yes in enumerate(flagged) if yes]
    return trace_from_record(
        {
            "task_id": task_id or new_task_id(),
            "task_description": task,
            "commands": list(commands[: len(ran)]),
            "outputs": [_text(r.out) + _text(r.err) for r in ran],
            "success": success if success is not None else all(r.exit_code == 0 for r in ran),
            "duration_ms": duration_ms,
            "timestamp": began.isoformat(),
            "metadata": facts,
            "exit_codes": [r.exit_code for r in ran],
            "workspace": before.to_json(),
            "post_workspace": after.to_json(),
        },
        "recording",
    )


def _first_picture(
    root: Path, commands: Sequence[str], limits: RecordLimits, skip: frozenset[str] | None, left_out: set[str]
) -> tuple[frozenset[str], Snapshot]:
    """What snapshots leave out, and the one before the commands."""
    if skip is None and any(map(_CHANGES_GIT.search, commands)):
        with suppress(RecordError):  # a long history: its commands cannot be replayed, others of the task may
            return _WITH_GIT, snapshot_directory(root, limits, _WITH_GIT, left_out)
    skip = SKIPPED if skip is None else skip
    return skip, snapshot_directory(root, limits, skip, left_out)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# ---------------------------------------------------------------- running


def _run_all(commands: Sequence[str], root: Path, limits: RecordLimits, echo: bool, step: Step | None) -> list[_Ran]:
    out: list[_Ran] = []
    here = root
    for command in commands:
        if step is not None:
            step(command)
        ran, here = _run(command, root, here, limits, echo, step)
        out.append(ran)
    return out


def _run(command: str, root: Path, here: Path, limits: RecordLimits, echo: bool, step: Step | None) -> tuple[_Ran, Path]:
    """Runs one command; also returns where it ended (the root if that is gone or outside)."""
    with tempfile.NamedTemporaryFile(prefix="assay-cwd-") as note:
        script = f"trap 'pwd -P > \"$ASSAY_CWD\"' EXIT\n{command}"
        env = {**os.environ, "ASSAY_CWD": note.name, "PWD": str(here)}
        try:
            process = subprocess.Popen(
                ["bash", "-c", script],
                cwd=here,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as e:
            raise RecordError(f"bash cannot be started: {e.strerror}", "assay record needs bash", here) from e
        out, err, timed_out = _drain(process, limits, echo, step)
        ended = note.read().decode("utf-8", "surrogateescape").rstrip("\n")
    relative = str(here.relative_to(root))
    truncated = max(len(out), len(err)) > limits.output_bytes
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    kept_out, kept_err = bytes(out[: limits.output_bytes]), bytes(err[: limits.output_bytes])
    return _Ran(kept_out, kept_err, code, relative, truncated, timed_out), _inside(root, ended)


def _inside(root: Path, ended: str) -> Path:
    path = Path(ended) if ended else root
    return path if path.is_dir() and path.is_relative_to(root) else root


def _drain(
    process: subprocess.Popen[bytes], limits: RecordLimits, echo: bool, step: Step | None
) -> tuple[bytearray, bytearray, bool]:
    """Reads both streams to their end, keeping one byte more than the limit; kills the command's session after its time."""
    kept = (bytearray(), bytearray())
    shown = tuple(getattr(s, "buffer", None) if echo else None for s in (sys.stdout, sys.stderr))
    assert process.stdout is not None
    assert process.stderr is not None
    streams: tuple[IO[bytes], IO[bytes]] = (process.stdout, process.stderr)
    threads = [
        threading.Thread(target=_copy, args=(stream, keep, limits.output_bytes + 1, show), daemon=True)
        for stream, keep, show in zip(streams, kept, shown, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        timed_out = not _ended(process, limits.wall_s, step)
    except BaseException:
        _kill(process)
        raise
    if timed_out:
        _kill(process)
    for thread in threads:
        thread.join(5)  # a process left in the background may hold the stream open for ever
    return (*kept, timed_out)


def _ended(process: subprocess.Popen[bytes], wall_s: float | None, step: Step | None) -> bool:
    """Waits for a command, and says whether it ended in its time."""
    until = time.monotonic() + wall_s if wall_s is not None else float("inf")
    while True:
        left = until - time.monotonic()
        pause = left if step is None else min(left, _ASKED_EVERY_S)
        try:
            process.wait(None if pause == float("inf") else max(0.0, pause))
            return True
        except subprocess.TimeoutExpired:
            if pause == left:
                return False
            if step is not None:
                step("")


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def _copy(stream: IO[bytes], keep: bytearray, limit: int, show: IO[bytes] | None) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            keep += chunk[: max(0, limit - len(keep))]
            try:
                if show is not None:
                    show.write(chunk)
                    show.flush()
            except (OSError, ValueError):
                show = None  # whoever watched went away: what is recorded must not depend on it


# ---------------------------------------------------------------- snapshots


def snapshot_directory(
    path: Path | str, limits: RecordLimits = RecordLimits(), skip: frozenset[str] = SKIPPED, left_out: set[str] | None = None
) -> Snapshot:
    """The picture of a directory on disk. Links are not followed; sockets and devices are left out.

    Args:
        skip: Names of directories that are left out too.
        left_out: Gets the paths of all that is left out.

    Raises:
        RecordError: it is larger than the limits, or a part of it cannot be read.
    """
    root = Path(path)
    entries: dict[str, Entry] = {}
    room = limits.total_bytes
    stack = [""]
    while stack:
        directory = stack.pop()
        for item in _scan(root / directory):
            name = f"{directory}/{item.name}" if directory else item.name
            info = item.stat(follow_symlinks=False)
            entry = _entry(item, info, skip, room)
            if entry is None:
                if left_out is not None:
                    left_out.add(name)
                continue
            entries[name] = entry
            room -= len(entry.content)
            if len(entries) > limits.files:
                raise _too_large(root, f"has more than {limits.files} paths")
            if entry.type == "dir":
                stack.append(name)
    return Snapshot(entries)


def _scan(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return sorted(found, key=lambda e: e.name)
    except OSError as e:
        raise RecordError(f"cannot be read: {e.strerror}", "Record where you may read everything", directory) from e


def _entry(item: os.DirEntry[str], info: os.stat_result, skip: frozenset[str], room: int) -> Entry | None:
    """The entry for one directory item; None for what snapshots leave out."""
    mode = stat.S_IMODE(info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        return Entry("symlink", 0o777, target=os.readlink(item.path))  # noqa: PTH115 -- Path would normalise the target
    if stat.S_ISDIR(info.st_mode):
        return None if item.name in skip else Entry("dir", mode)
    if stat.S_ISFIFO(info.st_mode):
        return Entry("fifo", mode)
    if not stat.S_ISREG(info.st_mode):
        return None
    if info.st_size > room:
        sizes = f"{info.st_size / (1 << 20):.1f} MiB, where {room / (1 << 20):.1f} MiB are left"
        raise _too_large(Path(item.path), f"does not fit into a recording: it has {sizes}")
    try:
        return Entry("file", mode, Path(item.path).read_bytes())
    except OSError as e:
        raise RecordError(f"cannot be read: {e.strerror}", "Record where you may read everything", item.path) from e


def _too_large(path: Path, what: str) -> RecordError:
    return RecordError(what, "Record in a smaller directory that holds just what the task works on", path)

"""Recording: commands run here, in a directory, with what they printed and what the directory was before and after."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sandbox.interface import ROOT, Snapshot
from synth.collector import new_task_id
from synth.interface import ExecutionTrace
from synth.workspace import snapshot_of


@dataclass(frozen=True, slots=True)
class Step:
    """One command that was run."""

    command: str
    cwd: str
    """Where it started, relative to the workspace."""
    stdout: str
    stderr: str
    exit_code: int


def record(task: str, commands: Sequence[str], directory: Path, task_id: str | None = None) -> ExecutionTrace:
    """Runs commands one after another, each ``bash -c`` where the previous one ended, and returns the trace.

    What they print is passed on as well. The first that fails does not stop the rest: a trace is what happened.

    Raises:
        WorkspaceError: the directory cannot be read whole.
    """
    top = directory.resolve()
    before = snapshot_of(top)
    began, at = time.monotonic(), datetime.now(UTC)
    steps: list[Step] = []
    place = top
    for command in commands:
        step, place = _run(command, place, top)
        steps.append(step)
    metadata = {
        "cwds": [s.cwd for s in steps],
        "stderrs": [s.stderr for s in steps],
        "user": _user(),
        "commands_origin": "recorded",
    }
    if any(str(top) in c for c in commands):
        metadata["workspace_root"] = str(top)
    return ExecutionTrace(
        task_id=task_id or new_task_id(),
        task_description=task,
        commands=tuple(commands),
        outputs=tuple(s.stdout + s.stderr for s in steps),
        success=bool(steps) and steps[-1].exit_code == 0,
        duration_ms=round(1000 * (time.monotonic() - began), 2),
        timestamp=at,
        metadata=metadata,
        exit_codes=tuple(s.exit_code for s in steps),
        workspace=_json(before),
        post_workspace=_json(snapshot_of(top)),
    )


def _run(command: str, place: Path, top: Path) -> tuple[Step, Path]:
    """One command, and where it ended (the workspace where that is gone or outside)."""
    with tempfile.TemporaryFile() as ended:
        # The trap tells where the shell ended; a command that replaces the shell or the trap stays where it started.
        script = f"trap 'pwd -P >&{ended.fileno()}' EXIT\n{command}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=place,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            pass_fds=[ended.fileno()],
            check=False,
        )
        ended.seek(0)
        where = os.fsdecode(ended.read()).rstrip("\n")
    out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    sys.stdout.write(out)
    sys.stderr.write(err)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    step = Step(command, place.relative_to(top).as_posix(), out, err, code)
    after = Path(where) if where else place
    return step, after if after.is_dir() and after.is_relative_to(top) else top


def _json(snapshot: Snapshot) -> dict[str, dict[str, str]]:
    return Snapshot({path: entry for path, entry in snapshot.items() if path != ROOT}).to_json()


def _user() -> str:
    try:
        return f"uid {os.getuid()} ({getpass.getuser()})"
    except (KeyError, OSError):
        return f"uid {os.getuid()}"

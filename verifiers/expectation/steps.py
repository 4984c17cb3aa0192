"""The steps of a trace as one shell job: its commands, and among them its edits, applied as they were recorded.

An edit is shell text in the same job, so that everything besides the workspace (HOME, ``/tmp``, time stamps) stays what it was
between the commands. It writes what the recording says, and refuses where it finds another file than the recording has.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sandbox.codec import workdir
from sandbox.interface import Limits, ReplayRecord, RunRequest, Session, ShellJob, Snapshot, Surroundings
from verifiers.interface import Edit, Evidence

_AT_ONCE = 90_000
"""Characters of content that one command carries, a multiple of four: Linux takes 128 KiB in one argument (MAX_ARG_STRLEN)."""
_OTHER_FILE = 97
"""Exit code of an edit that does not find what was recorded."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One command of the job."""

    text: str
    edit: Edit | None = None


def trace_request(evidence: Evidence, base: Snapshot, surroundings: Surroundings = Surroundings()) -> RunRequest:
    """The run of a trace's steps on a start."""
    lines = tuple(line.text for line in _lines(evidence, workdir(surroundings)))
    return RunRequest(ShellJob(lines), base, surroundings, limits=Limits(wall_s=20.0 * max(1, len(evidence.commands))))


def replayed(evidence: Evidence, session: Session, base: Snapshot, surroundings: Surroundings = Surroundings()) -> Snapshot:
    """Where the steps lead from a start; the recorded end of a trace that has none."""
    if not evidence.commands and not evidence.edits and evidence.post is not None:
        return evidence.post
    return session.run(trace_request(evidence, base, surroundings)).post


def commands_of(evidence: Evidence, record: ReplayRecord) -> tuple[ReplayRecord, str]:
    """The record with the steps of the trace's own commands; and which edit could not be applied, in one sentence, or ""."""
    if not evidence.edits:
        return record, ""
    lines = list(_lines(evidence, ""))
    pairs = list(zip(lines, record.steps, strict=False))
    own = tuple(step for line, step in pairs if line.edit is None)
    failed = next(((line.edit, step.exit_code) for line, step in pairs if line.edit is not None and step.exit_code != 0), None)
    return replace(record, steps=own), _refused(evidence, *failed) if failed is not None else ""


def _refused(evidence: Evidence, edit: Edit, code: int | None) -> str:
    number = evidence.edits.index(edit) + 1
    why = "finds another file than when it was recorded" if code == _OTHER_FILE else "cannot be applied"
    return f"edit {number} ({edit.path}) {why}"


def _lines(evidence: Evidence, root: str) -> Iterator[_Line]:
    waiting = list(evidence.edits)
    for done, command in enumerate((*evidence.commands, None)):
        while waiting and waiting[0].after_commands <= done:
            edit = waiting.pop(0)
            yield from (_Line(text, edit) for text in _applied(edit, root))
        if command is not None:
            yield _Line(command)


def _applied(edit: Edit, root: str) -> Iterator[str]:
    """Commands that make an edit; each leaves the working directory as it is."""
    file = shlex.quote(f"{root}/{edit.path}")
    yield f"{_found(edit, file)} || (exit {_OTHER_FILE})"
    if edit.after is None:
        yield f"rm -- {file}"
        return
    if edit.before is None:
        yield f'mkdir -p -- "$(dirname -- {file})"'
    text = base64.b64encode(edit.after.content).decode("ascii")
    for at in range(0, max(1, len(text)), _AT_ONCE):
        yield f"printf %s '{text[at : at + _AT_ONCE]}' | base64 -d {'>>' if at else '>'} {file}"
    if edit.before is None or edit.before.mode != edit.after.mode:
        yield f"chmod {edit.after.mode:o} -- {file}"


def _found(edit: Edit, file: str) -> str:
    """The test that the file is as recorded. Its mode is not asked for: edit tools do not say it."""
    if edit.before is None:
        return f"[ ! -e {file} -a ! -L {file} ]"
    digest = hashlib.sha256(edit.before.content).hexdigest()
    return f'[ -f {file} ] && [ "$(sha256sum < {file})" = "{digest}  -" ]'

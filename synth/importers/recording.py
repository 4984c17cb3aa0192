"""What recordings of terminals have in common: a screen on which commands are told from what they printed, as one trace.

Outputs are what the screen showed: no exit codes, no streams apart, no tabs, no start state. What a full-screen program did is
not in its pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from synth.importers import terminal
from synth.importers.common import Dropped, ImportReport, Kind, UnknownFormat
from synth.importers.shell import Session, built, cut, named, typed
from verifiers.interface import EvidenceError

_NOTE = "outputs are what the screen showed, without exit codes; a recording counts as done where nothing says whether it was"


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds."""

    pieces: list[tuple[int, int, str]]
    """Columns, lines, and what was printed on a terminal of that size."""
    task: str = ""
    command: str = ""
    """The one that was recorded, where that was no shell."""
    time: datetime | None = None
    seconds: float = 0.0


def report(kind: Kind, path: Path, recording: Recording, dropped: list[Dropped], done: bool = True) -> ImportReport:
    """A recording as a report with one trace, or with the reason why there is none."""
    screen = terminal.shown(recording.pieces)
    rows = list(screen.rows())
    lines = rows if screen.marked else [(text, typed(text)) for text, _ in rows]
    sessions, noise = cut(lines, path, recording.task or named(path), headings=not screen.marked)
    if recording.command and not screen.marked and not any(s.steps for s in sessions):
        sessions = [Session(recording.task or named(path), 1, [(recording.command, [text for text, _ in rows])])]
    why = _refusal(screen, sessions)
    if why:
        return ImportReport(kind, dropped=(*dropped, Dropped(str(path), "trace", why)), sessions=1)
    traces = built(sessions, kind, path, dropped, recording.time, recording.seconds, done)
    return ImportReport(kind, tuple(traces), (), (*dropped, *noise), (_NOTE,), sessions=1)


def _refusal(screen: terminal.Screen, sessions: list[Session]) -> str:
    if screen.full:
        return "a program took the whole screen: what was done in it is not in the recording"
    if screen.inner:
        return "something was typed into a running program or another shell: what came of it is not told apart"
    if screen.unclear:
        return "something was typed behind a prompt that looks like none"
    return "" if any(s.steps for s in sessions) else "no prompt is on the screen: which commands were typed cannot be told"


def bounded(path: Path, most_bytes: int = terminal.LARGEST) -> Path:
    """The path of a file that is not too large: by default, what a terminal shows in reasonable time.

    Raises:
        EvidenceError: it cannot be read.
        UnknownFormat: it is too large.
    """
    try:
        size = path.stat().st_size
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e
    if size > most_bytes:
        what = f"is a recording of {size >> 20} MB: of its kind, the most that is read is {most_bytes >> 20} MB"
        raise UnknownFormat(what, "Cut it, or record the task with 'assay record'", path)
    return path

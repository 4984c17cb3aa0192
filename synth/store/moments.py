"""What a person is to be told once: a file each, whose name says how far it is.

``due`` (to be told) becomes ``told``; ``learning`` becomes ``offer`` (to be told when a session starts) or ``failed``, and
``offer`` becomes ``told``. A file is renamed before its text is said: of any number of hooks at once, one says it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

State = Literal["due", "learning", "offer", "told", "failed"]
ELSEWHERE_S = 600.0
"""After which what nobody heard in its own project is said in any."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A task that was done often enough."""

    key: str
    task: str
    root: str
    """The project of the last turn."""
    agent: str
    files: tuple[str, ...]
    """Recordings that it is known by, in the directory of traces."""
    recording: str
    """File with these recordings, for ``assay crystallize``."""
    text: str
    """What to tell, one line."""
    time: float
    """Seconds since the epoch."""
    seconds: float = 0.0
    """That learning it took."""


class Moments:
    """The moments of one store, in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, moment: Moment, state: State) -> None:
        """Keeps a moment in a state and in no other."""
        from synth.files import write_atomic  # hooks, which only read, are started several times a turn

        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(moment.key, state)
        write_atomic(path, json.dumps(asdict(moment)).encode(), 0o600)
        for other in self._directory.glob(f"{moment.key}.*.json"):
            if other != path:
                other.unlink(missing_ok=True)

    def grow(self, moment: Moment, files: tuple[str, ...]) -> None:
        """Adds recordings to a moment, in whatever state it is by now."""
        from synth.files import write_atomic

        for path in self._directory.glob(f"{moment.key}.*.json"):
            write_atomic(path, json.dumps(asdict(replace(moment, files=files))).encode(), 0o600)

    def all(self, *states: State) -> Iterator[tuple[Moment, State]]:
        """Those in one of some states, or all; what cannot be read is passed over."""
        for path in sorted(self._directory.glob("*.*.json")):
            state = path.name.split(".")[1]
            found = _read(path) if not states or state in states else None
            if found is not None:
                yield found, state  # type: ignore[misc]  # only our own files are read

    def take(self, root: str | None, *, starts: bool) -> str:
        """The next thing to say to the person, "" for nothing; nobody is told it again.

        Args:
            root: The project that the session works in; None = it is not told yet.
            starts: Whether the session begins now: then it is offered what was learned, too.
        """
        for moment, state in self.all("due", "offer") if starts else self.all("due"):
            if root not in (moment.root, None) and time.time() - moment.time < ELSEWHERE_S:
                continue
            try:
                self._path(moment.key, state).rename(self._path(moment.key, "told"))
            except FileNotFoundError:
                continue  # another session was quicker
            return moment.text
        return ""

    def known(self, files: set[str]) -> tuple[Moment, State] | None:
        """The moment that has one of these recordings."""
        return next(((m, s) for m, s in self.all() if files & set(m.files)), None)

    def prune(self, before: float) -> None:
        """Removes those from before a time (seconds since the epoch), with their recordings."""
        for moment, state in self.all():
            if moment.time < before:
                Path(moment.recording).unlink(missing_ok=True)
                self._path(moment.key, state).unlink(missing_ok=True)

    def _path(self, key: str, state: State) -> Path:
        return self._directory / f"{key}.{state}.json"


def _read(path: Path) -> Moment | None:
    try:
        found = json.loads(path.read_bytes())
        return Moment(**{**found, "files": tuple(found["files"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None

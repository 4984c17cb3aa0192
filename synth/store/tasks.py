"""Tasks as hooks see them: a file of events each, begun by a request and closed by the end of its turn.

Any number of agents and sessions write at once: a file belongs to one session, and every event is one ``write`` to its end.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from synth.store.moments import Moments
from synth.store.objects import Objects
from synth.store.pictures import Picture, picture_of, project_root

Event = Mapping[str, Any]
OPEN, DONE = ".open.jsonl", ".jsonl"
LOST = "-lost-"
"""In the name of a task of which an event is missing."""


class Store:
    """One store: ``objects/``, ``tasks/``, ``index/``, ``moments/`` and ``errors.log``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.objects = Objects(root / "objects")
        self.moments = Moments(root / "moments")
        self._tasks = root / "tasks"

    # ------------------------------------------------------------ writing

    def begin(self, agent: str, session: str, cwd: Path, facts: Event, project: Path | None = None) -> Path:
        """Opens a task with the picture of its start. One that this session left open is closed as unfinished.

        Args:
            project: The project, where it is not the work tree or directory of ``cwd``.
        """
        self.close(agent, session, "unfinished", {})
        self.close_left()
        for private in (self.root, self._tasks):  # parents of what is made get the mode that everything gets
            private.mkdir(parents=True, exist_ok=True, mode=0o700)
        root, git = project_root(cwd) if project is None else (project, (project / ".git").exists())
        others = _names(self.open_tasks(), str(root))
        path = self._tasks / f"{time.time_ns():020d}-{_key(agent, session)}{OPEN}"
        began = {"event": "begin", "agent": agent, "session": session, "root": str(root), "git": git, "cwd": str(cwd), **facts}
        self._write(path, {**began, "picture": self._picture(root, git, facts.get("time")), "alongside": others})
        return path

    def add(self, agent: str, session: str, event: Event) -> bool:
        """Adds an event to the open task of a session; False where there is none, or it has the event already."""
        path = self.open_task(agent, session)
        if path is None:
            return False
        same = event.get("call")
        if same and any(e.get("call") == same and e.get("event") == event.get("event") for e in _events(path)):
            return False
        self._write(path, event)
        return True

    def close(self, agent: str, session: str, how: str, facts: Event, seen: str | None = None) -> Path | None:
        """Closes the open task of a session with the picture of its end; None where none is open.

        Args:
            seen: The picture, where it was taken before.
        """
        path = self.open_task(agent, session)
        if path is None:
            return None
        # Whatever happened after a crash is nobody's: there is no end to be seen.
        if seen is None:
            seen = self.picture_now(_first(path), facts.get("time")) if how == "ended" else ""
        since = [p for p in self._tasks.glob(f"*{DONE}") if p.name > path.name]
        return self._end(path, {"how": how, "picture": seen, "alongside": _names(since, _first(path).get("root")), **facts})

    def spoil(self, agent: str, session: str, pid: object) -> None:
        """Marks open tasks of which an event was lost: those of the session, or of the process, where that is known.

        The mark is in the name, which a full disk does not hinder.
        """
        for path in self.open_tasks():
            first = _first(path)
            known = (first.get("agent"), session or first.get("session"), pid or first.get("pid"))
            if known == (agent, first.get("session"), first.get("pid")) and LOST not in path.name:
                with suppress(OSError):
                    path.rename(path.with_name(path.name.replace("-", LOST, 1)))

    def close_left(self) -> None:
        """Closes the tasks of agents that are gone, as unfinished. A shell's ends with what it put aside (`typed`)."""
        for path in self.open_tasks():
            first = _first(path)
            pid = first.get("pid")
            if isinstance(pid, int) and not lives(pid) and "spool" not in first:
                self._end(path, {"how": "unfinished", "picture": ""})

    def _end(self, path: Path, facts: Event) -> Path:
        self._write(path, {"event": "end", **facts})
        done = path.with_name(path.name.removesuffix(OPEN) + DONE)
        path.rename(done)
        return done

    def picture_now(self, begin: Event, as_of: float | None = None) -> str:
        """The digest of a picture of a task's project as it is now, or as it was a moment ago if nothing has changed since."""
        return self._picture(Path(str(begin["root"])), begin["git"] is True, as_of)

    def _picture(self, root: Path, git: bool, as_of: float | None) -> str:
        index = self.root / "index" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.json"
        return self.objects.put(picture_of(root, git, self.objects, index, as_of).to_json().encode("utf-8", "surrogateescape"))

    def _write(self, path: Path, event: Event) -> None:
        line = json.dumps({"time": time.time(), **event}).encode("ascii") + b"\n"
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(fd).st_size
            if os.write(fd, line) < len(line):
                os.ftruncate(fd, size)  # what follows is to begin a line of its own
                raise OSError(errno.ENOSPC, "the disk is full: an event was lost")
        finally:
            os.close(fd)

    def complain(self, text: str) -> None:
        """Notes what went wrong in a hook; the log stays short."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        log = self.root / "errors.log"
        if log.exists() and log.stat().st_size > 1 << 20:
            log.replace(log.with_name("errors.old.log"))
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {' '.join(text.split())[:2000]}\n")

    # ------------------------------------------------------------ reading

    def open_task(self, agent: str, session: str) -> Path | None:
        """The task that a session has begun and not ended."""
        found = sorted(self._tasks.glob(f"*-{_key(agent, session)}{OPEN}"))
        return found[-1] if found else None

    def tasks(self) -> list[Path]:
        """The closed tasks, oldest first."""
        return [p for p in sorted(self._tasks.glob(f"*{DONE}")) if not p.name.endswith(OPEN)]

    def before(self, task: Path) -> Path | None:
        """The closed task of the same session before this one."""
        key = task.name.partition(".")[0].rpartition("-")[2]
        return max((p for p in self.tasks() if p.name < task.name and p.name.endswith(f"-{key}{DONE}")), default=None)

    def open_tasks(self) -> list[Path]:
        return sorted(self._tasks.glob(f"*{OPEN}"))

    def events(self, task: Path) -> list[Event]:
        """A task's events in order; a line that was cut off is left out."""
        return list(_events(task))

    def picture(self, digest: object) -> Picture | None:
        data = self.objects.get(digest) if isinstance(digest, str) and digest else None
        try:
            return Picture.from_json(data.decode("utf-8", "surrogateescape")) if data is not None else None
        except (ValueError, TypeError):
            return None

    def errors(self) -> list[str]:
        """What went wrong in hooks, oldest first."""
        try:
            return (self.root / "errors.log").read_text("utf-8", "replace").splitlines()
        except OSError:
            return []

    def prune(self, before: float) -> tuple[int, int]:
        """Removes tasks closed before a time (seconds since the epoch) and what only they referred to: tasks, bytes."""
        old = [p for p in self.tasks() if p.stat().st_mtime < before]
        for path in old:
            path.unlink(missing_ok=True)
        self.moments.prune(before)
        for path in (*(self.root / "traces").glob("*.json"), *(self.root / "uses").glob("*.json")):
            if path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
        kept = {d for p in (*self.tasks(), *self.open_tasks()) for e in _events(p) for d in self._digests(e)}
        for index in (self.root / "index").glob("*.json"):
            index.unlink()  # it vouches for contents that may go now
        return len(old), self.objects.prune(kept)

    def _digests(self, event: Event) -> Iterator[str]:
        if isinstance(event.get("picture"), str):
            yield event["picture"]
        held = event.get("files")
        yield from (found[1] for found in held.values() if isinstance(found, list)) if isinstance(held, dict) else ()
        picture = self.picture(event.get("picture"))
        yield from (e[2] for e in (picture.files.values() if picture is not None else ()) if e[0] == "file")


def lives(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _key(agent: str, session: str) -> str:
    return hashlib.sha256(f"{agent}\0{session}".encode("utf-8", "replace")).hexdigest()[:16]


def _names(tasks: list[Path], root: object) -> list[str]:
    """What the tasks of a project are called, open or closed."""
    return [p.name.partition(".")[0] for p in tasks if _first(p).get("root") == root]


def _first(path: Path) -> Event:
    return next(_events(path), {})


def _events(path: Path) -> Iterator[Event]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return
    for line in lines:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found

"""What a person types into a shell: commands with their directories and exit codes, between pictures of the project.

The shell itself appends to a spool, a file of its own: ``B`` when a command begins, ``E`` when it has ended, ``U`` when one
begins whose text it does not keep. A task begins with the first command in a project, and ends with the first one in another
project, the first one after half an hour, the end of the shell, or ``assay hook task``. The end is pictured when the shell waits
for the next command, by a process that the shell does not wait for.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.hooks.later import look_later, within
from synth.hooks.spool import take_in
from synth.store.tasks import Event, Store, lives

AGENT = "shell"
IDLE_S = 1800
"""Without a command, after which the next one is another task."""
BEGIN_S = 1.5
"""For which a shell waits at most: without a picture of the start, nothing is recorded."""
SETTLE_S = 1.0
"""For which a shell waits for its next command before the picture of the end is taken."""
MOST_TEXT = 300
_FIELDS = 4
_MOVES = re.compile(r"\s*(cd|pushd|popd)\b[^;&|]*")


@dataclass(frozen=True, slots=True)
class Typed:
    """One command that has ended."""

    time: float
    cwd: str
    command: str | None
    """None = the shell did not keep it."""
    exit: int


def typed(words: Mapping[str, str], store: Store) -> str:
    """What a shell's snippet calls; what to show the person. What goes wrong is in the store's log."""
    spool, event = Path(words.get("--spool", "")), words.get("--event", "")
    try:
        if event == "begin":
            with within(BEGIN_S):
                begin(store, spool, Path(words["--root"]), Path(words["--cwd"]))
        elif event == "settle":
            os.nice(10)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # its terminal may go before it
            time.sleep(SETTLE_S)
            settle(store, spool)
            sweep(store)
        elif event == "say":
            said = store.moments.take(None, starts=True)
            return said + "\n" if said else ""
        else:
            raise ValueError(f"unknown event {event!r}")
    except (OSError, ValueError, KeyError, TypeError) as e:
        with suppress(OSError):
            store.complain(f"{AGENT}: {type(e).__name__}: {e}")
    return ""


def next_task(store: Store, pid: int, cwd: Path, request: str) -> bool:
    """Ends the task of a shell that waits for this process, and begins another in its project; False where it records nothing."""
    spool = store.root / "shell" / f"{pid}.spool"
    task = store.open_task(AGENT, spool.stem)
    if task is None:
        return False
    begin(store, spool, Path(str(store.events(task)[0]["root"])), cwd, request)
    return True


def begin(store: Store, spool: Path, root: Path, cwd: Path, request: str = "") -> None:
    """Ends the task of a shell, and begins one, while the shell waits."""
    spool.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _held(spool):
        end(store, spool, waits=True)
        spool.unlink(missing_ok=True)  # until the start is pictured, the shell writes nothing
        store.begin(AGENT, spool.stem, cwd, {"request": request, "spool": str(spool)}, root)
        os.close(os.open(spool, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))


def settle(store: Store, spool: Path) -> None:
    """Pictures the project, where the shell has waited for its next command and still does."""
    with _held(spool):
        task, size = store.open_task(AGENT, spool.stem), _ended_at(spool)
        if task is None or not size or not _waits(spool):
            return
        events = store.events(task)
        if _seen_at(events, size) is not None:
            return
        seen = store.picture_now(events[0])
        if _ended_at(spool) == size and _waits(spool):
            store.add(AGENT, spool.stem, {"event": "seen", "picture": seen, "size": size})


def _seen_at(events: list[Event], size: int) -> str | None:
    """The picture that was taken when the spool had that size."""
    return next((str(e["picture"]) for e in events if e.get("event") == "seen" and e.get("size") == size), None)


def end(store: Store, spool: Path, *, waits: bool = False) -> None:
    """Closes the task of a shell; one without a command never was.

    Args:
        waits: Whether the shell is known to wait: the project is as the last command left it, if nobody pictured that.
    """
    task = store.open_task(AGENT, spool.stem)
    if task is None:
        return
    events = store.events(task)
    done = _at_work(commands(spool))
    if not done or not events:
        task.unlink()
        return
    _add(store, spool.stem, events, done)
    picture = _seen_at(events, _ended_at(spool))
    how = "ended" if waits or picture is not None else "unfinished"
    closed = store.close(AGENT, spool.stem, how, {}, picture)
    if closed is not None and how == "ended":
        look_later(store, closed)


def _at_work(done: list[Typed]) -> list[Typed]:
    """Without the moves at both ends: they lead here from somewhere, and on to the next task."""
    work = [n for n, typed in enumerate(done) if typed.command is None or not _MOVES.fullmatch(typed.command)]
    return done[work[0] : work[-1] + 1] if work else []


def _add(store: Store, session: str, events: list[Event], done: list[Typed]) -> None:
    """Adds the commands; a task that nobody named is called by them."""
    for command in done:
        what: dict[str, Any] = {"event": "unseen"} if command.command is None else {"event": "after", "command": command.command}
        store.add(AGENT, session, {**what, "cwd": command.cwd, "exit": command.exit, "at": command.time})
    if not events[0].get("request"):
        said = "; ".join(c.command for c in done if c.command is not None)
        store.add(AGENT, session, {"event": "named", "request": " ".join(said.split())[:MOST_TEXT]})


def sweep(store: Store) -> None:
    """Takes in what waits; ends the tasks of shells that are gone, and of those where nothing was typed for long."""
    take_in(store, lambda task: look_later(store, task))
    store.close_left()
    for task in store.open_tasks():
        first = next(iter(store.events(task)), {})
        if first.get("agent") != AGENT:
            continue
        spool = Path(str(first.get("spool")))
        with suppress(BlockingIOError), _held(spool, wait=False):
            idle = time.time() - max(float(first["time"]), _changed(spool))
            if not (spool.stem.isdigit() and lives(int(spool.stem))) or (idle > IDLE_S + 60 and _waits(spool)):
                end(store, spool)
                spool.unlink(missing_ok=True)


# ---------------------------------------------------------------- the spool


def commands(spool: Path) -> list[Typed]:
    """The commands of a spool that have ended, in order. Where a record is missing (a full disk), one of them was not seen."""
    out: list[Typed] = []
    began: list[str] | None = None
    for number, record in enumerate(_records(spool)):
        begins = record[0] in ("B", "U")
        if record[0] == "E" and began is not None:
            command = began[3] if began[0] == "B" else None
            out.append(Typed(float(began[1]), began[2], command, int(record[2])))
        elif began is not None or (number and not begins):  # the first may be the end of what began the task
            out.append(Typed(0.0, "", None, 0))
        began = record if begins else None
    return out


def _records(spool: Path) -> Iterator[list[str]]:
    try:
        parts = spool.read_bytes().decode("utf-8", "surrogateescape").split("\0")
    except OSError:
        return
    for at in range(0, len(parts) - _FIELDS, _FIELDS):
        yield parts[at : at + _FIELDS]


def _waits(spool: Path) -> bool:
    """Whether every command that began has ended, but for the one that ends the shell."""
    last = ["E"]
    for record in _records(spool):
        last = record
    return last[0] == "E" or (last[0] == "B" and last[3].split()[:1] in (["exit"], ["logout"]))


def _ended_at(spool: Path) -> int:
    """The size that a spool had when its last command ended."""
    size = at = 0
    for record in _records(spool):
        at += sum(len(part.encode("utf-8", "surrogateescape")) + 1 for part in record)
        size = at if record[0] == "E" else size
    return size


def _changed(spool: Path) -> float:
    try:
        return spool.stat().st_mtime
    except OSError:
        return 0.0


@contextmanager
def _held(spool: Path, *, wait: bool = True) -> Iterator[None]:
    """One process at a time ends or pictures a shell's task."""
    spool.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with spool.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield

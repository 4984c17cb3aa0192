"""Events that were put aside while an agent went on, taken in one after the other, in the order in which they came."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Callable
from pathlib import Path

from synth.hooks.receive import receive
from synth.store.tasks import Store

SPOOL = "spool"
UNFINISHED_S = 5.0
"""For which one that is no JSON may still be written."""

Ended = Callable[[Path], object]


def take_in(store: Store, ended: Ended = lambda task: None, agent: str = "", data: bytes = b"", pid: str = "") -> str:
    """Takes in what waits, then one event that an agent waits for; what that agent wants to read.

    Args:
        ended: Told of each task that is closed.
        agent: Who waits; "" = nobody.
        pid: Its process, where that is known.
    """
    process = {"pid": int(pid)} if pid.isdigit() else {}
    try:
        place = store.root / SPOOL
        for private in (store.root, place):
            private.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (store.root / f"{SPOOL}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            while any(_taken(store, path, ended) for path in _waiting(place)):
                continue  # more may have come meanwhile
            return receive(agent, data, store, ended, process) if agent else ""
    except OSError:
        return receive(agent, data, store, ended, process) if agent else ""


def _waiting(place: Path) -> list[Path]:
    found = []
    for path in place.iterdir():
        try:
            found.append((path.stat().st_mtime_ns, path))
        except FileNotFoundError:
            continue
    return [path for _, path in sorted(found)]


def _taken(store: Store, path: Path, ended: Ended) -> bool:
    """Takes in one event; False for one that is still being written."""
    at, data = path.stat().st_mtime, path.read_bytes()
    try:
        json.loads(data)
    except ValueError:
        if time.time() - at < UNFINISHED_S:
            return False
    _, agent, pid, *_ = path.name.split(".")
    receive(agent, data, store, ended, {"time": at, **({"pid": int(pid)} if pid.isdigit() else {})}, waits=False)
    path.unlink(missing_ok=True)
    return True

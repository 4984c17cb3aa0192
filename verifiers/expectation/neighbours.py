"""Where files of others may lie in a run's way: the names that it takes for itself at places where everybody may write. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from itertools import islice

from sandbox.interface import ReplayRecord
from verifiers.expectation.rooting import WORKSPACE

SHARED = ("/tmp", "/dev/shm")
_MAKES = frozenset({"create", "open-write", "rename", "link"})
MOST = 200


def neighbours(record: ReplayRecord, commands: Sequence[str]) -> tuple[str, ...]:
    """Absolute paths that a run wrote to outside its workspace. A name that is drawn is another one in the next run, so that what
    then lies at these paths is in nobody's way.

    Args:
        record: of a supervised run.
        commands: of the recording. What they name at such a place is the task's own.
    """
    said = "\n".join(commands)
    found = list(islice(dict.fromkeys(p for p in _written(record) if not _named(p, said)), MOST))
    return tuple(p for p in found if not any(other.startswith(p + "/") for other in found))


def _written(record: ReplayRecord) -> Iterator[str]:
    root = f"{record.probe.get('cwd') or WORKSPACE}/"
    for call in record.calls:
        if call.kind in _MAKES:
            yield from (p for p in (call.path, call.path2) if _place(p) and not p.startswith(root))


def _place(path: str) -> str:
    return next((place for place in SHARED if path.startswith(place + "/")), "")


def _named(path: str, said: str) -> bool:
    return _place(path) in said and posixpath.basename(path) in said

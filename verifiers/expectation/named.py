"""Files that a returned value tells of and that nobody ever had: a backup that was not made. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from sandbox.interface import ROOT, Entry, JsonValue, ReplayRecord, Snapshot
from verifiers.expectation.archives import canonical
from verifiers.expectation.repositories import repository_roots
from verifiers.expectation.rooting import WORKSPACE
from verifiers.interface import Args

_GOES_ON = re.compile(r"[./~_-][^\s:;,'\"()\[\]<>|=]*")
"""How the name of a file, or of one in a directory, goes on behind another one: no sentence, and no place in a file."""


def named_in_vain(args: Args, base: Snapshot, record: ReplayRecord, said: Sequence[str], answer: str | None) -> str:
    """A path that goes on from an argument's, that a value names and that is there neither before nor after; "" where there is
    none. A name of which the recording speaks, or some file, may well be told of because it is not there.

    Args:
        said: the commands of the recording and what they printed.
        answer: where the value holds its answer, which is compared as a whole.
    """
    value = getattr(record.outcome, "value", None)
    rest = {k: v for k, v in value.items() if k != answer} if isinstance(value, dict) else None if answer else value
    there = {**base, **record.post}
    if repository_roots(there):
        return ""  # a history may have had it
    root = f"{record.probe.get('cwd') or WORKSPACE}/"
    given = {_path(text, root) for text in _texts(list(args.values()))}
    for text in _texts(rest):
        path = _path(text, root)
        if path not in given and _made_up(path, given, there) and not _spoken_of(path, (*said, *given), there):
            return path
    return ""


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _path(text: str, root: str) -> str:
    return posixpath.normpath(text.removeprefix(root)) if text else ROOT


def _made_up(path: str, given: set[str], there: Mapping[str, Entry]) -> bool:
    """Whether a path is one that is there with something behind it, and leads nowhere. What holds another argument is an address
    of some kind, such as a key of a section."""
    starts = [p for p in given if p in there and p != ROOT and _GOES_ON.fullmatch(path.removeprefix(p))]
    parts = [path.removeprefix(p) for p in starts if path.startswith(p)]
    holds = [part for part in parts if not any(p != ROOT and p in part for p in given)]
    return bool(holds) and any(c.isalpha() for c in path) and not _leads(path, there)


def _leads(path: str, there: Mapping[str, Entry]) -> bool:
    """Whether it is there, seen from some directory, or through a link."""
    if any(p == path or p.endswith(f"/{path}") for p in there):
        return True
    above = [path[:at] for at, c in enumerate(path) if c == "/"]
    return any(p in there and there[p].type == "symlink" for p in above)


def _spoken_of(path: str, said: Sequence[str], there: Mapping[str, Entry]) -> bool:
    name = posixpath.basename(path)
    raw = name.encode("utf-8", "surrogateescape")
    return any(name in text for text in said) or any(raw in e.content or raw in canonical(e.content) for e in there.values())

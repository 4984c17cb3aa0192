"""What a commit does to each file, with its values left out."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from synth.history.values import abstract

GITLINK, SYMLINK = 0o160000, 0o120000
_MOST_LINES = 4000
"""Of a changed part that is compared line by line; a larger one counts as rewritten."""
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that went, and what came in their place."""

    old: tuple[str, ...]
    new: tuple[str, ...]


def hunks(before: bytes, after: bytes) -> tuple[Hunk, ...] | None:
    """The difference of two texts; None of what is no text, or too large to compare."""
    if b"\0" in before[:8000] or b"\0" in after[:8000]:
        return None
    old, new = (x.decode("utf-8", "surrogateescape").splitlines(keepends=True) for x in (before, after))
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(a) > _MOST_LINES or len(b) > _MOST_LINES:
        return None
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    return tuple(Hunk(tuple(a[i:j]), tuple(b[k:m])) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal")


def shapes_of(found: Sequence[Hunk]) -> frozenset[str]:
    """What hunks do: ``sub`` and a template (other values), ``ins`` (a line), ``ins+`` (more), ``del`` or ``edit``."""
    out: set[str] = set()
    for hunk in found:
        if len(hunk.old) < len(hunk.new) and _kept(hunk):
            out.add("ins" if len(hunk.new) - len(hunk.old) == 1 and len(found) == 1 else "ins+")
        elif not hunk.new:
            out.add("del")
        elif len(hunk.old) == len(hunk.new):
            out |= {_pair(a, b) for a, b in zip(hunk.old, hunk.new, strict=True)}
        else:
            out.add("edit")
    return frozenset(out)


def _kept(hunk: Hunk) -> bool:
    """Whether the old lines are still there, a comma apart: an entry at the end of a list takes one along."""
    old, new = ([line.rstrip(",; \t\r\n") for line in lines] for lines in (hunk.old, hunk.new))
    return not old or new[: len(old)] == old or new[-len(old) :] == old


@lru_cache(maxsize=1 << 16)
def _pair(old: str, new: str) -> str:
    """A line in place of another: what both share, if only values differ."""
    a, b = (abstract(line.strip().removeprefix("- ")) for line in (old, new))
    if a == b:
        return f"sub {a}"
    left, right = _WORD.findall(a), _WORD.findall(b)
    if len(left) == len(right):
        same = [x if x == y else "*" for x, y in zip(left, right, strict=True)]
        if same.count("*") * 3 <= len(same):
            return "sub " + " ".join(same)
    return "edit"


@lru_cache(maxsize=1 << 16)
def role(path: str) -> str:
    """A path with its values left out."""
    return "/".join(abstract(part) for part in path.split("/"))


def wide_role(path: str) -> str:
    """Only where a path is and what it ends in: for files that each have a name of their own."""
    folder, name = posixpath.split(path)
    return f"{role(folder)}/*{posixpath.splitext(role(name))[1]}"

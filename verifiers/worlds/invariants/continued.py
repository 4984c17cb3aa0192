"""What a line goes on in: one that ends in a backslash or a comma is followed by one that begins in a recorded way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines

SLASH, COMMA = "\\", ","
FURTHER = "further"


class Continued:
    name = "continued-lines"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        found = [w for t in seen for w in _ways(lines(t))]
        # A backslash that ends a line without going on says nothing.
        plain = any(w[0] == SLASH and w[1:] != FURTHER for w in found)
        known = [w for w in found if not (plain and w[0] == SLASH)]
        return Lesson(frozenset(known), len(known)) if known else None

    def holds(self, value: Learned, text: str) -> bool:
        known = _known(value)
        marks = {w[0] for w in known}
        return all(w in known for w in _ways(lines(text)) if w[0] in marks)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """A line that goes on in nothing loses its backslash."""
        if SLASH + FURTHER not in _known(value):
            return text
        rows = lines(text)
        alone = [a.endswith(SLASH) and _begin(a, b) != FURTHER for a, b in pairwise((*rows, ""))]
        return joined([row.rstrip(SLASH) if a else row for row, a in zip(rows, alone, strict=True)], text)

    def says(self, value: Learned) -> str:
        marks = sorted({"a backslash" if w[0] == SLASH else "a comma" for w in _known(value)})
        return f"has behind each line that ends in {' or '.join(marks)} one that is set in or begins as it always does there"


def _known(value: Learned) -> frozenset[str]:
    return value if isinstance(value, frozenset) else frozenset()


def _ways(rows: Sequence[str]) -> list[str]:
    """Of each line that ends in such a mark the mark, and how the next line begins."""
    return [a[-1] + _begin(a, b) for a, b in pairwise((*rows, "")) if a.endswith((SLASH, COMMA))]


def _begin(row: str, following: str) -> str:
    """``further`` for a line that is set in further than the one before it; else what kind of sign it begins with."""
    if _margin(following) > _margin(row):
        return FURTHER
    first = following.lstrip(" \t")[:1]
    return "word" if first.isalnum() or first == "_" else first


def _margin(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))


KIND = Continued()

"""What a line goes on in, which ends in a backslash, is set in further."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines


class Continued:
    name = "continued-lines"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        found = [further for t in seen for ends, further in _pairs(lines(t)) if ends]
        return Lesson(True, len(found)) if found and all(found) else None

    def holds(self, value: Learned, text: str) -> bool:
        return all(further for ends, further in _pairs(lines(text)) if ends)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """A line that goes on in nothing loses its backslash."""
        rows = lines(text)
        alone = [ends and not further for ends, further in _pairs(rows)]
        return joined([row.rstrip("\\") if a else row for row, a in zip(rows, alone, strict=True)], text)

    def says(self, value: Learned) -> str:
        return "has a line that is set in further behind each one that ends in a backslash"


def _pairs(rows: Sequence[str]) -> list[tuple[bool, bool]]:
    """Of each line whether it ends in a backslash, and whether the next one is set in further."""
    return [(a.endswith("\\"), _margin(b) > _margin(a)) for a, b in pairwise((*rows, ""))]


def _margin(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))


KIND = Continued()

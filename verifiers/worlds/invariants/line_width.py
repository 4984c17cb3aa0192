"""All lines of a file are equally long: fields stand at places of their own, and one that is longer moves those behind it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, lines

LEAST, LEAST_ROWS = 12, 3
"""Characters of a line, and lines of a file: short words are equally long by accident."""


def width(text: str) -> int:
    """How long each line is; 0 where they differ, or say too little."""
    rows = [row for row in lines(text) if row]
    widths = {len(row) for row in rows}
    return widths.pop() if len(rows) >= LEAST_ROWS and len(widths) == 1 and len(rows[0]) >= LEAST else 0


class LineWidth:
    name = "equal-widths"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        return Lesson(True, sum(len(lines(t)) for t in seen)) if seen and all(width(t) for t in seen) else None

    def holds(self, value: Learned, text: str) -> bool:
        return len({len(row) for row in lines(text) if row}) < 2

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        return "has lines that are equally long"


KIND = LineWidth()

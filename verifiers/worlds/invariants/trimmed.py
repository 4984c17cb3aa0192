"""No line begins or ends with a blank."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines

LEAST = 4


class Trimmed:
    name = "no-blanks-around-lines"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        rows = [row for text in seen for row in lines(text)]
        return Lesson(True, len(rows)) if len(rows) >= LEAST and all(row == row.strip() for row in rows) else None

    def holds(self, value: Learned, text: str) -> bool:
        return all(row == row.strip() for row in lines(text))

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return joined([row.strip() for row in lines(text)], text)

    def says(self, value: Learned) -> str:
        return "has no line that begins or ends with a blank"


KIND = Trimmed()

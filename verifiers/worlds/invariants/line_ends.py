"""All lines end alike: with a newline, or with a carriage return before it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, lines


class LineEnds:
    name = "line-ends"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        rows = [row for t in seen for row in lines(t)]
        with_return = {row.endswith("\r") for row in rows}
        return Lesson(with_return.pop(), len(rows)) if len(rows) > 1 and len(with_return) == 1 else None

    def holds(self, value: Learned, text: str) -> bool:
        return all(row.endswith("\r") is value for row in lines(text))

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        plain = text.replace("\r\n", "\n")
        return plain.replace("\n", "\r\n") if value else plain

    def says(self, value: Learned) -> str:
        return "has Windows line ends" if value else "has no Windows line ends"


KIND = LineEnds()

"""Lines stand in order."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, prod
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines

CHANCE = 500
"""That many to one the order is no accident."""


class SortedLines:
    name = "sorted-lines"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        texts = [lines(t) for t in seen]
        sizes = [len(set(t)) for t in texts if len(t) > 1]
        if prod(factorial(min(n, 12)) for n in sizes) < CHANCE or len(sizes) < 2:
            return None
        for head in (0, 1):
            if all(list(t[head:]) == sorted(t[head:]) for t in texts):
                return Lesson(head, sum(map(len, texts)))
        return None

    def holds(self, value: Learned, text: str) -> bool:
        rows = lines(text)[int(str(value)) :]
        return list(rows) == sorted(rows)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        head = int(str(value))
        rows = lines(text)
        return joined([*rows[:head], *sorted(rows[head:])], text)

    def says(self, value: Learned) -> str:
        return "has its lines in order"


KIND = SortedLines()

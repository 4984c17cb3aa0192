"""A line that others are set in under (``/var/log/app.log {``, ``host web:``) does not stand twice in a file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines
from verifiers.worlds.invariants.unique import renamed

LEAST = 3


def heads(text: str) -> list[str]:
    """Lines at the margin with a line that is set in under them."""
    rows = [row for row in lines(text) if row.strip()]
    return [a.rstrip() for a, b in pairwise(rows) if not a[0].isspace() and b[0].isspace()]


class Heads:
    name = "heads-once"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        found = [heads(text) for text in seen]
        several = sum(len(h) for h in found if len(h) > 1)
        return Lesson(True, several) if several >= LEAST and all(len(set(h)) == len(h) for h in found) else None

    def holds(self, value: Learned, text: str) -> bool:
        found = heads(text)
        return len(set(found)) == len(found)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """Repeated ones get a word of their own."""
        known, seen = set(heads(text)), set[str]()
        out = []
        for row in lines(text):
            for _ in range(4):
                if row.rstrip() not in known & seen:
                    break
                row = renamed(row, rng)
            seen.add(row.rstrip())
            out.append(row)
        return joined(out, text)

    def says(self, value: Learned) -> str:
        return "has no line twice under which others are set in"


KIND = Heads()

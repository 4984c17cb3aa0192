"""A line without a letter or digit (``---``, ``};``) stands equally often in every file that has it: it parts what is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines

LEAST = 3
MOST = 8
"""Different lines of this kind: a file with more is no text that they part."""


class Delimiters:
    name = "delimiters"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        if len(set(seen)) < LEAST:
            return None
        found = [_delimiters(t) for t in seen]
        rows = sorted({row for f in found for row in f})
        counts = {row: {f[row] for f in found} for row in rows}
        fixed = tuple(
            (row, max(c), 0 in c) for row, c in counts.items() if len(c - {0}) == 1 and sum(row in f for f in found) > 1
        )
        return Lesson(fixed, len(seen)) if fixed and len(rows) <= MOST else None

    def holds(self, value: Learned, text: str) -> bool:
        found = _delimiters(text)
        return all(found[row] == count or (absent and not found[row]) for row, count, absent in _parts(value))

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """Those that are too many go, from the end on. Where one that is missing stood is not known."""
        left = {row: count for row, count, _ in _parts(value)}
        out = []
        for row in lines(text):
            left[row] = left.get(row, len(text)) - 1
            if left[row] >= 0:
                out.append(row)
        return joined(out, text)

    def says(self, value: Learned) -> str:
        return "has " + " and ".join(
            f"{count} times{' or never' if absent else ''} the line {row!r}" for row, count, absent in _parts(value)
        )


def _delimiters(text: str) -> Counter[str]:
    return Counter(row for row in lines(text) if row.strip() and not any(c.isalnum() for c in row))


def _parts(value: Learned) -> Iterator[tuple[str, int, bool]]:
    for part in value if isinstance(value, tuple) else ():
        if isinstance(part, tuple):
            yield str(part[0]), int(str(part[1])), bool(part[2])


KIND = Delimiters()

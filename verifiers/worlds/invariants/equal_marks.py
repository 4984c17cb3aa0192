"""Every line has the same number of quotes and brackets of each kind: lines of a log, calls, links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, lines

MARKS = "\"'`[](){}<>"
LEAST = 5


class EqualMarks:
    name = "equal-marks"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        rows = [Counter(row) for text in seen for row in lines(text) if row.strip()]
        if len(rows) < LEAST:
            return None
        same = tuple((mark, rows[0][mark]) for mark in MARKS if rows[0][mark] and len({row[mark] for row in rows}) == 1)
        return Lesson(same, len(rows)) if same else None

    def holds(self, value: Learned, text: str) -> bool:
        rows = [row for row in lines(text) if row.strip()]
        return all(row.count(mark) == count for mark, count in _parts(value) for row in rows)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        return "has in each line " + " and ".join(f"{count} times {mark}" for mark, count in _parts(value))


def _parts(value: Learned) -> Iterator[tuple[str, int]]:
    for part in value if isinstance(value, tuple) else ():
        if isinstance(part, tuple):
            yield str(part[0]), int(str(part[1]))


KIND = EqualMarks()

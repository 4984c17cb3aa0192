"""Every line has the same number of columns, by commas, semicolons, tabs, bars, colons, equal signs or blanks."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, lines

SEPARATORS = (",", ";", "\t", "|", ":", "=", " ")
LEAST = 4
NAMES = {"\t": "tabs", " ": "blanks"}


def counts(row: str, mark: str) -> int:
    return len(row.split()) - 1 if mark == " " else row.count(mark)


class Columns:
    name = "equal-columns"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        rows = [row for text in seen for row in lines(text) if row.strip()]
        if len(rows) < LEAST:
            return None
        found = [(mark, counts(rows[0], mark)) for mark in SEPARATORS]
        kept = [(mark, n) for mark, n in found if (n or mark == " ") and all(counts(row, mark) == n for row in rows)]
        return Lesson(tuple(kept), len(rows)) if kept else None

    def holds(self, value: Learned, text: str) -> bool:
        rows = [row for row in lines(text) if row.strip()]
        return all(counts(row, mark) == n for mark, n in _pairs(value) for row in rows)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        parts = ["a single word" if n == 0 else f"{n + 1} columns by {NAMES.get(mark, repr(mark))}" for mark, n in _pairs(value)]
        return f"has {' and '.join(parts)} in each line"


def _pairs(value: Learned) -> list[tuple[str, int]]:
    rows = value if isinstance(value, tuple) else ()
    return [(str(row[0]), int(str(row[1]))) for row in rows if isinstance(row, tuple)]


KIND = Columns()

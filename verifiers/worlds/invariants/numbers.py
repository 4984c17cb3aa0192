"""A column holds whole numbers, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.columns import KIND as COLUMNS
from verifiers.worlds.invariants.kind import Learned, Lesson, lines

LEAST = 4


def cells(row: str, mark: str) -> list[str]:
    return row.split() if mark == " " else row.split(mark)


def is_number(cell: str) -> bool:
    text = cell.strip().removeprefix("-")
    return text.replace(".", "", 1).isdecimal() and text.isascii()


class Numbers:
    name = "numeric-columns"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        table = COLUMNS.learn(seen)
        if table is None or not isinstance(table.value, tuple) or not isinstance(table.value[0], tuple):
            return None
        mark = str(table.value[0][0])
        texts = [[cells(row, mark) for row in lines(t) if row.strip()] for t in seen]
        for head in (0, 1):
            rows = [row for t in texts for row in t[head:]]
            found = tuple(i for i in range(len(rows[0]) if rows else 0) if all(is_number(row[i]) for row in rows))
            if len(rows) >= LEAST and found:
                return Lesson((mark, head, *found), len(rows))
        return None

    def holds(self, value: Learned, text: str) -> bool:
        parts = value if isinstance(value, tuple) else ("", 0)
        rows = [cells(row, str(parts[0])) for row in lines(text) if row.strip()][int(str(parts[1])) :]
        return all(i < len(row) and is_number(row[i]) for row in rows for i in map(int, map(str, parts[2:])))

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        parts = value if isinstance(value, tuple) else ()
        return f"has numbers in column {', '.join(str(int(str(i)) + 1) for i in parts[2:])}"


KIND = Numbers()

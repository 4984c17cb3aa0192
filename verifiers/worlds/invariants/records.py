"""Lines come in records of equal size: every so many lines the first character says where one begins."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines

LARGEST = 8


class Records:
    name = "whole-records"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        texts = [found for t in seen if (found := lines(t))]
        for size in range(2, LARGEST + 1):
            total = sum(map(len, texts))
            if total < 2 * size or any(len(t) % size for t in texts):
                continue
            marks = tuple(_mark([row[:1] for t in texts for row in t[at::size]]) for at in range(size))
            if marks[0] and marks[0] not in marks[1:] and not _anywhere(texts, size, marks[0]):
                return Lesson((size, *marks), total // size)
        return None

    def holds(self, value: Learned, text: str) -> bool:
        size, marks = _parts(value)
        rows = lines(text)
        if len(rows) % size:
            return False
        return all(row[:1] == marks[i % size] for i, row in enumerate(rows) if marks[i % size])

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        size, _ = _parts(value)
        rows = lines(text)
        return joined(rows[: len(rows) // size * size], text)

    def says(self, value: Learned) -> str:
        size, marks = _parts(value)
        return f"consists of records of {size} lines, the first beginning with {marks[0]!r}"


def _mark(heads: Sequence[str]) -> str:
    """The mark that all of these lines begin with; "" where they begin with letters, digits, or not alike."""
    same = len(set(heads)) == 1 and heads[0] != "" and not heads[0].isalnum() and not heads[0].isspace()
    return heads[0] if same else ""


def _anywhere(texts: Sequence[Sequence[str]], size: int, mark: str) -> bool:
    return any(row[:1] == mark for t in texts for i, row in enumerate(t) if i % size)


def _parts(value: Learned) -> tuple[int, tuple[str, ...]]:
    parts = value if isinstance(value, tuple) else (1,)
    return int(str(parts[0])), tuple(map(str, parts[1:]))


KIND = Records()

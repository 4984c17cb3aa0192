"""The first line is the same in every file, and comes once."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines


class Header:
    name = "same-first-line"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        texts = [lines(t) for t in seen]
        if len(texts) < 2 or len(set(texts)) < 2 or not all(len(t) > 1 for t in texts):
            return None
        first = texts[0][0]
        same = bool(first.strip()) and all(t[0] == first and first not in t[1:] for t in texts)
        return Lesson(first, len(texts)) if same else None

    def holds(self, value: Learned, text: str) -> bool:
        rows = lines(text)
        return bool(rows) and rows[0] == value and value not in rows[1:]

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """The line is put first again; words in it that were renamed stay renamed."""
        rows = [row for row in lines(text) if row != value]
        return joined([str(value), *rows], text) if value in lines(text) else text

    def says(self, value: Learned) -> str:
        return f"begins with the line {value!r}"


KIND = Header()

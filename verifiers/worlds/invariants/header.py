"""The first line is the same in every file, and comes again in each of them or in none."""

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
        again = {first in t[1:] for t in texts}
        same = bool(first.strip()) and all(t[0] == first for t in texts) and len(again) == 1
        return Lesson((first, again.pop()), len(texts)) if same else None

    def holds(self, value: Learned, text: str) -> bool:
        first, again = _parts(value)
        rows = lines(text)
        return bool(rows) and rows[0] == first and (first in rows[1:]) is again

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """The line is put first again; words in it that were renamed stay renamed."""
        first, again = _parts(value)
        rows = list(lines(text))
        if first not in rows:
            return text
        at = rows.index(first)
        return joined([first, *(row for n, row in enumerate(rows) if n != at and (again or row != first))], text)

    def says(self, value: Learned) -> str:
        first, again = _parts(value)
        return f"begins with the line {first!r}{', which comes again' if again else ''}"


def _parts(value: Learned) -> tuple[str, bool]:
    first, again = value if isinstance(value, tuple) else (value, False)
    return str(first), bool(again)


KIND = Header()

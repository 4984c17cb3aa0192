"""Lines without a letter or digit (``---``, ``};``) stand equally often in every file: they part what is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines

LEAST = 3


class Delimiters:
    name = "delimiters"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        if len(seen) < LEAST or len(set(seen)) < 2:
            return None
        found = [_delimiters(t) for t in seen]
        same = bool(found[0]) and all(f == found[0] for f in found)
        return Lesson(tuple(sorted(found[0].elements())), len(seen)) if same else None

    def holds(self, value: Learned, text: str) -> bool:
        return _delimiters(text) == _counted(value)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """Those that are too many go, from the end on. Where one that is missing stood is not known."""
        left = _counted(value)
        out = []
        for row in lines(text):
            if _is_delimiter(row):
                if not left[row]:
                    continue
                left[row] -= 1
            out.append(row)
        return joined(out, text)

    def says(self, value: Learned) -> str:
        return "has " + " and ".join(f"{n} times the line {row!r}" for row, n in sorted(_counted(value).items()))


def _is_delimiter(row: str) -> bool:
    return bool(row.strip()) and not any(c.isalnum() for c in row)


def _delimiters(text: str) -> Counter[str]:
    return Counter(row for row in lines(text) if _is_delimiter(row))


def _counted(value: Learned) -> Counter[str]:
    return Counter(map(str, value)) if isinstance(value, tuple) else Counter()


KIND = Delimiters()

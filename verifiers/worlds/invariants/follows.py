"""What follows a line that comes again: ``Format:`` behind ``[Events]``, ``TITLE=`` behind ``BEGIN IONS``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, lines
from verifiers.worlds.tokens import tokens

LEAST = 3


def _head(row: str) -> str:
    """The first word of a line, and what stands before it; the line itself where it has none."""
    word = next(iter(tokens(row)), "")
    return row[: row.index(word) + len(word)] if word else row.rstrip()


class Follows:
    name = "what-follows"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        behind: dict[str, list[str]] = {}
        texts: dict[str, set[int]] = {}
        for n, text in enumerate(seen):
            for row, after in pairwise(lines(text)):
                behind.setdefault(row, []).append(_head(after))
                texts.setdefault(row, set()).add(n)
        found = {row: heads for row, heads in behind.items() if row.strip() and len(heads) >= LEAST and len(texts[row]) > 1}
        known = sorted((row, heads[0]) for row, heads in found.items() if len(set(heads)) == 1 and heads[0])
        return Lesson(tuple(known), sum(len(found[row]) for row, _ in known)) if known else None

    def holds(self, value: Learned, text: str) -> bool:
        known = dict(_pairs(value))
        return all(known.get(row) in (None, _head(after)) for row, after in pairwise(lines(text)))

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        row, head = _pairs(value)[0]
        return f"has a line that begins with {head!r} behind each line {row!r}"


def _pairs(value: Learned) -> list[tuple[str, str]]:
    return [(str(pair[0]), str(pair[1])) for pair in value if isinstance(pair, tuple)] if isinstance(value, tuple) else []


KIND = Follows()

"""A word at one place of every line has no small letters: the method of a request, a currency, a level."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, joined, lines

LEAST = 4
DIFFERENT = 2
_WORD = re.compile(r"[^\s,;|]+")


def _letters(row: str) -> Iterator[tuple[int, str]]:
    """Place -> word, of those that have letters."""
    return ((n, word) for n, word in enumerate(_WORD.findall(row)) if any(c.isalpha() for c in word))


class Capitals:
    name = "capitals"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        words: dict[int, list[str]] = defaultdict(list)
        for text in seen:
            for row in lines(text):
                for place, word in _letters(row):
                    words[place].append(word)
        kept = tuple(
            place
            for place, found in sorted(words.items())
            if len(found) >= LEAST and len(set(found)) >= DIFFERENT and all(w.isupper() for w in found)
        )
        return Lesson(kept, sum(len(words[place]) for place in kept)) if kept else None

    def holds(self, value: Learned, text: str) -> bool:
        places = set(_places(value))
        return all(word.isupper() for row in lines(text) for place, word in _letters(row) if place in places)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        places = set(_places(value))
        return joined([_raised(row, places) for row in lines(text)], text)

    def says(self, value: Learned) -> str:
        return f"has no small letters in word {' and '.join(str(place + 1) for place in _places(value))} of its lines"


def _raised(row: str, places: set[int]) -> str:
    for place, found in reversed(list(enumerate(_WORD.finditer(row)))):
        if place in places:
            row = row[: found.start()] + found[0].upper() + row[found.end() :]
    return row


def _places(value: Learned) -> list[int]:
    return [int(str(place)) for place in value] if isinstance(value, tuple) else []


KIND = Capitals()

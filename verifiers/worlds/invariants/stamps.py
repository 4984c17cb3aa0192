"""Times, dates and the like are written with as many digits as ever: ``00:01:02,500`` is no ``0:1:2,5``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson

LEAST = 5
_STAMP = re.compile(r"(?<![\w.])\d+(?:(?::\d+)+(?:[.,]\d+)?|(?:[-/.]\d+){2,})(?![\w:])")
_MARK = re.compile(r"\d+")


def _stamps(text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What stands between the numbers of each, and how many digits these have."""
    for found in _STAMP.findall(text):
        yield "…".join(_MARK.split(found)), tuple(len(digits) for digits in _MARK.findall(found))


def _always(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """How many digits each number has in all of them; 0 where that differs, or it is one, which says little."""
    return tuple(column[0] * (len(set(column)) == 1 and column[0] > 1) for column in zip(*rows, strict=True))


class Stamps:
    name = "digits-of-times"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        rows: dict[str, list[tuple[int, ...]]] = defaultdict(list)
        for text in seen:
            for form, widths in _stamps(text):
                rows[form].append(widths)
        often = sorted((form, _always(r)) for form, r in rows.items() if len(r) >= LEAST)
        kept: tuple[Learned, ...] = tuple((form, *widths) for form, widths in often if any(widths))
        return Lesson(kept, sum(map(len, rows.values()))) if kept else None

    def holds(self, value: Learned, text: str) -> bool:
        known = {row[0]: row[1:] for row in value if isinstance(row, tuple)} if isinstance(value, tuple) else {}
        pairs = [(k, w) for form, widths in _stamps(text) for k, w in zip(known.get(form, ()), widths, strict=False)]
        return all(k in (0, w) for k, w in pairs)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        return "has times or dates of as many digits as ever"


KIND = Stamps()

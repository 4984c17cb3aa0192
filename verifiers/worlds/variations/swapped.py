"""Lines of one form in each other's places: which is the first, the last, the lowest of them is another one."""

from __future__ import annotations

import re

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def swapped(content: bytes) -> bytes:
    """The lines that differ in their numbers alone the other way round, in the places that they have among the others."""
    rows = decoded(content).split("\n") if takes_lines(content) else []
    places: dict[str, list[int]] = {}
    for n, row in enumerate(rows):
        if _NUMBER.search(row):
            places.setdefault(_NUMBER.sub("0", row), []).append(n)
    new = list(rows)
    for at in places.values():
        for place, row in zip(at, [rows[n] for n in reversed(at)], strict=True):
            new[place] = row
    return encoded("\n".join(new)) if new != rows else content


def several(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if swapped(g.base[p].content) != g.base[p].content]


def _edited(content: bytes, _draft: Draft, _path: str) -> bytes:
    return swapped(content)


VARIATIONS = (
    Variation(
        name="swapped", why="Lines that differ in their numbers alone stand the other way round.",
        choices=several, apply=of_content(_edited), stage=Stage.EDIT, alone=2,
        examples=(Example(("a",), {"a": "e 1.5\nx\ne 2.5\ny\n"}, {"a": "e 2.5\nx\ne 1.5\ny\n"}),),
    ),
)  # fmt: skip

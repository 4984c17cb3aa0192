"""Two files of one kind with each other's contents: what a file holds is not told by its name."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, islice

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.variation import Choice, Example, Variation

MOST_PAIRS = 12


def exchange(draft: Draft, one: str, other: str) -> None:
    first, second = (draft.renamed(p) for p in (one, other))
    draft.changes |= {
        first: replace(draft.base[first], content=draft.base[second].content),
        second: replace(draft.base[second], content=draft.base[first].content),
    }


def alike(g: Grammar) -> list[Choice]:
    """Files with one ending and other contents."""
    found = ((a, b) for a, b in combinations(g.files, 2) if _ending(a) == _ending(b) and g.base[a].content != g.base[b].content)
    return list(islice(found, MOST_PAIRS))


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :] if "." in name else ""


VARIATIONS = (
    Variation(
        name="exchanged", why="Two files of one kind have each other's contents.",
        choices=alike, apply=exchange, drawn=1, alone=2,
        examples=(Example(("a.txt", "b.txt"), {"a.txt": "1", "b.txt": "2"}, {"a.txt": "2", "b.txt": "1"}),),
    ),
)  # fmt: skip

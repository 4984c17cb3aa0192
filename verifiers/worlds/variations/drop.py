"""Fewer files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.variation import Choice, Example, Rule, Said, Variation, files


def droppable(g: Grammar) -> list[Choice]:
    """Something is left of what no argument names, whichever two are drawn."""
    return files(g)[: len(g.files) if len(g.files) > 2 else -1]


def numbered(path: str, base: Iterable[str]) -> bool:
    """Whether files beside it are called like it, with other numbers, which have no gap."""
    form = re.sub(r"\d+", "0", path)
    found = sorted(int(re.findall(r"\d+", p)[-1]) for p in base if re.search(r"\d", p) and re.sub(r"\d+", "0", p) == form)
    return len(found) > 1 and found == list(range(found[0], found[0] + len(found)))


def in_a_series(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """A gap in a series is what no recording has, where all have series without one."""
    path = str(choice[0])
    everywhere = all(any(numbered(p, g.base) for p in g.files) for g in gs)
    return Said.HARM if everywhere and any(path in g.base and numbered(path, g.base) for g in gs) else Said.ALL


def drop(draft: Draft, path: str) -> None:
    draft.changes[draft.renamed(path)] = None


def drop_all(draft: Draft) -> None:
    draft.changes |= dict.fromkeys(map(draft.renamed, draft.g.files))


VARIATIONS = (
    Variation(
        name="drop", why="A file that no argument names is not there.",
        choices=droppable, apply=drop, drawn=2, recorded=in_a_series, never="numbered files have no gap",
        examples=(Example(("a",), {"a": "1", "b": "2"}, {"b": "2"}),),
    ),
    Variation(
        name="drop-all", why="None of the files that no argument names is there.",
        choices=lambda g: [()] if g.files else [], apply=drop_all, rule=Rule.BARE, drawn=1, never="there is something to do",
        examples=(Example((), {"a": "1", "b": "2"}, {}), Example((), {"a": "1", "kk": ""}, {"kk": ""}, {"f": "kk"}, "rm kk")),
    ),
)  # fmt: skip

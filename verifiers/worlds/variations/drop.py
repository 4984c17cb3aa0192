"""Fewer files."""

from __future__ import annotations

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.variation import Choice, Example, Rule, Variation, files


def droppable(g: Grammar) -> list[Choice]:
    """Something is left of what no argument names, whichever two are drawn."""
    return files(g)[: len(g.files) if len(g.files) > 2 else -1]


def drop(draft: Draft, path: str) -> None:
    draft.changes[draft.renamed(path)] = None


def drop_all(draft: Draft) -> None:
    draft.changes |= dict.fromkeys(map(draft.renamed, draft.g.files))


VARIATIONS = (
    Variation(
        name="drop", why="A file that no argument names is not there.",
        choices=droppable, apply=drop, drawn=2,
        examples=(Example(("a",), {"a": "1", "b": "2"}, {"b": "2"}),),
    ),
    Variation(
        name="drop-all", why="None of the files that no argument names is there.",
        choices=lambda g: [()] if g.files else [], apply=drop_all, rule=Rule.BARE, drawn=1, never="there is something to do",
        examples=(Example((), {"a": "1", "b": "2"}, {}), Example((), {"a": "1", "kk": ""}, {"kk": ""}, {"f": "kk"}, "rm kk")),
    ),
)  # fmt: skip

"""Fewer files, or a directory less."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Rule, Said, Variation, files


def droppable(g: Grammar) -> list[Choice]:
    """Something is left of what no argument names, whichever two are drawn."""
    return files(g)[: len(g.files) if len(g.files) > 2 else -1]


def drop(draft: Draft, path: str) -> None:
    draft.changes[draft.renamed(path)] = None


def drop_all(draft: Draft) -> None:
    draft.changes |= dict.fromkeys(map(draft.renamed, draft.g.files))


def filled(g: Grammar) -> list[Choice]:
    """Directories that an argument names, into which the trace puts something, and in which it leaves alone what is there."""
    tree = g.expectation.tree
    named = dict.fromkeys(as_text(v).strip("/") for v in g.args.values())
    inside = {d: [p for p in g.base if p.startswith(f"{d}/")] for d in named if d in g.base and g.base[d].type == "dir"}
    grows = (d for d in inside if any(p.startswith(f"{d}/") and p not in g.base for p in tree))
    return [(d,) for d in grows if all(tree.get(p) == g.base[p] for p in inside[d])]


def no_directory(draft: Draft, recorded: str) -> None:
    path = draft.renamed(recorded)
    draft.changes |= {p: None for p in draft.base if p == path or p.startswith(f"{path}/")}


def is_made(_: Choice, gs: Sequence[Grammar]) -> Said:
    """Whether a recording makes a directory that an argument names."""
    made = (as_text(v).strip("/") in g.made for g in gs for v in g.args.values())
    return Said.ALL if any(made) else Said.HARM


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
    Variation(
        name="no-directory", why="The directory into which the task puts something is not there yet.",
        choices=filled, apply=no_directory, alone=1,
        recorded=is_made, never="the directory into which the task puts something is there",
        examples=(
            Example(("d",), {"a": "1", "d/": "", "d/b": "2"}, {"a": "1"}, {"t": "d"}, "cp a d", made={"d/a": "1"}),
        ),
    ),
)  # fmt: skip

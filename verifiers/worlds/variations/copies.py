"""More files like those that are there: one, or more than any number that the skill mentions."""

from __future__ import annotations

from sandbox.interface import ROOT
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import below, beyond, numbered, renamed_stem
from verifiers.worlds.variation import Choice, Example, Variation, files, pairs

MAX_MANY = 300
"""To what the number of files grows at most."""


def copy(draft: Draft, path: str, directory: str) -> None:
    source = draft.renamed(path)
    if name := renamed_stem(source.rpartition("/")[2], draft.word(), draft.g):
        draft.changes[below(draft.renamed(directory), name)] = draft.base[source]


def crowd(draft: Draft, path: str) -> None:
    """Beside the file; a series of numbers goes on."""
    g, source, word = draft.g, draft.renamed(path), draft.word()
    where, _, old = source.rpartition("/")
    for n in range(beyond(g.constants.numbers, len(g.files) + 9, MAX_MANY)):
        name = renamed_stem(old, word + "aeiouy"[n % 6] * (1 + n // 6), g) or numbered(old, n, g)
        if name and len(name) < 120 and below(where, name) not in draft.base:
            draft.changes[below(where, name)] = draft.base[source]


def elsewhere(g: Grammar) -> list[Choice]:
    """Each file in each directory; a bystander in none that the task is about, where its content would be none of its kind."""
    about = g.about() - {ROOT}
    return [(p, d) for p, d in pairs(g.files, g.directories) if p in about or d not in about]


VARIATIONS = (
    Variation(
        name="copy", why="One more file like another, under a new name.",
        choices=elsewhere, apply=copy, drawn=3,
        examples=(Example(("a.txt", "d"), {"a.txt": "1", "d/": ""}, {"a.txt": "1", "d/": "", "d/….txt": "1"}),),
    ),
    Variation(
        name="crowd", why="More files like one than the skill's numbers and the recordings have.",
        choices=files, apply=crowd, drawn=1, alone=2,
        examples=(Example(("p1",), {"p1": ""}, {f"p{n}": "" for n in range(1, 12)}, commands="cat p?"),),
    ),
)  # fmt: skip

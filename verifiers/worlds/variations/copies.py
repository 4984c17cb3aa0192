"""More files like those that are there: one, or more than any number that the skill mentions."""

from __future__ import annotations

from sandbox.interface import ROOT
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import below, beyond, last_number, numbered, renamed_stem
from verifiers.worlds.tokens import DATE
from verifiers.worlds.variation import Choice, Example, Variation, files, pairs

MAX_MANY = 300
"""To what the number of files grows at most."""
PAST_TEN = 10
"""How many files a series of two gets."""


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


def go_on(draft: Draft, path: str) -> None:
    """Past ten, where an order by text is no order by number."""
    source = draft.renamed(path)
    where, _, old = source.rpartition("/")
    for n in range(PAST_TEN):
        place = below(where, numbered(old, n, draft.g))
        if place not in draft.base:
            draft.changes[place] = draft.base[source]


def series(g: Grammar) -> list[Choice]:
    """The last file of each of several whose names differ in their last number alone, which is no day of a month."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in g.files:
        where, _, name = path.rpartition("/")
        if numbered(name, 0, g) and not DATE.search(name):
            found.setdefault((where, numbered(name, -1 - last_number(name), g)), []).append(path)
    several = [sorted(paths, key=lambda p: last_number(p.rpartition("/")[2])) for paths in found.values() if len(paths) > 1]
    return [(paths[-1],) for paths in sorted(several, key=len, reverse=True)]


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
    Variation(
        name="series", why="A series of files whose names have numbers goes on past ten.",
        choices=series, apply=go_on, alone=1,
        examples=(Example(("p2",), {"p1": "", "p2": ""}, {f"p{n}": "" for n in range(1, 13)}, commands="cat p?"),),
    ),
)  # fmt: skip

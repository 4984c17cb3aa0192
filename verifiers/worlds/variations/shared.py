"""What two files have in common is in one of them only a part of what the other has: a number that another one ends with."""

from __future__ import annotations

import re
from collections import Counter

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import DATE, tokens
from verifiers.worlds.variation import Choice, Example, Stage, Variation

WORD = re.compile(r"(?<![\w.-])\w{3,}(?![\w.-])")
MOST, OTHERS = "most", "others"
"""Where they are cut: in the file that has most of them, or in all others."""


def shared(g: Grammar) -> dict[str, set[str]]:
    """Words and numbers of more than one file that nobody calls by name, with the files."""
    said = {t for v in g.args.values() for t in tokens(as_text(v))} | {*tokens(g.template.literal_text())} | {*g.common}
    found: dict[str, set[str]] = {}
    for path in g.contents:
        if takes_lines(g.base[path].content):
            text = DATE.sub(" ", decoded(g.base[path].content))
            for word in {*WORD.findall(text)} - said:
                found.setdefault(word, set()).add(path)
    return {word: paths for word, paths in sorted(found.items()) if len(paths) > 1}


def places(g: Grammar) -> list[Choice]:
    return [(OTHERS,), (MOST,)] if shared(g) else []


def cut(draft: Draft, where: str) -> None:
    """Every second one, by its first sign or its last; never to what stands in a file already."""
    found = shared(draft.g)
    book = Counter(p for paths in found.values() for p in sorted(paths)).most_common(1)[0][0]
    there = {w for p in draft.g.contents for w in re.findall(r"\w+", decoded(draft.content(p)))}
    shorter = {w: w[1:] if n % 4 else w[:-1] for n, w in enumerate(found) if not n % 2}
    shorter = {w: part for w, part in shorter.items() if part not in there}
    for path in sorted({p for paths in found.values() for p in paths}):
        if (path == book) is (where == MOST):
            text = decoded(draft.content(path))
            draft.edit(path, encoded(WORD.sub(lambda m: shorter.get(m[0], m[0]), text)))


VARIATIONS = (
    Variation(
        name="shared-in-part", why="What two files have in common is in one of them only a part of what the other has.",
        choices=places, apply=cut, stage=Stage.EDIT, alone=2,
        examples=(
            Example((OTHERS,), {"a": "712 x\n30\n", "b": "712\n"}, {"a": "712 x\n30\n", "b": "71\n"}, commands="join a b"),
            Example((MOST,), {"a": "712 x\n300\n", "b": "712\n"}, {"a": "71 x\n300\n", "b": "712\n"}, commands="join a b"),
        ),
    ),
)  # fmt: skip

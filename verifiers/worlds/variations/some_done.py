"""Some of what the task replaces is replaced already."""

from __future__ import annotations

from itertools import permutations

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content


def replacements(g: Grammar) -> list[Choice]:
    """Files in which one argument's text takes the place of another's, more than once."""
    texts = sorted({as_text(v) for v in g.args.values()} - {""})
    after = g.expectation.tree
    return [
        (path, old, new)
        for path in g.contents
        for old, new in permutations(texts, 2)
        if path in after and _times(g.base[path].content, old) > 1
        if g.base[path].content.replace(old.encode(), new.encode()) == after[path].content
    ]


def _times(content: bytes, text: str) -> int:
    return content.count(text.encode())


def first_done(content: bytes, draft: Draft, _path: str, old: str, new: str) -> bytes:
    done = content.replace(draft.renamed(old).encode(), draft.renamed(new).encode(), 1)
    return done if takes_lines(content) else content


VARIATIONS = (
    Variation(
        name="some-done", why="Some of what the task replaces in a file is replaced already.",
        choices=replacements, apply=of_content(first_done), stage=Stage.EDIT, alone=2,
        examples=(
            Example(("a", "x", "y"), {"a": "x x\n"}, {"a": "y x\n"}, {"o": "x", "n": "y"}, "sed -i s/x/y/g a", {"a": "y y\n"}),
        ),
    ),
)  # fmt: skip

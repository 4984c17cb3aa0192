"""What the task adds below one line stands below another one like it already."""

from __future__ import annotations

import re
from itertools import pairwise

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

FIRST_WORD = re.compile(r"[^\w\n]*\w+")


def places(g: Grammar) -> list[Choice]:
    """Files with a line that the task adds below one that says an argument and says none itself, with that line, the first one
    behind which it can stand too, and what it is."""
    found: list[Choice] = []
    for path in g.contents:
        before, after = (decoded(t[path].content).split("\n") if path in t else [] for t in (g.base, g.expectation.tree))
        for anchor, line in pairwise(after):
            if line.strip() and line not in before and anchor in before and _says(g, anchor, path) and not _says(g, line, path):
                others = [x for x in before if x != anchor and _begins(x) and _begins(x) == _begins(anchor)]
                found += [(path, others[0], line)] if others else []
    return list(dict.fromkeys(found))[:2]


def _says(g: Grammar, line: str, path: str) -> bool:
    values = (as_text(v) for v in g.args.values())
    return any(v and v != path and re.search(rf"(?<!\w){re.escape(v)}(?!\w)", line) for v in values)


def _begins(line: str) -> str:
    m = FIRST_WORD.match(line)
    return m[0] if m else ""


def elsewhere(content: bytes, draft: Draft, _path: str, other: str, line: str) -> bytes:
    row, more = (encoded(draft.renamed(x)) + b"\n" for x in (other, line))
    return content.replace(row, row + more, 1) if takes_lines(content) else content


VARIATIONS = (
    Variation(
        name="added-elsewhere", why="What the task adds below one line stands below another one like it already.",
        choices=places, apply=of_content(elsewhere), stage=Stage.EDIT, alone=2,
        examples=(
            Example(
                ("a", "k x", "on"), {"a": "k w\nk x\n"}, {"a": "k w\nk x\non\n"}, {"s": "w"}, "sed -i '/w/aon' a",
                {"a": "k w\non\nk x\n"},
            ),
        ),
    ),
)  # fmt: skip

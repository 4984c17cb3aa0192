"""Lines as the task leaves them, beside those that it changes: a part of the work is done already."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.variation import Choice, Example, Rule, Said, Stage, Variation, of_content

MOST_CHANGED = 8


def changed(g: Grammar, path: str) -> list[tuple[str, str]]:
    """Lines of a file with what the task makes of each; none of a file whose lines come and go."""
    after = g.expectation.tree.get(path)
    if after is None or not (takes_lines(g.base[path].content) and takes_lines(after.content)):
        return []
    old, new = (decoded(content).split("\n") for content in (g.base[path].content, after.content))
    pairs = zip(old, new, strict=True) if len(old) == len(new) else ()
    return [(a, b) for a, b in pairs if a != b and a.strip() and b.strip()][:MOST_CHANGED]


def _beside(content: bytes, draft: Draft, path: str) -> bytes:
    for old, new in changed(draft.g, path):
        row = encoded(draft.renamed(old)) + b"\n"
        content = content.replace(row, encoded(draft.renamed(new)) + b"\n" + row, 1)
    return content


def _files(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if changed(g, p)]


def several(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """Only where a recorded file has several lines that begin so: what a second line of one key means nobody says elsewhere."""
    begun = [[_beginning(row) for row in decoded(g.base[p].content).split("\n")] for g in gs for p in g.contents]
    done = {_beginning(new) for g in gs for p in g.contents for _, new in changed(g, p)} - {""}
    return Said.ALL if any(rows.count(mark) > 1 for rows in begun for mark in done) else Said.HARM


def _beginning(row: str) -> str:
    """The first word or marks of a line."""
    found = re.match(r"\s*([^\w\s]+|\w+)", row)
    return found[1] if found else ""


VARIATIONS = (
    Variation(
        name="done-lines", why="A file has lines as the task leaves them, beside those that it changes.",
        choices=_files, apply=of_content(_beside), rule=Rule.BYSTANDER, stage=Stage.EDIT, alone=3, refusable=True,
        recorded=several, never="no two lines begin as those do that the task changes",
        examples=(
            Example(("a",), {"a": "job a\nrest\n"}, {"a": "#job a\njob a\nrest\n"}, made={"a": "#job a\nrest\n"}),
        ),
    ),
)  # fmt: skip

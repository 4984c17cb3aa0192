"""Tables and databases in which values that were recorded stand in other rows."""

from __future__ import annotations

from random import Random

from verifiers.worlds.databases import is_database, with_mixed_rows
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.mixed import mixed
from verifiers.worlds.records import decoded, encoded
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content
from verifiers.worlds.variations.quoted_cells import mark

ORDERS = 3
LEAST_ROWS = 3


def tables(g: Grammar) -> list[Choice]:
    found = [
        p for p, e in g.base.items() if e.type == "file" and (is_database(e.content) or (p in g.contents and cells(e.content)))
    ]
    return [(p, n) for n in range(ORDERS) for p in found]


def cells(content: bytes) -> list[list[str]]:
    """The cells of a table below its first line; none where it is no plain one."""
    between = mark(content)
    rows = [line.split(between) for line in decoded(content).split("\n")[1:] if line.strip()] if between else []
    return rows if len(rows) >= LEAST_ROWS and b'"' not in content else []


def recombined(content: bytes, _draft: Draft, _path: str, order: int) -> bytes:
    rng = Random(order)
    if is_database(content):
        return with_mixed_rows(content, rng)
    if not (rows := cells(content)):
        return content
    lines = iter(mixed(rows, rng))
    first, *rest = decoded(content).split("\n")
    return encoded("\n".join([first, *(mark(content).join(next(lines)) if line.strip() else line for line in rest)]))


VARIATIONS = (
    Variation(
        name="recombined", why="The values of a table's columns stand in other rows.",
        choices=tables, apply=of_content(recombined), stage=Stage.EDIT, alone=ORDERS * 2,
        examples=(
            Example(
                ("a", 0), {"a": "k,v,w\n1,b,9\n2,a,7\n3,b,8\n4,c,7\n"}, {"a": "k,v,w\n1,…,…\n2,…,…\n3,…,…\n4,…,…\n"}
            ),
        ),
    ),
)  # fmt: skip

"""What databases hold: other texts, and more or fewer rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

from verifiers.worlds.databases import is_database, reworded, texts, with_another_table, with_fewer_rows, with_more_rows
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded
from verifiers.worlds.variation import Choice, Example, Said, Stage, Variation, of_content

TEXTS, ROWS, FIRST, SECOND = "texts", "rows", "every second row", "the others"
WAYS: dict[str, Callable[[bytes, Callable[[str], str]], bytes]] = {
    TEXTS: reworded, ROWS: with_more_rows, FIRST: lambda data, _: with_fewer_rows(data, 0),
    SECOND: lambda data, _: with_fewer_rows(data, 1),
}  # fmt: skip


def databases(g: Grammar) -> list[Choice]:
    found = [(p, e.content) for p, e in g.base.items() if is_database(e.content)]
    return [(p, way) for p, data in found for way in WAYS if way in (FIRST, SECOND) or free(g, data)]


def free(g: Grammar, data: bytes) -> list[str]:
    """Texts that neither the commands nor the arguments say, and that are no dates, numbers or codes."""
    said = "\n".join(g.template.fill(g.args))
    return [t for t in texts(data) if t not in said and t[-1:].isalpha() and not any(c.isdigit() for c in t)]


def _edited(content: bytes, draft: Draft, path: str, way: str) -> bytes:
    ours = {draft.renamed(t) for t in free(draft.g, draft.g.base[path].content)}
    return WAYS[way](content, lambda text: _again(text) if text in ours else text)


def _again(text: str) -> str:
    return f"{text} again"


def example(edited: Callable[[bytes], bytes], *choice: str) -> Example:
    """Of one row."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript("CREATE TABLE t(a); INSERT INTO t VALUES ('one two')")
        before = db.serialize()
    return Example(("a", *choice), {"a": decoded(before)}, {"a": decoded(edited(before))})


VARIATIONS = (
    Variation(
        name="in-databases", why="A database holds other texts than the commands speak of, or more or fewer rows.",
        choices=databases, apply=of_content(_edited), stage=Stage.EDIT, alone=4,
        examples=(example(lambda data: with_more_rows(data, _again), ROWS),),
    ),
    Variation(
        name="another-table", why="A database has a table more, of which nothing speaks and which lacks its first row.",
        choices=lambda g: [(p,) for p, e in g.base.items() if is_database(e.content)],
        apply=of_content(lambda content, _d, _p: with_another_table(content)), stage=Stage.EDIT, alone=1,
        recorded=lambda *_: Said.HARM, never="a database has only tables that belong to the task", asks=False,
        examples=(example(with_another_table),),
    ),
)  # fmt: skip

"""One part more behind the last one of a field, or of a row: who counts from the end finds another."""

from __future__ import annotations

import re

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

MARKS = ",;|\t^~"
LEAST_ROWS, MOST_MARKS = 2, 3
MAX_LINE = 1000
"""Characters of a line that gets another part: in longer ones the search takes too long."""
_QUOTES = re.compile(r"[\"'<>{}\[\]]")
"""What has these has a grammar of its own, in which one more part means nothing."""


def _field(mark: str) -> re.Pattern[str]:
    """The last of a line's fields, by the other marks, that has this one between two parts."""
    other = re.escape(MARKS.replace(mark, ""))
    return re.compile(
        rf"(?<![^{other}])[^{other}]*[^{other}\s]{re.escape(mark)}[^{other}\s][^{other}]*?(?=\s*$|[{other}](?!.*{re.escape(mark)}))"
    )


def _rows(content: bytes) -> list[str]:
    text = decoded(content)
    return text.split("\n") if takes_lines(content) and not _QUOTES.search(text) else []


def with_part(content: bytes, _draft: Draft, _path: str, mark: str) -> bytes:
    rows = [_with(row, mark) for row in _rows(content)]
    return encoded("\n".join(rows)) if rows else content


def _with(row: str, mark: str) -> str:
    return _field(mark).sub(lambda m: _longer(m[0], mark), row, count=1) if len(row) <= MAX_LINE else row


def _longer(field: str, mark: str) -> str:
    """One that ends within brackets, or closes them, has no part behind that."""
    last = field.rpartition(mark)[2]
    return f"{field}{mark}more" if last.count("(") == last.count(")") else field


def marked(g: Grammar) -> list[Choice]:
    """Files with the marks that part something in several of their lines."""
    found = ((p, mark, _rows(g.base[p].content)) for p in g.contents for mark in MARKS)
    return [(p, mark) for p, mark, rows in found if sum(_with(row, mark) != row for row in rows) >= LEAST_ROWS]


VARIATIONS = (
    Variation(
        name="more-parts", why="Fields, or rows, have one part more behind their last.",
        choices=marked, apply=of_content(with_part), stage=Stage.EDIT, alone=2 * MOST_MARKS,
        examples=(
            Example(("a", "^"), {"a": "R|1^b|x\nR|2^d|y\n"}, {"a": "R|1^b^more|x\nR|2^d^more|y\n"}),
            Example(("a", ","), {"a": "k,l\nm(n,o)\n1,2\n"}, {"a": "k,l,more\nm(n,o)\n1,2,more\n"}),
        ),
    ),
)  # fmt: skip

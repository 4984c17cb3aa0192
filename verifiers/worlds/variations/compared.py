"""Numbers in contents become those with which the commands compare."""

from __future__ import annotations

import re

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, put, takes_lines
from verifiers.worlds.tokens import DATE
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

COMPARED = re.compile(r"(?:[<>=!]=|(?:(?<=\w)|(?<=\s))[<>=]|-(?:gt|ge|lt|le|eq|ne))\s*(\d{1,9})(?![\w.])")
"""A sign that nothing stands before begins a text (``(=650``)."""
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_CODE = re.compile(r"[^\w\s,;:|\"'=()<>\[\]]\d+[^\w\s,;:|\"'=()<>\[\]]")
"""A number between two signs that part no values is a part of one: ``\\0$a``."""
MOST_COLUMNS = 4


def limits(g: Grammar) -> list[int]:
    """What the commands compare with, literals and what arguments say: a number that is just as large is the one that shows
    whether it counts."""
    commands = "\n".join((g.template.literal_text(), *g.template.fill(g.args)))
    return sorted({int(n) for n in COMPARED.findall(commands)})


def columns(g: Grammar) -> list[Choice]:
    """File, which number of a line, and what it becomes."""
    found = limits(g)
    return [(p, k, n) for p in g.contents[:2] if found for k in range(_most(g, p)) for n in found]


def _most(g: Grammar, path: str) -> int:
    content = g.base[path].content
    lines = decoded(content).split("\n") if takes_lines(content) else []
    return min(MOST_COLUMNS, max((len(numbers(line)) for line in lines), default=0))


def numbers(line: str) -> list[re.Match[str]]:
    """Those of a line that are no part of a date, a time or a code."""
    others = [m.span() for m in (*DATE.finditer(line), *_CODE.finditer(line))]
    return [m for m in NUMBER.finditer(line) if not any(first <= m.start() < last for first, last in others)]


def compared(content: bytes, draft: Draft, path: str, k: int, n: int) -> bytes:
    """Text with another number in every second line, the last one included."""
    if not takes_lines(content):
        return content
    lines = decoded(content).split("\n")
    for i in range(len(lines) - 1 - content.endswith(b"\n"), -1, -2):
        found = numbers(lines[i])
        if len(found) > k:
            lines[i] = put(lines[i], found[k].span(), str(n))
    return encoded("\n".join(lines))


VARIATIONS = (
    Variation(
        name="compared", why="Numbers in a file are those with which the commands compare.",
        choices=columns, apply=of_content(compared), stage=Stage.EDIT, alone=6,
        examples=(
            Example(("a", 0, 0), {"a": "2026-09-30 2\n"}, {"a": "2026-09-30 0\n"}, commands="awk '$2 > 0' a"),
            Example(("a", 0, 12), {"a": "k 3\n"}, {"a": "k 12\n"}, {"n": "12"}, "awk '$2 > 12' a"),
            Example(("a", 1, 0), {"a": "k 1 2 %5$\nl 3 4 %6$\n"}, {"a": "k 1 2 %5$\nl 3 0 %6$\n"}, commands="awk '$3 > 0' a"),
        ),
    ),
)  # fmt: skip

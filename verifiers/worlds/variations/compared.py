"""Numbers and days in contents become those with which the commands compare."""

from __future__ import annotations

import re

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, put, takes_lines
from verifiers.worlds.tokens import DATE
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

DAY = re.compile(r"(?<![\w.])\d{4}-\d\d-\d\d(?![\w.])")
COMPARED = re.compile(
    rf"(?:[<>=!]=|(?:(?<=\w)|(?<=\s))[<>=]|-(?:gt|ge|lt|le|eq|ne))\s*(?:[\"']?({DAY.pattern})|(\d{{1,9}})(?![\w.]))"
)
"""A sign that nothing stands before begins a text (``(=650``)."""
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_CODE = re.compile(r"[^\w\s,;:|\"'=()<>\[\]]\d+[^\w\s,;:|\"'=()<>\[\]]")
"""A number between two signs that part no values is a part of one: ``\\0$a``."""
MOST_COLUMNS = 4


def limits(g: Grammar) -> list[str]:
    """What the commands compare with, literals and what arguments say: a number that is just as large, or that very day, is the
    one that shows whether it counts."""
    commands = "\n".join((g.template.literal_text(), *g.template.fill(g.args)))
    return sorted({day or str(int(number)) for day, number in COMPARED.findall(commands)})


def columns(g: Grammar) -> list[Choice]:
    """File, which number or day of a line, and what it becomes."""
    return [(p, k, n) for p in g.contents[:2] for n in limits(g) for k in range(_most(g, p, n))]


def _most(g: Grammar, path: str, n: str) -> int:
    lines = _lines(g.base[path].content, n)
    return min(MOST_COLUMNS, max((len(_like(line, n)) for line in lines), default=0))


def _lines(content: bytes, n: str) -> list[str]:
    """Those of JSON too for a day, which stays a text."""
    return decoded(content).split("\n") if DAY.match(n) or takes_lines(content) else []


def _like(line: str, n: str) -> list[re.Match[str]]:
    return [*DAY.finditer(line)] if DAY.match(n) else numbers(line)


def numbers(line: str) -> list[re.Match[str]]:
    """Those of a line that are no part of a date, a time or a code."""
    others = [m.span() for m in (*DATE.finditer(line), *_CODE.finditer(line))]
    return [m for m in NUMBER.finditer(line) if not any(first <= m.start() < last for first, last in others)]


def compared(content: bytes, draft: Draft, path: str, k: int, n: str) -> bytes:
    """Text with another number, or another day, in every second line that has one there, the last one included."""
    lines = _lines(content, n)
    found = {i: at[k].span() for i, line in enumerate(lines) if len(at := _like(line, n)) > k}
    for i in [*found][::-2]:
        lines[i] = put(lines[i], found[i], n)
    return encoded("\n".join(lines)) if lines else content


VARIATIONS = (
    Variation(
        name="compared", why="Numbers or days in a file are those with which the commands compare.",
        choices=columns, apply=of_content(compared), stage=Stage.EDIT, alone=6,
        examples=(
            Example(("a", 0, "12"), {"a": "2026-09-30 2\n"}, {"a": "2026-09-30 12\n"}, {"n": "12"}, "awk '$2 > 12' a"),
            Example(
                ("a", 0, "2026-07-01"), {"a": '[\n"2026-09-30"\n]\n'}, {"a": '[\n"2026-07-01"\n]\n'},
                commands="jq '.[]|select(. < \"2026-07-01\")' a",
            ),
            Example(("a", 1, "0"), {"a": "k 1 2 %5$\nl 3 4 %6$\n"}, {"a": "k 1 2 %5$\nl 3 0 %6$\n"}, commands="awk '$3 > 0' a"),
        ),
    ),
)  # fmt: skip

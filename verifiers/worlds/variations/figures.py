"""Numbers in contents that are nought, below it, or longer than the others."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from functools import cache

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, put, takes_lines
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Said, Stage, Variation, of_content

FIGURE = re.compile(r"(?<![\w.:/-])\d+(?:\.\d+)?(?![\w.:/-])")
DIGIT = re.compile(r"(?<![\w./-])(?<!\d\d:)\d(?![\w./-]|:\d\d)")
"""A number of one digit: no part of a time, a date or a version, but ``2:1``."""
NOUGHT, BELOW, LONGER = "nought", "below nought", "longer"
RECORDED = {
    NOUGHT: re.compile(rb"(?<![\w.])0+(?:\.0+)?(?![\w.])"), BELOW: re.compile(rb"(?<![\w-])-\d"),
    LONGER: re.compile(rb"(?<![\w./-])[1-9]\d+(?![\w./-])"),
}  # fmt: skip
MOST_COLUMNS = 2
DECIMAL = re.compile(r"(?<![\d.,:])(\d{1,6})([.,])(\d{2,15})(?![\d.,:])", re.ASCII)
MOST_TRIED = 100_000


def columns(g: Grammar) -> list[Choice]:
    """Which figure of a line from its end, and what it becomes."""
    rows = [line for p in g.contents for line in _lines(g.base[p].content)]
    most = {way: max((len(_form(way).findall(row)) for row in rows), default=0) for way in RECORDED}
    return [(k, way) for k in range(MOST_COLUMNS) for way in most if k < most[way]]


def _form(way: str) -> re.Pattern[str]:
    return DIGIT if way == LONGER else FIGURE


def _lines(content: bytes) -> list[str]:
    return decoded(content).split("\n") if takes_lines(content) else []


def figured(content: bytes, k: int, way: str) -> bytes:
    """Text with another figure in every line that has one; nought not in the first of them."""
    lines = _lines(content)
    having = [i for i, line in enumerate(lines) if len(_form(way).findall(line)) > k][way == NOUGHT :]
    for i in having:
        found = [*_form(way).finditer(lines[i])][-1 - k]
        figure = {NOUGHT: "0", BELOW: f"-{found[0]}", LONGER: "10"}[way]
        lines[i] = put(lines[i], found.span(), figure)
    return encoded("\n".join(lines)) if having else content


def everywhere(draft: Draft, k: int, way: str) -> None:
    """All files alike: what is smallest or largest may be looked for in all of them."""
    for path in draft.g.contents:
        content = draft.content(path)
        if (new := figured(content, k, way)) != content:
            draft.edit(path, new)


def misread(text: str, said: Collection[str]) -> str:
    """Each decimal becomes the next one that a float misses: who cuts off ``8.20 * 100`` has 819. Of those with more than three
    places the thousandths are. Not what arguments say."""

    def other(m: re.Match[str]) -> str:
        whole, mark, places = m.groups()
        part, rest = places[:3], places[3:]
        scale, value = 10 ** len(part), int(whole + part)
        found = next(iter(_missed(scale)[bisect_left(_missed(scale), value) :]), value)
        return m[0] if m[0] in said else f"{found // scale}{mark}{found % scale:0{len(part)}}{'0' * len(rest)}"

    return DECIMAL.sub(other, text)


@cache
def _missed(scale: int) -> list[int]:
    """The numbers, in parts of one, that are another whole number when they are read and taken as often."""
    return [n for n in range(MOST_TRIED) if int(n / scale * scale) != n]


def decimals(g: Grammar) -> list[Choice]:
    return [(p,) for p in g.contents if takes_lines(g.base[p].content) and DECIMAL.search(decoded(g.base[p].content))]


def _misread(content: bytes, draft: Draft, _path: str) -> bytes:
    return encoded(misread(decoded(content), [as_text(v) for v in draft.args.values()]))


def known(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """Numbers of a kind that no recording has are what nobody has spoken of."""
    form = RECORDED[str(choice[1])]
    return Said.ALL if any(form.search(g.base[p].content) for g in gs for p in g.contents) else Said.HARM


VARIATIONS = (
    Variation(
        name="other-figures", why="Numbers in a file are nought, below it, or longer than the others.",
        choices=columns, apply=everywhere, stage=Stage.EDIT, alone=6,
        recorded=known, never="the numbers in the files are greater than nought, or of one digit",
        odd="number",
        examples=(
            Example((0, NOUGHT), {"a": "k 1 2.5\nl 3 4.5\n"}, {"a": "k 1 2.5\nl 3 0\n"}),
            Example((1, LONGER), {"a": "k 2:1 1.5\nl 12:30 7\n"}, {"a": "k 10:1 1.5\nl 12:30 7\n"}),
            Example((1, BELOW), {"a": "k 1 2\nl 3 4\n"}, {"a": "k -1 2\nl -3 4\n"}),
        ),
    ),
    Variation(
        name="misread-decimals", why="Decimals in a file are such as a binary float misses.",
        choices=decimals, apply=of_content(_misread), stage=Stage.EDIT, alone=2,
        examples=(Example(("a",), {"a": "k 8.15\nl 4,00\nv 1.2.3\n"}, {"a": "k 8.20\nl 4,02\nv 1.2.3\n"}),),
    ),
)  # fmt: skip

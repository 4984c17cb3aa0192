"""Numbers in contents that are nought, or below it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded, takes_lines
from verifiers.worlds.variation import Choice, Example, Said, Stage, Variation, of_content

FIGURE = re.compile(r"(?<![\w.:/-])\d+(?:\.\d+)?(?![\w.:/-])")
NOUGHT, BELOW = "nought", "below nought"
RECORDED = {NOUGHT: re.compile(rb"(?<![\w.])0+(?:\.0+)?(?![\w.])"), BELOW: re.compile(rb"(?<![\w-])-\d")}
MOST_COLUMNS = 2


def columns(g: Grammar) -> list[Choice]:
    """File, which figure of a line from its end, and what it becomes."""
    return [(p, k, way) for p in g.contents[:3] for k in range(_most(g, p)) for way in RECORDED]


def _most(g: Grammar, path: str) -> int:
    content = g.base[path].content
    lines = decoded(content).split("\n") if takes_lines(content) else []
    return min(MOST_COLUMNS, max((len(FIGURE.findall(line)) for line in lines), default=0))


def figured(content: bytes, draft: Draft, path: str, k: int, way: str) -> bytes:
    """Text with another figure in every line that has one; nought not in the first of them."""
    lines = decoded(content).split("\n") if takes_lines(content) else []
    having = [i for i, line in enumerate(lines) if len(FIGURE.findall(line)) > k][way == NOUGHT :]
    for i in having:
        found = [*FIGURE.finditer(lines[i])][-1 - k]
        lines[i] = f"{lines[i][: found.start()]}{'0' if way == NOUGHT else f'-{found[0]}'}{lines[i][found.end() :]}"
    return encoded("\n".join(lines)) if having else content


def known(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """Numbers of a kind that no recording has are what nobody has spoken of."""
    form = RECORDED[str(choice[2])]
    return Said.ALL if any(form.search(g.base[p].content) for g in gs for p in g.contents) else Said.HARM


VARIATIONS = (
    Variation(
        name="other-figures", why="Numbers in a file are nought, or below it.",
        choices=columns, apply=of_content(figured), stage=Stage.EDIT, alone=4, refusable=True,
        recorded=known, never="the numbers in the files are greater than nought",
        examples=(
            Example(("a", 0, NOUGHT), {"a": "k 1 2.5\nl 3 4.5\n"}, {"a": "k 1 2.5\nl 3 0\n"}),
            Example(("a", 1, BELOW), {"a": "k 1 2\nl 3 4\n"}, {"a": "k -1 2\nl -3 4\n"}),
        ),
    ),
)  # fmt: skip

"""Tables whose cells hold the mark that parts cells: such cells stand in quotes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded, encoded
from verifiers.worlds.tokens import tokens
from verifiers.worlds.variation import Choice, Example, Said, Stage, Variation

QUOTED = re.compile(rb'(?<![^,;\n])"[^"\n]*[,;][^"\n]*"')
MOST_COLUMNS = 3


def mark(content: bytes) -> str:
    """What parts the cells of a table; "" where it is none."""
    lines = [line for line in decoded(content).split("\n") if line.strip()]
    for found in ",;":
        if len({line.count(found) for line in lines}) == 1 and lines[0].count(found) and len(lines) > 1:
            return found
    return ""


def columns(g: Grammar) -> list[Choice]:
    widths = [decoded(c).partition("\n")[0].count(m) + 1 for p in g.contents if (m := mark(c := g.base[p].content))]
    return [(k,) for k in range(min(max(widths, default=0), MOST_COLUMNS))]


def quoted(content: bytes, k: int, said: Collection[str]) -> bytes:
    """The table with words in one column, below its first line, that hold the mark; not those that an argument says."""
    lines, between = decoded(content).split("\n"), mark(content)
    for n, line in enumerate(lines):
        cells = line.split(between) if between and n else []
        if k < len(cells) and re.search(r"[^\W\d_]", cells[k]) and '"' not in line and not set(tokens(cells[k])) & set(said):
            cell = cells[k].rstrip("\r")
            cells[k] = f'"{cell}{between} {cell}"{cells[k][len(cell) :]}'
            lines[n] = between.join(cells)
    return encoded("\n".join(lines))


def everywhere(draft: Draft, k: int) -> None:
    said = {draft.renamed(token) for token, _ in draft.g.bound}
    for path in draft.g.contents:
        content = draft.content(path)
        if (new := quoted(content, k, said)) != content:
            draft.edit(path, new)


def known(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """Only where some recording has such a cell do the commands know of them."""
    return Said.ALL if any(QUOTED.search(g.base[p].content) for g in gs for p in g.contents) else Said.HARM


VARIATIONS = (
    Variation(
        name="quoted-cells", why="Cells of a table hold the mark that parts cells, in quotes.",
        choices=columns, apply=everywhere, stage=Stage.EDIT, alone=MOST_COLUMNS, asks=False,
        recorded=known, never="no cell of a table holds the mark that parts them",
        examples=(Example((1,), {"a": "k,name\n1,ab\n2,7\n"}, {"a": 'k,name\n1,"ab, ab"\n2,7\n'}),),
    ),
)  # fmt: skip

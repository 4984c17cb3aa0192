"""Records in markup of which one lacks what the others have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.variation import Choice, Example, Said, Stage, Variation, of_content

MOST_ELEMENTS = 12
_ELEMENT = re.compile(rb"[ \t]*<([\w:]+)[^<>]*>[^<>]*</\1>(?:\r?\n)?")
"""With nothing but text in it, and with its line where that holds nothing else."""


def repeated(content: bytes) -> dict[bytes, int]:
    """How often each innermost element comes that comes more than once."""
    return {name: n for name, n in Counter(m[1] for m in _ELEMENT.finditer(content)).items() if n > 1}


def elements(g: Grammar) -> Sequence[Choice]:
    """Each innermost element of a name that comes again, those of each name by turns."""
    found = []
    for path in g.contents:
        turn = Counter[bytes]()
        several = repeated(g.base[path].content)
        for n, m in enumerate(_ELEMENT.finditer(g.base[path].content)):
            turn[m[1]] += 1
            found += [(turn[m[1]], path, n)] if m[1] in several else []
    return [(path, n) for _, path, n in sorted(found)][:MOST_ELEMENTS]


def _without(content: bytes, _draft: Draft, _path: str, number: int) -> bytes:
    one = list(_ELEMENT.finditer(content))[number]
    return content[: one.start()] + content[one.end() :]


def known(_: Choice, gs: Sequence[Grammar]) -> Said:
    """Whether some recorded file has more of one repeated element than of another."""
    counts = (set(repeated(g.base[p].content).values()) for g in gs for p in g.contents)
    return Said.ALL if any(len(c) > 1 for c in counts) else Said.HARM


_ITEM = "<r><n>{}</n></r>\n"
VARIATIONS = (
    Variation(
        name="lacking-element", why="One of several records in markup lacks an element.",
        choices=elements, apply=of_content(_without), stage=Stage.EDIT, alone=6,
        recorded=known, never="every record has the same elements",
        examples=(
            Example(("a.xml", 1), {"a.xml": _ITEM.format(1) + _ITEM.format(2)}, {"a.xml": _ITEM.format(1) + "<r></r>\n"}),
        ),
    ),
)  # fmt: skip

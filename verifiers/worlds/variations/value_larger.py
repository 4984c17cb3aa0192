"""Larger numbers in arguments."""

from __future__ import annotations

import re

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import DATE
from verifiers.worlds.variation import Example, Stage, Turns, Variation
from verifiers.worlds.variations.rename import numbers


def enlarge(draft: Draft, token: str) -> None:
    """A number of one digit gets a second one."""
    draft.renames[token] = str(3 * int(token) + 10)


def dated(token: str, g: Grammar) -> bool:
    """Whether the number is a part of a date or a time in some argument: there is no fortieth month."""
    dates = [m.group() for v in g.args.values() for m in DATE.finditer(as_text(v))]
    return any(token in re.split(r"\D", date) for date in dates)


VARIATIONS = (
    Variation(
        name="value-larger", why="A number of an argument is larger than recorded.",
        choices=lambda g: [(t,) for t in numbers(g) if len(t) < 3 and t[0] != "0" and not dated(t, g)],
        apply=enlarge, stage=Stage.RENAME, turns=Turns.FIRST, alone=3,
        odd="number",
        examples=(Example(("4",), {"a": "4 lines\n"}, {"a": "22 lines\n"}, {"n": "v4"}, "ls v4"),),
    ),
)  # fmt: skip

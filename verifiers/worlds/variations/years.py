"""Dates of another time: all of them, by as many years, so that order, distances and days of the week stay."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import DATE, all_text, tokens
from verifiers.worlds.variation import Choice, Example, Stage, Variation

CYCLE = 28
"""Years after which a calendar comes again, from 1901 to 2099."""
STAMP = re.compile(r"(\d{4})(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?:\d{6})?")
"""A date, perhaps with its time, without anything in between."""
_ADDRESS = re.compile(r"\w+://[^\s\"'<>]+")
"""What a namespace is called by tells no time."""


def earlier(g: Grammar) -> dict[str, str]:
    """The years and stamps of a trace, in names, contents and arguments, and what they become. Nothing where the commands say
    something of years themselves, or an argument does that cannot be another."""
    said = [t for v in g.args.values() for t in tokens(as_text(v))]
    there = {*tokens(all_text(g.base)), *said}
    years = {year for year in _years(all_text(g.base)) if 1901 + CYCLE <= int(year) < 2100}
    found = {t for t in there if t in years or ((m := STAMP.fullmatch(t)) and m[1] in years)}
    fixed = {*said} - {token for token, _ in g.bound}
    if found & fixed or any(t[:2] in ("19", "20") for t in tokens(g.template.literal_text())):
        return {}
    return {t: f"{int(t[:4]) - CYCLE}{t[4:]}" for t in found}


def _years(text: str) -> Iterator[str]:
    text = _ADDRESS.sub(" ", text)
    yield from (year for date in DATE.findall(text) for year in tokens(date) if len(year) == 4)
    yield from (m[1] for t in tokens(text) if (m := STAMP.fullmatch(t)))


def choices(g: Grammar) -> list[Choice]:
    return [(CYCLE,)] if earlier(g) else []


def apply(draft: Draft, _years: int) -> None:
    draft.renames.update(earlier(draft.g))


VARIATIONS = (
    Variation(
        name="earlier-years", why="All dates are of 28 years before.",
        choices=choices, apply=apply, stage=Stage.RENAME, alone=1,
        examples=(
            Example((CYCLE,), {"a_20240229.txt": "on 2024-02-29 at 20:24\n"}, {"a_19960229.txt": "on 1996-02-29 at 20:24\n"}),
        ),
    ),
)  # fmt: skip

"""Values with what formats and replacements treat specially."""

from __future__ import annotations

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.variation import Choice, Example, Rule, Stage, Step, Variation
from verifiers.worlds.variations.rename import renamed, spellings, texts

MARKS = ("{}%s%41", "\\a&", "+(a)")
"""Placeholders (``{name}``), a letter as an address writes it, and what formats and replacements treat specially. Not ``\\n``:
JSON writes an end of line that it read as one in the same two characters, and nothing would show that it was read."""
MOST_MARKED = 4


def markable(g: Grammar) -> list[Choice]:
    """Words that are no other argument's. A backslash may mean something to the format of a file (JSON), so a word that stands in
    one gets none."""
    owners = {token: ps for token, ps in g.bound if len(ps) == 1 and isinstance(g.args[ps[0]], str)}
    written = b"\n".join(e.content for e in g.base.values()).decode("utf-8", "replace").lower()
    found = sorted((t for t in texts(g) if t in owners), key=lambda t: t.lower() not in written)
    alone = {owners[t][0]: t for t in found}
    chosen = [*alone.values()][:MOST_MARKED]
    return [(t, mark) for t in chosen for mark in MARKS if "\\" not in mark or t.lower() not in written]


def mark(draft: Draft, token: str, form: str) -> None:
    """Behind the word. Placeholders have the names of other parameters, if there are any."""
    own = dict(draft.g.bound)[token]
    names = [p for p in sorted(draft.g.args) if p not in own][:3] or own
    text = form.format("".join(f"{{{name}}}" for name in names))
    draft.renames |= {t: draft.renames.get(t, t) + text for t in spellings(token)}


VARIATIONS = (
    Variation(
        name="value-marked", why="A value ends in what a format or a replacement treats specially.",
        choices=markable, apply=mark, rule=Rule.TEXT, stage=Stage.RENAME,
        together=lambda g: [(*renamed(g), Step("value-marked", choice)) for choice in markable(g)],
        examples=(
            Example(("foo", "\\a&"), {"foo": ""}, {"foo\\a&": ""}, {"w": "foo"}, "ls foo"),
            Example(("foo", "{}%s%41"), {"a": "foo\n"}, {"a": "foo{n}%s%41\n"}, {"n": "bar", "w": "foo"}, "ls foo bar"),
        ),
    ),
)  # fmt: skip

"""Words of arguments that look like something else, and are text all the same."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import like
from verifiers.worlds.variation import Choice, Example, Rule, Said, Stage, Step, Variation, pairs
from verifiers.worlds.variations.rename import spellings, texts

LOOKS = ("number", "option", "ending", "digit first", "long")
"""Digits with a leading zero, a dash in front as an option has, a dot in the middle as ``tar.gz`` has, a digit in front, and as
many letters as a name of a file may well have."""
LONG = 120


def look_like(draft: Draft, token: str, look: str) -> None:
    word = draft.own[token]
    digits = f"0{draft.rng.randint(11, 99)}{[t for t, _ in draft.g.bound].index(token)}" if look == "number" else ""
    head = {"option": "-", "digit first": "3"}.get(look, "")
    tail = f".{word[:2].lower()}" * (look == "ending") + word * (LONG // max(len(word), 1)) * (look == "long")
    draft.renames |= {t: digits or head + like(t, word) + tail for t in spellings(token)}


def every_word(g: Grammar) -> list[tuple[Step, ...]]:
    return [tuple(Step("value-looks", (t, look)) for t in texts(g)) for look in LOOKS if texts(g)]


def with_dots(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """An argument that is the ending of names (``*.txt``): whether ``tar.gz`` is one ending or two, nobody has said."""
    token, look = map(str, choice)
    values = [(g, as_text(v)) for g in gs for v in g.args.values()]
    ending = any(token in value and path.endswith(f".{value}") for g, value in values for path in g.base)
    return Said.HARM if look == "ending" and ending else Said.ALL


VARIATIONS = (
    Variation(
        name="value-looks", why="A word of an argument is very long, or looks like a number, an option or two endings.",
        choices=lambda g: pairs(texts(g), LOOKS), apply=look_like, rule=Rule.TEXT, stage=Stage.RENAME,
        together=every_word, recorded=with_dots, never="an ending has no dot in it",
        examples=(
            Example(("foo", "option"), {"foo.txt": "foo\n"}, {"-….txt": "-…\n"}, {"w": "foo"}, "ls foo"),
            Example(("foo", "ending"), {"a.foo": ""}, {"a.….…": ""}, {"w": "foo"}, "ls *.foo"),
            Example(("foo", "ending"), {"a.foo3": ""}, {"a.….…3": ""}, {"w": "foo3"}, "ls *.foo3"),
        ),
    ),
)  # fmt: skip

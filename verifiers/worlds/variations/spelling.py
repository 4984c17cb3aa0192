"""Other whole numbers, and words in other cases."""

from __future__ import annotations

import re
from random import Random

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.names import meant
from verifiers.worlds.tokens import YES_OR_NO
from verifiers.worlds.variation import Choice, Example, Stage, Variation, of_content

NUMBERS, CASES = "numbers", "cases"
_WHOLE_NUMBER = re.compile(r"(?<![\w.:/+-])\d{1,4}(?![\w.:/+-])", re.ASCII)
"""No part of a date, a time, a version, an address or an identifier."""
_WORD = re.compile(r"(?<![\w.])[A-Za-z]{2,}(?![\w.(=])", re.ASCII)


def respelled(
    content: bytes, choice: tuple[str, int], rng: Random, kept: frozenset[str] = frozenset(), *, named: bool = False
) -> bytes:
    """Half of the whole numbers become others, of other lengths or equal ones; or half of the words change their case, and in the
    other turn the other half. A word does so wherever it stands: it may be a name. ``kept``: what means something. Of a file that
    an argument names the first line stays."""
    way, turn = choice
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    head, newline, text = text.partition("\n") if named and text.count("\n") > 1 else ("", "", text)
    pattern = _WHOLE_NUMBER if way == NUMBERS else _WORD
    others: list[str] = [*sorted(set(pattern.findall(text)) - kept), "2", "9", "10", "100"]
    coin = Random(0)
    known: dict[str, str] = {}

    def other(m: re.Match[str]) -> str:
        word = m.group()
        if way == CASES and word in known:
            return known[word]
        if word in kept or word.lower() in kept or YES_OR_NO.fullmatch(word) or coin.choice((0, 1)) != turn:
            known[word] = word
            return word
        cases = [c for c in (word.swapcase(), word.upper(), word.capitalize()) if c != word]
        known[word] = rng.choice(others if way == NUMBERS else cases)
        return known[word]

    return (head + newline + pattern.sub(other, text)).encode()


def turns(g: Grammar) -> list[Choice]:
    """Both halves, parted by a coin that falls alike in both: what one leaves alone the other changes."""
    return [(p, way, turn) for p in g.contents for way in (NUMBERS, CASES) for turn in (0, 1)]


def _edited(content: bytes, draft: Draft, path: str, way: str, turn: int) -> bytes:
    free = frozenset(draft.g.free_words)
    # What stands in every recording is the format's: its case may mean something.
    formats = frozenset(_WORD.findall(content.decode("utf-8", "replace"))) - free if way == CASES else frozenset()
    return respelled(content, (way, turn), draft.rng, meant(draft.g) | formats, named=draft.named(path))


VARIATIONS = (
    Variation(
        name="spelling", why="The numbers of a file have other lengths or are equal, or its words have other cases.",
        choices=turns, apply=of_content(_edited), stage=Stage.EDIT, drawn=2, alone=4,
        examples=(
            Example(("a", NUMBERS, 0), {"a": "k 7 2024-05-01\n" * 9}, {"a": "k … 2024-05-01\n" * 9}),
            Example(("a", CASES, 1), {"a": "one\n"}, {"a": "…\n"}),
        ),
    ),
)  # fmt: skip

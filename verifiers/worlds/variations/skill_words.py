"""Words of the skill's own text, where it may treat them specially."""

from __future__ import annotations

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.variation import Example, Stage, Step, Turns, Variation, pairs
from verifiers.worlds.variations.rename import texts

MOST_VOICED, MOST_SPOKEN = 10, 4


def say(draft: Draft, token: str, word: str) -> None:
    draft.renames[token] = word


def voiced(g: Grammar) -> list[tuple[Step, ...]]:
    """Each word once in each argument."""
    words, found = g.constants.words, texts(g)
    turns = range(len(words))[:MOST_VOICED] if found else ()
    return [tuple(Step("skill-word-in-value", (t, words[(n + k) % len(words)])) for k, t in enumerate(found)) for n in turns]


def spoken(g: Grammar) -> list[tuple[Step, ...]]:
    """As many words at once as there is room for."""
    room, words = len(g.free_words), g.constants.words
    starts = range(0, len(words), room)[:MOST_SPOKEN] if room else ()
    return [tuple(Step("skill-word-in-content", pair) for pair in zip(g.free_words, words[n:], strict=False)) for n in starts]


VARIATIONS = (
    Variation(
        name="skill-word-in-value", why="An argument says a word of the skill's own text.",
        choices=lambda g: pairs(texts(g), g.constants.words),
        apply=say, stage=Stage.RENAME, turns=Turns.FIRST, together=voiced, refusable=True,
        examples=(Example(("foo", "own"), {"foo.txt": ""}, {"own.txt": ""}, {"w": "foo"}, "ls foo", words=("own",)),),
    ),
    Variation(
        name="skill-word-in-content", why="A content says a word of the skill's own text.",
        choices=lambda g: pairs(g.free_words, g.constants.words),
        apply=say, stage=Stage.RENAME, drawn=2, together=spoken, respells=True,
        examples=(Example(("some", "own"), {"a": "some words\n"}, {"a": "own words\n"}, words=("own",)),),
    ),
)  # fmt: skip

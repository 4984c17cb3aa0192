"""Other words and numbers in arguments, names and contents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import DATE, YES_OR_NO, all_text, is_real, like, new_digits, substitute, tokens
from verifiers.worlds.variation import Choice, Example, Said, Stage, Step, Turns, Variation

MOST_TRIES = 40
"""Two of three days and one of five months are none."""


def texts(g: Grammar) -> list[str]:
    """Tokens of arguments that are no numbers, and no words for yes or no."""
    decided = {v for v in g.args.values() if isinstance(v, str) and YES_OR_NO.fullmatch(v)}
    return [token for token, _ in g.bound if not token.isdecimal() and token not in decided]


def numbers(g: Grammar) -> list[str]:
    return [token for token, _ in g.bound if token.isdecimal()]


def spellings(token: str) -> tuple[str, ...]:
    """A token of an argument in the cases in which a trace may say it; as it is comes last."""
    return (token.upper(), token.capitalize(), token.lower(), token)


def renamed(g: Grammar) -> tuple[Step, ...]:
    """All words of arguments become others."""
    return tuple(Step("rename", (t,)) for t in texts(g))


def _other_value(token: str, draft: Draft) -> dict[str, str]:
    return {t: like(t, draft.own[token]) for t in spellings(token)}


def _other_number(token: str, draft: Draft) -> dict[str, str]:
    """Other digits; a date that it is part of stays one. Where no try makes one, it stays as it is."""
    whole = "\n".join((*map(as_text, draft.g.args.values()), all_text(draft.g.base)))
    dates = {date for date in DATE.findall(whole) if token in tokens(date) and is_real(date)}
    for _ in range(MOST_TRIES):
        renames = {**draft.renames, token: new_digits(token, draft.rng)}
        if all(is_real(substitute(date, renames)) for date in dates):
            return {token: renames[token]}
    return {}


def _other_word(token: str, draft: Draft) -> dict[str, str]:
    return {token: like(token, draft.own[token])}


def _of(tokens: Callable[[Grammar], Iterable[str]]) -> Callable[[Grammar], list[Choice]]:
    return lambda g: [(t,) for t in tokens(g)]


def _by(other: Callable[[str, Draft], Mapping[str, str]]) -> Callable[[Draft, str], None]:
    return lambda draft, token: draft.renames.update(other(token, draft))


VARIATIONS = (
    Variation(
        name="rename", why="Another word in an argument, and wherever the trace has it.",
        choices=_of(texts), apply=_by(_other_value), stage=Stage.RENAME, drawn=6,
        examples=(Example(("Foo",), {"foo.txt": "a Foo\n"}, {"….txt": "a …\n"}, {"w": "Foo"}, "ls Foo"),),
    ),
    Variation(
        name="rename-number", why="Another number of the same length in an argument.",
        choices=_of(numbers), apply=_by(_other_number), stage=Stage.RENAME, drawn=6,
        examples=(Example(("12",), {"v12": "at 12\n"}, {"v…": "at …\n"}, {"n": "v12"}, "ls v12"),),
    ),
    Variation(
        name="rename-name", why="Another word in names that nothing mentions.",
        choices=_of(lambda g: g.free), apply=_by(_other_word), stage=Stage.RENAME, drawn=8,
        examples=(Example(("b",), {"a b": "1\n"}, {"a …": "1\n"}),),
    ),
    Variation(
        name="rename-content", why="Another word in contents that nothing mentions.",
        choices=_of(lambda g: g.free_words), apply=_by(_other_word), stage=Stage.RENAME, drawn=6,
        respells=True,
        examples=(Example(("some",), {"a": "some words\n"}, {"a": "… words\n"}),),
    ),
    Variation(
        name="rename-form", why="Another word where one says what a file or a line is.",
        choices=_of(lambda g: g.formal), apply=_by(_other_word), stage=Stage.RENAME, turns=Turns.SHARED, alone=6,
        recorded=lambda *_: Said.HARM, never="files and lines are called by the words that are known",
        examples=(Example(("vol",), {"vol1": "vol\n"}, {"…1": "…\n"}, words=("vol",)),),
    ),
)  # fmt: skip

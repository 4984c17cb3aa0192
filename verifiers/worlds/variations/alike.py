"""Words that nothing mentions become nearly what an argument says, or nearly each other: and stay apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from sandbox.interface import Snapshot
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text, tokens
from verifiers.worlds.variation import Choice, Example, Rule, Stage, Step, Variation
from verifiers.worlds.variations.near import NO_CASE, case_is_told, joint

BEHIND, BEFORE, ZERO, CASE = "behind", "before", "zero", "case"
PART, LAST = "part", "last part"
MOST_WORDS = 12
_VALUE = re.compile(r"[\w.-]{2,30}")


def models(g: Grammar) -> list[str]:
    """Values of arguments, and two of the words that come most often: what stands in several places may be a key."""
    values = [as_text(v) for _, v in sorted(g.args.items()) if isinstance(v, str) and _VALUE.fullmatch(v)]
    text = Counter(t for e in g.base.values() for t in tokens(e.content.decode("utf-8", "replace")))
    keys = sorted(words(g), key=lambda w: -text[w])[:2]
    return list(dict.fromkeys([*values, *keys]))


def words(g: Grammar) -> list[str]:
    return [*g.free_words, *g.free][:MOST_WORDS]


def ways(model: str) -> tuple[str, ...]:
    """How another word can be nearly this one: only what begins with a digit may be a number with a zero before it."""
    return (BEHIND, BEFORE, ZERO) if model[0].isdigit() else (BEHIND, BEFORE)


def choices(g: Grammar) -> list[Choice]:
    return [(w, model, way) for model in models(g) for w in words(g) for way in (*ways(model), PART, LAST, CASE) if w != model]


def alike(draft: Draft, word: str, model: str, way: str) -> None:
    """The word becomes one that is not the model, and nearly is."""
    if way == CASE and model.swapcase() != model:
        made = model.swapcase()
    else:
        letter = "7" if (model[0] if way == BEFORE else model[-1]).isdigit() else "x"
        mark = joint("\n".join(t for e in draft.g.base.values() if model in (t := decoded(e.content))))
        made = {
            BEFORE: f"{letter}{model}", ZERO: f"0{model}", PART: f"{model}{mark}{letter}", LAST: f"{letter}{mark}{model}"
        }.get(way, f"{model}{letter}")  # fmt: skip
    while made in draft.renames.values():
        made = f"{made[0]}{made}" if way in (BEFORE, LAST) else f"{made}{made[-1]}"
    draft.renames[word] = made


def all_words(g: Grammar) -> list[tuple[Step, ...]]:
    """All words at once, each way in its turn; then as parts of longer words, and one in the other case."""
    text = all_text(Snapshot({p: e for p, e in g.base.items() if e.type == "file"}))
    values = {as_text(v) for v in g.args.values() if as_text(v) in text}
    plans = [(w, turn) for w in models(g) for turn in range(len(ways(w)) if w in values or w in words(g) else 1)]
    found = [_each([w for w in words(g) if w != model], model, ways(model), turn) for model, turn in plans]
    found += [_each([w for w in words(g) if w != model], model, (PART, LAST), 0) for model in models(g) if model in values]
    cased = [(Step("alike", (w, model, CASE)),) for model in models(g) for w in words(g)[:1] if w != model and model in values]
    return [steps for steps in (*found, *cased) if steps]


def _each(others: Sequence[str], model: str, each: Sequence[str], turn: int) -> tuple[Step, ...]:
    return tuple(Step("alike", (w, model, each[(n + turn) % len(each)])) for n, w in enumerate(others))


VARIATIONS = (
    Variation(
        name="alike", why="Words become nearly what an argument says, or nearly each other.",
        choices=choices, apply=alike, rule=Rule.TEXT, stage=Stage.RENAME, together=all_words,
        recorded=case_is_told, never=NO_CASE,
        examples=(
            Example(("other", "draft", BEHIND), {"a": "draft other\n"}, {"a": "draft draftx\n"}, {"v": "draft"}, "ls draft"),
            Example(("other", "draft", LAST), {"a": "draft other\n"}, {"a": "draft x-draft\n"}, {"v": "draft"}, "ls draft"),
            Example(("other", "draft", CASE), {"a": "draft other\n"}, {"a": "draft DRAFT\n"}, {"v": "draft"}, "ls draft"),
        ),
    ),
)  # fmt: skip

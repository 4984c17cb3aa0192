"""What an argument says stands in another place too, where it means nothing to the task."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import tokens
from verifiers.worlds.variation import Choice, Example, Rule, Stage, Variation

_VALUE = re.compile(r"[\w. -]{2,30}")
_WHOLE = re.compile(r"(?m)(?:^|[\"'>=:,;|\t])[ \t]*([^\W_]+)[ \t]*(?=[\"'<,;|\t]|$)")


def values(g: Grammar) -> list[str]:
    """Those of arguments that contents say and that name no path."""
    said = [as_text(v) for _, v in sorted(g.args.items()) if isinstance(v, str | int) and not isinstance(v, bool)]
    texts = [decoded(e.content) for e in g.base.values()]
    return [v for v in dict.fromkeys(said) if _VALUE.fullmatch(v) and v not in g.base and any(v in text for text in texts)]


def places(g: Grammar) -> list[Choice]:
    """Each value in turn for each word that nothing mentions, first for those that are all of a text, a cell or a line. No place
    is what several recordings have, what stands in a first line (both may be headings), or beside a value, or where the task
    changes something, or begins a line of a file that it changes: that may be a key."""
    lines = list(_lines(g))
    taken = g.common.union(_keys(g), *(tokens(line) for line, free in lines if not free))
    whole = {w for line, free in lines if free for w in _WHOLE.findall(line)}
    words = sorted((w for w in g.free_words if w not in taken), key=lambda w: w not in whole)
    return [(word, value) for word in words for value in values(g)]


def _lines(g: Grammar) -> Iterator[tuple[str, bool]]:
    """The lines of all files, each with whether the task has nothing to do with it."""
    said = values(g)
    for path, e in g.base.items():
        after = g.expectation.tree.get(path)
        rows = decoded(e.content).split("\n")
        kept = set(rows if after is None else decoded(after.content).split("\n"))
        for n, row in enumerate(rows):
            yield row, bool(n) and row in kept and not any(v in row for v in said)


def _keys(g: Grammar) -> set[str]:
    changed = [decoded(e.content) for p, e in g.base.items() if e.type == "file" and g.expectation.tree.get(p) != e]
    return {word for text in changed for row in text.split("\n") for word in tokens(row)[:1]}


def elsewhere(draft: Draft, word: str, value: str) -> None:
    draft.renames[word] = draft.renamed(value)


VARIATIONS = (
    Variation(
        name="said-elsewhere", why="What an argument says stands in another place too, where it means nothing.",
        choices=places, apply=elsewhere, rule=Rule.TEXT, stage=Stage.RENAME, alone=6, asks=False,
        examples=(
            Example(("some", "k1"), {"a": "tag k1\ntitle some\n"}, {"a": "tag k1\ntitle k1\n"}, {"t": "k1"}, "ls k1"),
        ),
    ),
)  # fmt: skip

"""A list of objects has one more that is like one of them but for one value, which another object has: who looks at too few of
the values, or takes one of two for both, is seen there."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence

from verifiers.interface import Args
from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.records import decoded
from verifiers.worlds.template import as_text
from verifiers.worlds.variation import Choice, Example, Stage, Variation
from verifiers.worlds.variations.json_values import Json, documents, written

LEAST_ROWS, LEAST_KEYED = 2, 3
"""Objects of a list that is looked at, and of one in which a value that each has for itself names it."""
MOST_TWINS = 8
_NUMBER = re.compile(r"[\d.,:/+-]+")


def lists(value: Json) -> Iterator[list[Json]]:
    """Lists of objects with the same keys, the outermost first."""
    if isinstance(value, list) and len(value) >= LEAST_ROWS:
        keys = {frozenset(v) if isinstance(v, dict) else None for v in value}
        yield from [value] if len(keys) == 1 and None not in keys else []
    for v in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from lists(v)


def twins(rows: Sequence[dict[str, Json]], said: Collection[str], word: str) -> list[dict[str, Json]]:
    """Objects like the one that says most of ``said``, each with one value of another object. What names an object is new."""
    model = max(rows, key=lambda row: sum(as_text(v) in said for v in row.values()))
    columns = {k: [row[k] for row in rows] for k in model}
    names = {k for k, column in columns.items() if len(rows) >= LEAST_KEYED and len({*map(repr, column)}) == len(rows)}
    named = model | {k: _other(columns[k], model[k], word) for k in names}
    others = {k: [v for v in columns[k] if v != model[k] and not isinstance(v, dict | list)] for k in model if k not in names}
    return [named | {k: values[0]} for k, values in others.items() if values]


def _other(column: Sequence[Json], value: Json, word: str) -> Json:
    """A name that none of the column is; what is measured names nothing."""
    if isinstance(value, str):
        return value if _NUMBER.fullmatch(value) else word
    numbers = [v for v in column if isinstance(v, int) and not isinstance(v, bool)]
    return max(numbers) + 1 if len(numbers) == len(column) else value


def found(value: Json, args: Args, word: str) -> list[tuple[list[Json], dict[str, Json]]]:
    """Lists of a document with an object more for each, those first that say an argument."""
    said = {as_text(v) for v in args.values()}
    pairs = [(rows, twin) for rows in lists(value) for twin in twins([r for r in rows if isinstance(r, dict)], said, word)]
    return sorted(pairs, key=lambda pair: said.isdisjoint(map(as_text, pair[1].values())))[:MOST_TWINS]


def choices(g: Grammar) -> list[Choice]:
    texts = {path: decoded(g.base[path].content) for path in documents(g)}
    return [(path, n) for path, text in texts.items() for n in range(len(found(json.loads(text), g.args, "")))]


def add(draft: Draft, path: str, nth: int) -> None:
    text = decoded(draft.content(path))
    value: Json = json.loads(text)
    for rows, twin in found(value, draft.args, draft.word())[nth : nth + 1]:
        rows.append(twin)
        draft.edit(path, written(value, like=text))


ROWS = '[{"id": 1, "to": "a", "of": "x"}, {"id": 2, "to": "b", "of": "y"}, {"id": 3, "to": "a", "of": "y"}]'
MORE = ROWS[:-1] + ', {"id": 4, "to": "%s", "of": "%s"}]'
VARIATIONS = (
    Variation(
        name="record-twins", why="A list in a JSON file has an object like one of them, with one value of another.",
        choices=choices, apply=add, stage=Stage.EDIT, alone=MOST_TWINS,
        examples=(
            Example(("a.json", 0), {"a.json": ROWS}, {"a.json": MORE % ("b", "x")}, {"v": "x"}, "jq . a.json"),
            Example(("a.json", 1), {"a.json": ROWS}, {"a.json": MORE % ("a", "y")}, {"v": "x"}, "jq . a.json"),
        ),
    ),
)  # fmt: skip

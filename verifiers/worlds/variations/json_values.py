"""Other values in JSON files: empty ones, none at all, deeper objects, many keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.invariants.json_shape import read
from verifiers.worlds.names import beyond
from verifiers.worlds.variation import Choice, Example, Stage, Variation

Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
EMPTY, NULL, DEEPER, WIDER = WAYS = ("empty", "null", "deeper", "wider")
MOST_KEYS = 300


def documents(g: Grammar) -> list[str]:
    return [p for p, e in g.base.items() if e.type == "file" and read(e.content.decode("utf-8", "replace")) is not ...]


def vary(draft: Draft, way: str) -> None:
    """Every JSON file alike, for a task may read several: new keys are the same in all, what they hold is not."""
    first, second = draft.word(), draft.word()
    many = beyond(draft.g.constants.numbers, 9, MOST_KEYS)
    for nth, path in enumerate(documents(draft.g)):
        text = draft.content(path).decode("utf-8", "replace")
        value: Json = json.loads(text)
        own: Json = {f"{first}{nth}": nth}
        if way == EMPTY:
            value = _each_leaf(value, nth, _emptied)
        elif way == NULL:
            value = _each_leaf(value, nth, lambda _: None)
        elif isinstance(value, dict):
            value |= {first: {second: {first: own}}} if way == DEEPER else {f"{first}{n}": n + nth for n in range(many)}
        draft.edit(path, _written(value, like=text).encode())


def _emptied(value: Json) -> Json:
    """Nothing of the same type."""
    return value if value is None else type(value)()


def _each_leaf(value: Json, turn: int, change: Callable[[Json], Json]) -> Json:
    """The value with every second leaf changed."""
    count = turn

    def changed(v: Json) -> Json:
        nonlocal count
        if isinstance(v, dict) and v:
            return {k: changed(x) for k, x in v.items()}
        if isinstance(v, list) and any(isinstance(x, dict | list) for x in v):
            return [changed(x) for x in v]
        count += 1
        return change(v) if count % 2 else v

    return changed(value)


def _written(value: Json, like: str) -> str:
    """As the file was: on one line or with its indentation."""
    _, *more = like.strip().split("\n")
    indent = len(more[0]) - len(more[0].lstrip()) if more else None
    return json.dumps(value, ensure_ascii=False, indent=indent) + "\n" * like.endswith("\n")


def ways(g: Grammar) -> list[Choice]:
    return [(way,) for way in WAYS if documents(g)]


VARIATIONS = (
    Variation(
        name="json-values", why="Values of JSON files are empty or null, lie deeper, or are many.",
        choices=ways, apply=vary, stage=Stage.EDIT, alone=len(WAYS), refusable=True,
        examples=(
            Example((EMPTY,), {"a.json": '{"a": "x", "b": 1}\n'}, {"a.json": '{"a": "", "b": 1}\n'}),
            Example((NULL,), {"a.json": '[{"a": 1, "b": 2}]'}, {"a.json": '[{"a": null, "b": 2}]'}),
            Example((DEEPER,), {"a.json": '{"a": 1}'}, {"a.json": '{"a": 1, "…": {"…": {"…": {"…0": 0}}}}'}),
        ),
    ),
)  # fmt: skip

"""Other values in JSON files: empty ones, none at all, deeper objects, many keys."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from verifiers.worlds.draft import Draft
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.invariants.json_shape import document
from verifiers.worlds.names import beyond
from verifiers.worlds.variation import Choice, Example, Said, Stage, Variation

Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
EMPTY, NULL, DEEPER, WIDER, LISTED = ("empty", "null", "deeper", "wider", "listed")
MOST_KEYS, MOST_FILES = 300, 3


def documents(g: Grammar) -> list[str]:
    return [p for p, e in g.base.items() if e.type == "file" and document(e.content.decode("utf-8", "replace")) is not ...]


def vary(draft: Draft, way: str, path: str) -> None:
    """One file, or every JSON file alike, for a task may read several: new keys are the same in all, what they hold is not."""
    first, second = draft.word(), draft.word()
    many = beyond(draft.g.constants.numbers, 9, MOST_KEYS)
    for nth, each in enumerate([path] if path else documents(draft.g)):
        text = draft.content(each).decode("utf-8", "replace")
        value: Json = json.loads(text)
        own: Json = {f"{first}{nth}": nth}
        if way in (EMPTY, NULL):
            value = _each_leaf(value, _emptied if way == EMPTY else lambda _: None)
        elif isinstance(value, dict):
            wider: dict[str, Json] = {f"{first}{n}": n + nth for n in range(many)}
            more: dict[str, dict[str, Json]] = {
                DEEPER: {first: {second: {first: own}}},
                LISTED: {first: [own, second]},
                WIDER: wider,
            }
            value |= more[way]
        draft.edit(each, written(value, like=text))


def _emptied(value: Json) -> Json:
    """Nothing of the same type. Programs write ``0.0`` in two ways."""
    return 0 if isinstance(value, float) else value if value is None else type(value)()


def _each_leaf(value: Json, change: Callable[[Json], Json]) -> Json:
    """The value with every leaf changed."""
    if isinstance(value, dict) and value:
        return {k: _each_leaf(v, change) for k, v in value.items()}
    if isinstance(value, list) and any(isinstance(v, dict | list) for v in value):
        return [_each_leaf(v, change) for v in value]
    return change(value)


def written(value: Json, like: str) -> bytes:
    """As the file was: on one line or with its indentation, and with other signs than ASCII's or without. Half of a pair of
    surrogates is written as it is told."""
    _, *more = like.strip().split("\n")
    indent = len(more[0]) - len(more[0].lstrip()) if more else None
    text = json.dumps(value, ensure_ascii=like.isascii(), indent=indent) + "\n" * like.endswith("\n")
    return text.encode("utf-8", "surrogatepass")


def same_keys_within(draft: Draft) -> None:
    """Each object has another one in its first place, with the same keys and other values: a text in which a key is looked for
    says that one first."""
    word = draft.word()
    for path in documents(draft.g):
        text = draft.content(path).decode("utf-8", "replace")
        value: Json = json.loads(text)
        some: list[Json] = value if isinstance(value, list) else [value]
        made: list[Json] = [{word: _each_leaf(v, lambda x: _other(x, word)), **v} if isinstance(v, dict) else v for v in some]
        draft.edit(path, written(made if isinstance(value, list) else made[0], like=text))


def _other(value: Json, word: str) -> Json:
    if isinstance(value, bool) or value is None:
        return not value
    return f"{value}{word}" if isinstance(value, str) else value if isinstance(value, dict | list) else value + 1


def keys_are_known_within(_: Choice, gs: Sequence[Grammar]) -> Said:
    """Whether a recorded object has a key of its own further down too."""
    texts = (g.base[p].content.decode("utf-8", "replace") for g in gs for p in documents(g))
    return Said.ALL if any(_comes_again(json.loads(text)) for text in texts) else Said.HARM


def _comes_again(value: Json) -> bool:
    if isinstance(value, list):
        return any(map(_comes_again, value))
    return isinstance(value, dict) and any(set(value) & _keys(v) for v in value.values())


def _keys(value: Json) -> set[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = set(value) if isinstance(value, dict) else set[str]()
    return own.union(*map(_keys, inner))


def ways(g: Grammar) -> list[Choice]:
    found = documents(g)
    one = [(way, p) for p in found[:MOST_FILES] for way in (EMPTY, NULL)]
    return [*one, *((way, "") for way in (DEEPER, WIDER) if found)]


def known(choice: Choice, gs: Sequence[Grammar]) -> Said:
    """What null means where no recording has it, nobody has said."""
    texts = (g.base[p].content for g in gs for p in documents(g))
    return Said.ALL if choice[0] != NULL or any(re.search(rb"[:\[,]\s*null\b", t) for t in texts) else Said.HARM


def lists_are_known(_: Choice, gs: Sequence[Grammar]) -> Said:
    """Whether a recorded file has a list as a value."""
    return Said.ALL if any(re.search(rb":\s*\[", g.base[p].content) for g in gs for p in documents(g)) else Said.HARM


VARIATIONS = (
    Variation(
        name="json-lists", why="JSON files have a list more.", choices=lambda g: [(LISTED, "")] if documents(g) else [],
        apply=vary, stage=Stage.EDIT, alone=1,
        recorded=lists_are_known, never="no value in the JSON files is a list", asks=False,
        examples=(Example((LISTED, ""), {"a.json": '{"a": 1}'}, {"a.json": '{"a": 1, "…": [{"…0": 0}, "…"]}'}),),
    ),
    Variation(
        name="json-keys-within", why="Objects in JSON files have their own keys further down too.",
        choices=lambda g: [()] if any(b"{" in g.base[p].content for p in documents(g)) else [],
        apply=same_keys_within, stage=Stage.EDIT, alone=1,
        recorded=keys_are_known_within, never="no key of an object in a JSON file stands further down in it too",
        examples=(
            Example((), {"a.json": '{"a": "x", "b": [1]}'}, {"a.json": '{"…": {"a": "x…", "b": [1]}, "a": "x", "b": [1]}'}),
            Example((), {"a.json": '[{"a": 1}, 2]'}, {"a.json": '[{"…": {"a": 2}, "a": 1}, 2]'}),
        ),
    ),
    Variation(
        name="json-values", why="Values of JSON files are empty or null, lie deeper, or are many.",
        choices=ways, apply=vary, stage=Stage.EDIT, alone=2 * MOST_FILES + 2,
        recorded=known, never="no value in the JSON files is null",
        examples=(
            Example((EMPTY, "a.json"), {"a.json": '{"a": "x", "b": 1}\n'}, {"a.json": '{"a": "", "b": 0}\n'}),
            Example((NULL, "a.json"), {"a.json": '[{"a": 1, "b": []}]'}, {"a.json": '[{"a": null, "b": null}]'}),
            Example((DEEPER, ""), {"a.json": '{"a": 1}'}, {"a.json": '{"a": 1, "…": {"…": {"…": {"…0": 0}}}}'}),
        ),
    ),
)  # fmt: skip

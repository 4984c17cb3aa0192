"""The file is JSON, or a line of JSON each, of one shape at the top and in the items of its lists."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson

DEPTH = 4


def shape(value: object, depth: int = DEPTH) -> str:
    """What a value is made of: names of keys with their types, and the shapes of a list's items."""
    if isinstance(value, dict) and depth:
        return "{" + ",".join(f"{k}:{shape(v, depth - 1)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, list) and depth:
        return "[" + "|".join(sorted({shape(v, depth - 1) for v in value})) + "]"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


def read(text: str) -> object:
    """The value of a JSON text, of JSON lines the list of theirs; ... where it is neither, or an object says a key twice."""
    value = document(text)
    rows = [row for row in text.split("\n") if row.strip()]
    if value is not ... or len(rows) < 2:
        return value
    values = [document(row) for row in rows]
    return ... if any(v is ... for v in values) else values


def document(text: str) -> object:
    """The value of a JSON text that is one document; ... where it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return ...
    try:
        value: object = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return ...
    return value


class JsonShape:
    name = "json"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        found = [read(t) for t in seen]
        if not found or any(v is ... for v in found):
            return None
        shapes = {shape(v) for v in found}
        one = shapes.pop() if len(shapes) == 1 and len(found) > 1 else ""
        shared = frozenset.intersection(*map(keys, found)) if len(found) > 1 else frozenset[str]()
        return Lesson((one, *sorted(shared)), len(found))

    def holds(self, value: Learned, text: str) -> bool:
        one, *shared = _parts(value)
        found = read(text)
        return found is not ... and (not one or shape(found) == one) and keys(found) >= set(shared)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        one, *shared = _parts(value)
        having = f" with the keys {', '.join(shared)}" if shared else ""
        return f"is JSON of one shape{having}" if one else f"is valid JSON{having}"


def keys(value: object) -> frozenset[str]:
    """The keys of an object at the top."""
    return frozenset(map(str, value)) if isinstance(value, dict) else frozenset()


def _parts(value: Learned) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else ("",)


KIND = JsonShape()

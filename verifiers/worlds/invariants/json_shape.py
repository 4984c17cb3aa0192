"""The file is JSON, of one shape at the top and in the items of its lists."""

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


def read(text: str) -> object:
    """The value of a JSON text; ... where it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return ...
    try:
        value: object = json.loads(text)
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
        return Lesson(shapes.pop() if len(shapes) == 1 and len(found) > 1 else "", len(found))

    def holds(self, value: Learned, text: str) -> bool:
        found = read(text)
        return found is not ... and (not value or shape(found) == value)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        return "is JSON of one shape" if value else "is valid JSON"


KIND = JsonShape()

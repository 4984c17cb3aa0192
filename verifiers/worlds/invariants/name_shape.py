"""The names in a directory are all of one build: ``v1.2.3``, ``2026-01-02.log``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson

LEAST = 4


def build(name: str) -> str:
    """A name with its runs of letters and of digits as one of each."""
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", name))


class NameShape:
    name = "names-of-one-build"
    scopes = frozenset({"name"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        found = {build(name) for name in seen}
        return Lesson(found.pop(), len(seen)) if len(found) == 1 and len(seen) >= LEAST else None

    def holds(self, value: Learned, text: str) -> bool:
        return build(text) == value

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        return f"is built like {value!r} (a: letters, 9: digits)"


KIND = NameShape()

"""There is something in the file."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson


class Filled:
    name = "filled-files"
    scopes = frozenset({"file"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        return Lesson(True, len(seen)) if len(seen) > 1 and all(t.strip() for t in seen) else None

    def holds(self, value: Learned, text: str) -> bool:
        return bool(text.strip())

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        return "is not empty"


KIND = Filled()

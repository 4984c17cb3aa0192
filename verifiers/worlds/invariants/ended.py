"""The last line has its end."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson


class Ended:
    name = "ended-lines"
    scopes = frozenset({"content"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        texts = [t for t in seen if t]
        return Lesson(True, len(texts)) if len(texts) > 1 and all(t.endswith("\n") for t in texts) else None

    def holds(self, value: Learned, text: str) -> bool:
        return not text or text.endswith("\n")

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text if self.holds(value, text) else f"{text}\n"

    def says(self, value: Learned) -> str:
        return "ends with a newline"


KIND = Ended()

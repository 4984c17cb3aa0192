"""Files are text in UTF-8."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, is_text


class Text:
    name = "text-in-utf-8"
    scopes = frozenset({"file"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        return Lesson(True, len(seen)) if len(seen) > 1 and all(map(is_text, seen)) else None

    def holds(self, value: Learned, text: str) -> bool:
        return is_text(text)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        return "is text in UTF-8"


KIND = Text()

"""No archive has two members of one name."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson
from verifiers.worlds.packed import members


class MemberNames:
    name = "members-once"
    scopes = frozenset({"file"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        found = [names for t in seen if (names := _names(t))]
        once = found and all(len(set(names)) == len(names) for names in found)
        return Lesson(True, sum(map(len, found))) if once else None

    def holds(self, value: Learned, text: str) -> bool:
        names = _names(text)
        return len(set(names)) == len(names)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """Only texts are made to keep what holds, and an archive is none."""
        return text

    def says(self, value: Learned) -> str:
        return "has no member twice"


def _names(text: str) -> list[str]:
    return [m.name for m in members(text.encode("utf-8", "surrogateescape"))]


KIND = MemberNames()

"""What a document of a known format is to its parser: it can be read, and has the keys at the top that several recorded ones all
have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson, Scope


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of invariant that a parser decides."""

    name: str
    called: str
    """The format, as people say it."""
    keys: Callable[[str], frozenset[str] | None]
    """The keys at the top of a text; None where it is no such document, or one by accident."""
    scopes: frozenset[Scope] = field(default=frozenset({"content"}))

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        found = [self.keys(text) for text in seen]
        known = [keys for keys in found if keys is not None]
        if not known or len(known) < len(found):
            return None
        shared = frozenset.intersection(*known) if len(known) > 1 else frozenset[str]()
        return Lesson(tuple(sorted(shared)), len(known))

    def holds(self, value: Learned, text: str) -> bool:
        found = self.keys(text)
        return found is not None and isinstance(value, tuple) and found >= set(value)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        keys = ", ".join(map(str, value)) if isinstance(value, tuple) else ""
        return f"is {self.called} with the keys {keys}" if keys else f"is valid {self.called}"

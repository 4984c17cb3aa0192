"""Names and arguments are made of certain characters, at the beginning and elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from verifiers.worlds.invariants.kind import Learned, Lesson

PLAIN = frozenset({"first letter", "letter"})
"""Every name may have letters."""


def made_of(text: str) -> frozenset[str]:
    """The kinds of characters of a text; of what is no letter and no digit, the characters themselves."""
    return frozenset({_kind(c) for c in text[1:]} | {f"first {_kind(c)}" for c in text[:1]})


def _kind(c: str) -> str:
    if c.isalpha():
        return "letter" if c.isascii() else "letter beyond ASCII"
    return "digit" if c.isdecimal() and c.isascii() else "blank" if c in " \t" else "newline" if c == "\n" else c


class Characters:
    name = "plain-characters"
    scopes = frozenset({"name", "value"})

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        found = [made_of(text) for text in seen if text]
        return Lesson(frozenset().union(*found), len(found)) if len(found) > 1 else None

    def holds(self, value: Learned, text: str) -> bool:
        return not unheard(value, text)

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        return text

    def says(self, value: Learned) -> str:
        seen = value if isinstance(value, frozenset) else frozenset()
        inner = sorted(k for k in seen if not k.startswith("first "))
        return f"is made of {', '.join(inner[:-1])}{' and ' if inner[:-1] else ''}{inner[-1] if inner else 'one character'}"


def unheard(value: Learned, text: str) -> frozenset[str]:
    """The kinds of characters that were never seen: a digit or a capital inside a name is no news."""
    seen = value if isinstance(value, frozenset) else frozenset()
    usual = {"digit"} if "first digit" in seen or "digit" in seen else set()
    return made_of(text) - seen - PLAIN - usual


KIND = Characters()

"""What a kind of invariant is, and the small readings of text that several share. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal, Protocol

Scope = Literal["file", "content", "name", "value"]
"""What is looked at: any file, the text of one that is text, one component of a path, or an argument. Bytes that are no UTF-8
come as surrogates."""

_NO_UTF8 = re.compile("[\ud800-\udfff]")

Learned = str | int | float | bool | tuple["Learned", ...] | frozenset[str]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What all observations have in common."""

    value: Learned
    count: int
    """Observations behind it: lines, names or values."""


class Kind(Protocol):
    """A kind of invariant: how it is recognised, how a start keeps it, and in which words a person is asked about it."""

    @property
    def name(self) -> str:
        """Lower-case words with dashes: the name in reports and decisions."""
        ...

    @property
    def scopes(self) -> frozenset[Scope]: ...

    def learn(self, seen: Sequence[str]) -> Lesson | None:
        """What holds in all of ``seen``; None where nothing does, or too little was seen to say so."""
        ...

    def holds(self, value: Learned, text: str) -> bool: ...

    def keep(self, value: Learned, text: str, rng: Random) -> str:
        """A text like this one that has it, as far as one can be made without losing what was varied."""
        ...

    def says(self, value: Learned) -> str:
        """What holds, as the rest of a sentence: ``has 3 columns in each line``."""
        ...


@lru_cache(maxsize=512)
def lines(text: str) -> tuple[str, ...]:
    """The lines of a text without their ends. Only a newline ends a line."""
    found = text.split("\n")
    return tuple(found[:-1] if found[-1] == "" else found)


def joined(found: Sequence[str], like: str) -> str:
    """A text of these lines that ends as ``like`` does."""
    text = "\n".join(found)
    return f"{text}\n" if found and like.endswith("\n") else text


def is_text(text: str) -> bool:
    """Whether a text is UTF-8 without NUL."""
    return "\0" not in text and not _NO_UTF8.search(text)


_CONTROL = re.compile(r"[\0-\x08\x0b\x0e-\x1f]")
MOST_UNKNOWN = 5
"""One in so many characters may be a byte of an older encoding."""


def has_lines(text: str) -> bool:
    """Whether it is text, of an older encoding perhaps."""
    return is_text(text) or (not _CONTROL.search(text) and MOST_UNKNOWN * len(_NO_UTF8.findall(text)) < len(text))

"""Patterns learned from several texts: what all have in common stands there, the rest is open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from synth.embedded.states.hunks import words
from synth.embedded.states.values import Column, Env, Expr, affixes

_SPECIAL = re.compile(r"([\\.^$*+?{}\[\]|()])")
_CLASSES = (r"[\w.+-]+", r"[\w./+-]+", r"\S+", r".+", r"(?:.|\n)+")
"""What may stand in an open place, the narrowest first."""

_NUMBERS = r"\d+(?:\.\d+)*"


@dataclass(frozen=True, slots=True)
class Hole:
    """An open place of a text: a value for each place where the text stands."""

    values: tuple[str, ...]
    fixed: str = ""
    """The pattern for them, where it is known already."""

    @property
    def narrow(self) -> str:
        """A pattern for just what the values are: plain numbers, else as ``form``."""
        return _NUMBERS if all(re.fullmatch(_NUMBERS, v) for v in self.values) else self.form

    @property
    def form(self) -> str:
        """A pattern for values like these."""
        return self.fixed or next(c for c in _CLASSES if c == _CLASSES[-1] or all(re.fullmatch(c, v) for v in self.values))


Piece = str | Hole


def common(texts: Sequence[str], grain: str, whole: bool = False) -> list[Piece] | None:
    """The texts as constants and holes; None where they do not have the same words and marks in the same order.

    Args:
        texts: One for each place.
        grain: What counts as one word.
        whole: Words are open as a whole, not only where they differ.
    """
    rows = [words(t, grain) for t in texts]
    if len({len(r) for r in rows}) != 1:
        return None
    out: list[Piece] = []
    for column in zip(*rows, strict=True):
        if len(set(column)) == 1:
            out.append(column[0])
        elif len({_kind(w) for w in column}) != 1:
            return None
        else:
            head, tail = ("", "") if whole else max(affixes(column), key=lambda p: len(p[0]) + len(p[1]))
            out += [head, Hole(tuple(w[len(head) : len(w) - len(tail)] for w in column)), tail]
    return _merged(out)


def _kind(word: str) -> str:
    """Marks may not stand for words, nor one rule for another."""
    return "word" if re.search(r"\w", word) else word[:1]


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
    out: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += piece
        elif piece != "":
            out.append(piece)
    return out


def literal(text: str) -> str:
    """A pattern for just this text."""
    return _SPECIAL.sub(r"\\\1", text).replace("\n", r"\n").replace("\t", r"\t").replace("\r", r"\r")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, some parts of which are values."""

    parts: tuple[str | Expr, ...]

    def at(self, env: Env, place: int) -> str:
        return "".join(p if isinstance(p, str) else re.escape(p.at(env, place, None)) for p in self.parts)

    @property
    def code(self) -> str:
        out: list[str] = []
        for part in self.parts:
            if isinstance(part, str) and out and not out[-1].startswith("re.escape("):
                out[-1] += part
            else:
                out.append(part if isinstance(part, str) else f"re.escape({part.code})")
        return " + ".join(p if p.startswith("re.escape(") else raw(p) for p in out if p) or '""'

    @property
    def uses(self) -> frozenset[str]:
        return frozenset[str]().union(*(p.uses for p in self.parts if isinstance(p, Expr)))

    @property
    def cost(self) -> int:
        return sum(p.cost + 2 for p in self.parts if isinstance(p, Expr))


def raw(pattern: str) -> str:
    """A Python literal for a pattern."""
    if not pattern.isprintable() or ('"' in pattern and "'" in pattern) or pattern.endswith("\\"):
        return repr(pattern)
    mark = "'" if '"' in pattern else '"'
    return ("r" if "\\" in pattern else "") + mark + pattern + mark


def column_of(values: Sequence[str], examples: Sequence[int], count: int) -> Column:
    """Values of places as values of examples."""
    return tuple(tuple(v for v, e in zip(values, examples, strict=True) if e == n) for n in range(count))

"""A program with holes: what several recorded programs have in common, and the values in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth.embedded.tree import Lit, Part, Seq

Program = tuple[Seq, ...]
"""One sequence a working step."""

Value = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hole occurs: command, role and option before it."""

    command: str
    role: str
    option: str


@dataclass(frozen=True, slots=True)
class Template:
    program: Program
    values: tuple[tuple[Value, ...], ...]
    """Per hole, one value a program."""
    places: tuple[Place, ...]
    """Per hole, where it first occurs."""


def tidy(parts: Sequence[Part]) -> list[Part]:
    """Neighbouring constants joined, empty ones dropped."""
    out: list[Part] = []
    for part in parts:
        last = out[-1] if out else None
        if isinstance(part, Lit) and isinstance(last, Lit):
            out[-1] = Lit(last.text + part.text)
        elif part != Lit(""):
            out.append(part)
    return out

"""A program with holes: what several recorded programs have in common, and the values in which they differ."""

from __future__ import annotations

from dataclasses import dataclass

from verifiers.shell.tree import Seq

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

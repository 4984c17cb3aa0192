"""Which traces judge a skill without having made it. Pure, and the same for the same traces and seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from verifiers.interface import Evidence

LEAST_FOR_HOLD_OUT = 4
"""Distinct cases below which leave-one-out replaces hold-out (docs/semantics.md, "Hold-out")."""
LEAST_SEEN = 3
"""Distinct cases that a generator keeps at least."""


@dataclass(frozen=True, slots=True)
class Split:
    seen: tuple[Evidence, ...]
    held_out: tuple[Evidence, ...]


def case_key(evidence: Evidence) -> str:
    """What makes two traces the same case before arguments are known: commands and base."""
    base = evidence.base.digest if evidence.base is not None else ""
    return hashlib.sha256("\0".join([base, *evidence.commands]).encode("utf-8", "surrogateescape")).hexdigest()


def distinct(evidence: Sequence[Evidence]) -> int:
    """The number of different cases: copies count once."""
    return len({case_key(e) for e in evidence})


def in_order(evidence: Sequence[Evidence], seed: int = 0) -> list[tuple[Evidence, ...]]:
    """The cases, each with its copies, in an order that only the seed and their content decide."""
    keys = sorted({case_key(e) for e in evidence}, key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).digest())
    return [tuple(e for e in evidence if case_key(e) == key) for key in keys]


def enough_left(evidence: Sequence[Evidence], rest: Sequence[Evidence]) -> bool:
    """Whether there are enough cases to hold any out, and enough left to learn from."""
    return distinct(evidence) >= LEAST_FOR_HOLD_OUT and distinct(rest) >= LEAST_SEEN


def split(evidence: Sequence[Evidence], hold_out: int, seed: int = 0, first: frozenset[str] = frozenset()) -> Split:
    """Holds out up to ``hold_out`` cases, with all copies of each; none where fewer than four distinct cases are there.

    Args:
        evidence: All traces of the pattern.
        hold_out: How many cases to keep from the generator.
        seed: Chooses which.
        first: task_ids whose cases are held out before others.
    """
    held: tuple[Evidence, ...] = ()
    parts = sorted(in_order(evidence, seed), key=lambda part: not all(e.task_id in first for e in part))
    for part in parts[: max(0, hold_out)]:
        if not enough_left(evidence, [e for e in evidence if e not in (*held, *part)]):
            break
        held = (*held, *part)
    return Split(tuple(e for e in evidence if e not in held), held)

"""Which traces judge a skill without having made it. Pure, and the same for the same traces and seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from verifiers.interface import Evidence

LEAST_FOR_HOLD_OUT = 4
"""Distinct cases below which leave-one-out replaces hold-out (SEMANTICS §6, arguments-matter)."""
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


def split(evidence: Sequence[Evidence], hold_out: int, seed: int = 0, never: frozenset[str] = frozenset()) -> Split:
    """Holds out up to ``hold_out`` cases, with all copies of each; none where fewer than four distinct cases are there.

    Args:
        evidence: All traces of the pattern.
        hold_out: How many cases to keep from the generator.
        seed: Chooses which.
        never: task_ids that must stay seen (they were shown before).
    """
    if hold_out <= 0 or distinct(evidence) < LEAST_FOR_HOLD_OUT:
        return Split(tuple(evidence), ())
    pinned = {case_key(e) for e in evidence if e.task_id in never}
    free = sorted({case_key(e) for e in evidence} - pinned, key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).digest())
    room = distinct(evidence) - LEAST_SEEN
    chosen = frozenset(free[: min(hold_out, room)])
    held = tuple(e for e in evidence if case_key(e) in chosen)
    return Split(tuple(e for e in evidence if case_key(e) not in chosen), held)

"""Figures of a study: intervals, proper scores, tables. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from synth.lift.intervals import wilson


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of the study found."""

    title: str
    text: str
    """Markdown."""
    missed: tuple[str, ...] = ()
    """Bars that were missed, a sentence each; that nothing ran is one."""


def share(k: int, n: int) -> str:
    """``23/24 (0.80..0.99)``."""
    low, high = wilson(k, n)
    return f"{k}/{n} ({low:.2f}..{high:.2f})"


def brier(pairs: Sequence[tuple[float, bool]]) -> float:
    """Mean squared distance between what was claimed and what happened."""
    return sum((p - y) ** 2 for p, y in pairs) / len(pairs)


def auc(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """Chance that one that held is ranked above one that did not; ties count half. None where one of the two is missing."""
    good, bad = [p for p, y in pairs if y], [p for p, y in pairs if not y]
    wins = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
    return wins / (len(good) * len(bad)) if good and bad else None


def auc_interval(area: float, good: int, bad: int) -> tuple[float, float]:
    """95 % interval of an AUC by the standard error of Hanley and McNeil (1982)."""
    q1, q2 = area / (2 - area), 2 * area * area / (1 + area)
    spread = (good - 1) * (q1 - area * area) + (bad - 1) * (q2 - area * area)
    half = 1.96 * math.sqrt(max(0.0, area * (1 - area) + spread) / (good * bad))
    return max(0.0, area - half), min(1.0, area + half)


def quantile(values: Sequence[float], q: float) -> float:
    """The value that the share ``q`` of the values does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [list(head), ["---"] * len(head), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

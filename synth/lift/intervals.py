"""Intervals of 95 %: of a share, of a difference of shares in pairs, of a mean difference in pairs. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.959964
"""97.5 % of the normal distribution."""
SMALL_T = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706)
"""97.5 % of Student's distribution with 1 to 5 degrees of freedom. Source: any table of it."""


@dataclass(frozen=True, slots=True)
class Interval:
    value: float
    low: float
    high: float


def wilson(k: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Interval of a proportion, after Wilson; (0, 1) where nothing was tried."""
    if n == 0:
        return 0.0, 1.0
    p = k / n
    mid, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (mid - half) / (1 + z * z / n)), min(1.0, (mid + half) / (1 + z * z / n))


def paired_shares(pairs: Sequence[tuple[bool, bool]]) -> Interval:
    """How much more often the second of a pair is true, after Bonett and Price (2012): few pairs are enough, like ones too."""
    n = len(pairs)
    gained, lost = sum(b and not a for a, b in pairs), sum(a and not b for a, b in pairs)
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    half = Z * math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    value = (gained - lost) / n if n else 0.0
    return Interval(value, max(-1.0, up - down - half), min(1.0, up - down + half))


def paired_means(differences: Sequence[float]) -> Interval | None:
    """The mean of differences in pairs, after Student; None for fewer than two."""
    n = len(differences)
    if n < 2:
        return None
    mean = math.fsum(differences) / n
    spread = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / (n - 1))
    half = student(n - 1) * spread / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def student(freedom: int) -> float:
    """97.5 % of Student's distribution, to two digits after the point: a table, then Fisher's expansion."""
    if freedom <= len(SMALL_T):
        return SMALL_T[freedom - 1]
    z, f = Z, freedom
    return (
        z + (z**3 + z) / (4 * f) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * f**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * f**3)
    )  # fmt: skip

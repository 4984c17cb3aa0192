"""Rows whose values change places within their columns: each value was recorded, the combination was not. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from random import Random
from typing import TypeVar

Value = TypeVar("Value", bound=Hashable)
Column = Sequence[Value]


def mixed(rows: Sequence[Sequence[Value]], rng: Random) -> list[list[Value]]:
    """The rows with the values of each column in another order.

    What one column says of another stays: where a value of one goes with one value of the other alone, or one is empty just where
    the other says so, both change places together. Columns that are in order keep it.
    """
    columns = [*zip(*rows, strict=True)]
    group = list(range(len(columns)))
    for a, b in combinations(range(len(columns)), 2):
        if tied(columns[a], columns[b]):
            group = [group[a] if g == group[b] else g for g in group]
    still = {group[k] for k, column in enumerate(columns) if in_order(column)}
    orders = {g: rng.sample(range(len(rows)), len(rows)) for g in sorted({*group} - still)}
    new = [[column[n] for n in orders[g]] if g in orders else [*column] for g, column in zip(group, columns, strict=True)]
    return [list(row) for row in zip(*new, strict=True)]


def tied(a: Column[Value], b: Column[Value]) -> bool:
    """Whether one column says of the other what it holds, or where it is empty."""
    gaps = [[_empty(v) for v in column] for column in (a, b)]
    pairs = [(a, b), (b, a), (gaps[0], b), (gaps[1], a), (a, gaps[1]), (b, gaps[0])]
    return any(_says(x, y) for x, y in pairs)


def _says(a: Sequence[Hashable], b: Sequence[Hashable]) -> bool:
    several = 1 < len({*a}) < len(a) and len({*b}) > 1
    return several and len({*zip(a, b, strict=True)}) == len({*a})


def _empty(value: object) -> bool:
    return value is None or not str(value).strip()


def in_order(column: Column[Value]) -> bool:
    """Whether a column's values rise or fall from row to row."""
    keys = [(isinstance(v, str), v) for v in column if v is not None]
    try:
        ordered = sorted(keys)  # what has no order is told by the error
    except TypeError:
        return False
    return len({*keys}) > 1 and keys in (ordered, ordered[::-1])

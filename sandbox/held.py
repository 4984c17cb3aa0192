"""What is kept for its next use: what was used last, as long as it is not too much."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Held(Generic[T]):
    """Values by name. Those not used for the longest go first; the one put in last stays, whatever it weighs.

    Args:
        most: values.
        most_bytes: what they weigh together, by ``weigh``.
    """

    def __init__(self, most: int, most_bytes: int, weigh: Callable[[T], int]) -> None:
        self._most, self._most_bytes, self._weigh = most, most_bytes, weigh
        self._items: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def get(self, name: str) -> T | None:
        if name not in self._items:
            return None
        self._items.move_to_end(name)
        return self._items[name][0]

    def put(self, name: str, value: T) -> None:
        self._bytes -= self._items.pop(name, (value, 0))[1]
        weight = self._weigh(value)
        self._items[name] = value, weight
        self._bytes += weight
        while len(self._items) > 1 and (len(self._items) > self._most or self._bytes > self._most_bytes):
            self._bytes -= self._items.popitem(last=False)[1][1]

"""How far a verification is, as one line: ``7/19 generalises · 212 of 400 runs · ~6 s``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synth.cli.counting import Counted

Step = Callable[..., None]
Live = Callable[[Callable[[], str]], None]
"""Shows what a function says, asked again and again, until it is given another one."""


class Runs:
    """What the runs of one verification come to, said anew each time: how many were made, how many are settled by now, and
    how long these will take.

    Args:
        box: Where they are made; None as long as it is not open.
    """

    def __init__(self, box: Callable[[], Counted | None], clock: Callable[[], float] = time.monotonic) -> None:
        opened = box()
        self._box = box
        self._before = opened.runs if opened is not None else 0
        self._clock = clock
        self._began = clock()

    def __call__(self) -> str:
        box = self._box()
        made = box.runs - self._before if box is not None else 0
        if box is None or not made:
            return ""
        left = box.planned - self._before - made
        if left <= 0:
            return f" · {made} runs"
        seconds = (self._clock() - self._began) / made * left
        return f" · {made} of {made + left} runs · ~{max(1, round(seconds))} s"


@dataclass
class Checks:
    """Takes the ids of checks as they start, and says where in the order that is.

    Args:
        step: Says one line; gets the number of checks that are done, and how many there are.
        total: Checks that will run.
        before: What comes first in the line, a skill's path say.
        runs: What comes last in the line.
    """

    step: Step
    total: int
    before: str = ""
    runs: Callable[[], str] = lambda: ""
    _seen: set[str] = field(default_factory=set)

    def begin(self, what: str) -> None:
        """Says what is judged from now on, and counts from the start."""
        self._seen.clear()
        self.before = f"{what}: "
        self.step(what)

    def __call__(self, what: str) -> None:
        from verifiers.catalog import CATALOG

        if any(check.id == what for check in CATALOG):
            self._seen.add(what)
            what = f"{len(self._seen)}/{max(self.total, len(self._seen))} {what}"
        self.step(f"{self.before}{what}{self.runs()}")


def dynamic_checks(wanted: frozenset[str] | None) -> int:
    """How many checks say that they start: those in the sandbox."""
    from verifiers.catalog import DYNAMIC

    return sum(wanted is None or check.id in wanted for check in DYNAMIC)

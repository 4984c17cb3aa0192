"""How far a verification is, as one line: ``7/19 generalises · 212 runs``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Step = Callable[..., None]


@dataclass
class Checks:
    """Takes the ids of checks as they start, and says where in the order that is.

    Args:
        step: Says one line; gets the number of checks that are done, and how many there are.
        total: Checks that will run.
        before: What comes first in the line, a skill's path say.
        runs: How many runs were made so far.
    """

    step: Step
    total: int
    before: str = ""
    runs: Callable[[], int] = lambda: 0
    _seen: set[str] = field(default_factory=set)

    def __call__(self, what: str) -> None:
        from verifiers.catalog import CATALOG

        if any(check.id == what for check in CATALOG):
            self._seen.add(what)
            what = f"{len(self._seen)}/{max(self.total, len(self._seen))} {what}"
        runs = self.runs()
        done = f" · {runs} runs" if runs else ""
        self.step(f"{self.before}{what}{done}")


def dynamic_checks(wanted: frozenset[str] | None) -> int:
    """How many checks say that they start: those in the sandbox."""
    from verifiers.catalog import DYNAMIC

    return sum(wanted is None or check.id in wanted for check in DYNAMIC)

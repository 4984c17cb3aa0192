"""Wayland's streaks, exact: a signature that succeeds ``threshold`` times with no failure of its own in between is due."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from synth.detect.signature import signature
from synth.interface import TurnTrajectory

THRESHOLD = 3
"""Source: wayland-core ``engine.rs`` installs the bucketer with N = 3."""


@dataclass(frozen=True, slots=True)
class DraftTrigger:
    """A streak that is complete."""

    signature: str
    trajectories: tuple[TurnTrajectory, ...]


class Bucketer:
    """Running streaks by signature. State lives in memory only, as upstream."""

    def __init__(self, threshold: int = THRESHOLD) -> None:
        self.threshold = max(threshold, 1)
        self._runs: dict[str, list[TurnTrajectory]] = {}

    def observe(self, turn: TurnTrajectory) -> DraftTrigger | None:
        """Takes one turn; the trigger when it completes a streak, whose count then starts again.

        A failure ends only the streak of its own signature; a request without content words has no effect at all.
        """
        key = signature(turn.user_input)
        if not key:
            return None
        if turn.outcome == "failure":
            self._runs.pop(key, None)
            return None
        run = self._runs.setdefault(key, [])
        run.append(turn)
        if len(run) < self.threshold:
            return None
        return DraftTrigger(key, tuple(self._runs.pop(key)))


def triggers(turns: Iterable[TurnTrajectory], threshold: int = THRESHOLD) -> list[DraftTrigger]:
    """The complete streaks of a sequence of turns, in order: what imported turn trajectories amount to."""
    bucketer = Bucketer(threshold)
    return [t for turn in turns if (t := bucketer.observe(turn)) is not None]

"""Which groups of traces are due: repeated, complex, or complete as a streak."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from synth.config import Evolution
from synth.detect.bucketer import Bucketer
from synth.detect.features import Features
from synth.detect.naming import category, distinct
from synth.detect.split import group
from synth.interface import PatternType, TurnTrajectory


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern as indices into the features that it was found in."""

    type: PatternType
    category: str
    signature: str
    successes: tuple[int, ...]
    """Oldest first."""
    failures: tuple[int, ...]

    @property
    def success_rate(self) -> float:
        return len(self.successes) / (len(self.successes) + len(self.failures))


def find_patterns(traces: Sequence[Features], evolution: Evolution, together: Sequence[Collection[str]] = ()) -> list[Found]:
    """The due patterns among traces, most frequent first.

    Args:
        together: task_ids of traces that are one task because somebody says so; each such group is due.
    """
    streaks = streak_members(traces, evolution)
    due: list[tuple[PatternType, list[int], list[int]]] = []
    said = [[i for i, t in enumerate(traces) if t.task_id in ids] for ids in together]
    taken = {i for members in said for i in members}
    found_alike = [[i for i in members if i not in taken] for members in group(traces, evolution.min_frequency)]
    for members in filter(None, [*said, *found_alike]):
        ordered = sorted(members, key=lambda i: (traces[i].time, traces[i].task_id))
        good = [i for i in ordered if traces[i].success and traces[i].steps]
        bad = [i for i in ordered if not traces[i].success]
        streak = any(s <= set(good) for s in streaks)
        kind = pattern_type(traces, good, evolution, streak)
        if kind is None and good and members in said:
            kind = "repetitive"
        if kind is not None and len(good) >= evolution.min_success_rate * len(members):
            due.append((kind, good, bad))
    names = [category([traces[i] for i in good]) for _, good, _ in due]
    names = distinct(names, [traces[good[0]].names for _, good, _ in due])
    found = [
        Found(kind, name, majority([traces[i].signature for i in good]), tuple(good), tuple(bad))
        for (kind, good, bad), name in zip(due, names, strict=True)
    ]
    return sorted(found, key=lambda f: (-len(f.successes), traces[f.successes[0]].time, f.category))


def pattern_type(traces: Sequence[Features], good: Sequence[int], evolution: Evolution, streak: bool) -> PatternType | None:
    """``repetitive`` (frequent, or a streak), ``complex`` (long, more than once), ``novel`` (long, once); None = not due."""
    if not good:
        return None
    frequent = len(good) >= evolution.min_frequency
    complex_ = sum(traces[i].steps for i in good) / len(good) >= evolution.min_complexity
    if evolution.trigger == "all":
        return "complex" if frequent and complex_ else None
    if frequent or streak:
        return "repetitive"
    if not complex_:
        return None
    return "complex" if len(good) > 1 else "novel"


def streak_members(traces: Sequence[Features], evolution: Evolution) -> list[set[int]]:
    """Traces of each complete Wayland streak (three in a row of one signature, ``synth.detect.bucketer``)."""
    if evolution.trigger == "all" or evolution.min_frequency <= 3:
        return []  # Any streak of three in one group is frequent already.
    bucketer = Bucketer()
    order = sorted(range(len(traces)), key=lambda i: (traces[i].time, traces[i].task_id))
    streaks: list[set[int]] = []
    for i in order:
        t = traces[i]
        turn = TurnTrajectory(t.signature.replace("-", " "), None, "success" if t.success else "failure", str(i), _utc(t.time))
        trigger = bucketer.observe(turn)
        if trigger is not None:
            streaks.append({int(x.summary) for x in trigger.trajectories})
    return streaks


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def majority(values: Sequence[str]) -> str:
    """The most frequent value, the first of equals; "" of none."""
    return Counter(values).most_common(1)[0][0] if values else ""

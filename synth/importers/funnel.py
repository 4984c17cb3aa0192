"""From sessions to what can be learned: how many are left at each stage, and why the others are not. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from synth.config import Evolution
from synth.detect.analyzer import find_patterns
from synth.detect.features import features_of
from synth.importers.common import Dropped, ImportReport
from synth.importers.turns import observes
from synth.interface import ExecutionTrace


@dataclass(frozen=True, slots=True)
class Loss:
    """One reason for which things were lost at a stage."""

    why: str
    count: int
    example: str
    """Where one of them is."""
    remedy: str = ""
    """What would have saved them."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What is left, and what was lost on the way here, most frequent reason first."""

    name: str
    count: int
    losses: tuple[Loss, ...] = ()
    lost: str = "lost"
    """What happened to them."""


_REMEDIES = (
    ("never shows whole", "--repo DIR with the project's clone"),
    ("no start state", "--repo DIR with the project's clone"),
    ("works its start out", "--repo DIR with the project's clone, or `assay record` from now on"),
    ("does not agree", "a clone with the commits of that time"),
    ("than the session keeps", "`assay record`, which keeps whole outputs"),
    ("holds no outputs", "`assay record`, which keeps outputs and the tree before and after"),
    ("on the screen", "`assay record`, which keeps commands apart from what they print"),
    ("no workspace", "`assay hook install`, which keeps the tree before and after"),
    ("which the image lacks", "an image with what they need"),
    ("fewer than", "more recordings of the same task"),
)
"""Part of a reason -> what would have saved it."""


def funnel(report: ImportReport, evolution: Evolution) -> list[Stage]:
    """The stages of an import, from files to repeated tasks whose start is known.

    One that is not is no loss yet: `assay crystallize` reconstructs it where it can, and says so.
    """
    files = [d for d in report.dropped if d.what == "file"]
    tasks = [d for d in report.dropped if d.what == "trace"]
    traces = list(report.traces)
    effective = [t for t in traces if _has_effect(t)]
    repeated = _repeated(effective, evolution)
    rest = [t for t in effective if t not in repeated]
    stateful = [t for t in repeated if _has_state(t)]
    guessed = [t for t in repeated if t not in stateful]
    return [
        Stage("sessions", report.sessions, losses_of(files)),
        Stage("tasks", len(tasks) + len(traces)),
        Stage("imported", len(traces), losses_of(tasks)),
        Stage("with effect", len(effective), _lost([t for t in traces if t not in effective], "it only looks around")),
        Stage("repeated", len(repeated), _lost(rest, f"it was done fewer than {evolution.min_frequency} times")),
        Stage("start known", len(stateful), _lost(guessed, "crystallize works its start out, if the outputs allow"), "without"),
    ]


def most_saved(stages: Iterable[Stage]) -> tuple[str, int] | None:
    """What would save the most, and how many; None where nothing is known to help."""
    saved = Counter[str]()
    for loss in (loss for stage in stages for loss in stage.losses if loss.remedy):
        saved[loss.remedy] += loss.count
    return next(iter(saved.most_common(1)), None)


def _has_effect(trace: ExecutionTrace) -> bool:
    edited = bool(trace.steps) or (not trace.commands and trace.workspace != trace.post_workspace)
    return edited or any(not observes(c) for c in trace.commands)


def _has_state(trace: ExecutionTrace) -> bool:
    """Whether the start is known: recorded, from a repository, or as the edits found it."""
    return trace.workspace is not None or any("edit" in step for step in trace.steps or ())


def _repeated(traces: Sequence[ExecutionTrace], evolution: Evolution) -> list[ExecutionTrace]:
    found = find_patterns([features_of(t) for t in traces], evolution)
    return [traces[i] for i in sorted({i for f in found if len(f.successes) > 1 for i in f.successes})]


def _lost(traces: Sequence[ExecutionTrace], why: str) -> tuple[Loss, ...]:
    return losses_of([Dropped(t.task_id, "trace", why) for t in traces])


def losses_of(dropped: Sequence[Dropped]) -> tuple[Loss, ...]:
    """What was lost by its reason, most frequent first; numbers in a reason do not count."""
    by_reason: dict[str, list[Dropped]] = defaultdict(list)
    for d in dropped:
        by_reason[re.sub(r"\d+", "N", d.why)].append(d)
    found = sorted(by_reason.values(), key=lambda ds: -len(ds))
    return tuple(Loss(ds[0].why, len(ds), ds[0].where, _remedy(ds[0].why)) for ds in found)


def _remedy(why: str) -> str:
    return next((remedy for part, remedy in _REMEDIES if part in why), "")


def shown(stages: Sequence[Stage]) -> list[str]:
    """The stages as lines: one each, the reasons of its losses below it, and last what would save the most."""
    out = [" -> ".join(f"{stage.name} {stage.count}" for stage in stages)]
    for stage in stages:
        out += [f"  {stage.name}: {loss.count} {stage.lost}, {loss.why} ({loss.example})" for loss in stage.losses]
    best = most_saved(stages)
    return [*out, f"most would be saved by {best[0]} ({best[1]})"] if best is not None else out

"""Traces that belong to no due task, each with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from synth.config import Config, Evolution
from synth.detect.features import Features, features_of
from synth.detect.split import group
from synth.interface import ExecutionTrace, TracePattern
from synth.tracing.traces import unique_ids


def ungrouped(
    traces: Sequence[ExecutionTrace], found: Sequence[TracePattern], config: Config | Evolution | None = None
) -> list[tuple[ExecutionTrace, str]]:
    """Those in none of the patterns that ``detect`` found among these traces, in their order, with one sentence each."""
    evolution = config.evolution if isinstance(config, Config) else config if config is not None else Evolution()
    known = unique_ids(traces)
    taken = {t.task_id for p in found for t in (*p.traces, *p.failures)}
    features = [features_of(t) for t in known]
    out: dict[int, str] = {}
    for members in group(features, evolution.min_frequency):
        for i in members:
            out[i] = _why(features, i, members, evolution)
    return [(t, out.get(i, "it is like no other")) for i, t in enumerate(known) if t.task_id not in taken]


def _why(features: Sequence[Features], i: int, members: Sequence[int], evolution: Evolution) -> str:
    own = features[i]
    if not own.success:
        return "the recording failed"
    if not own.steps:
        return "it has no command"
    good = sum(features[k].success for k in members)
    if good < evolution.min_success_rate * len(members):
        return f"{len(members) - good} of {len(members)} recordings of it failed"
    return f"{good} of the {evolution.min_frequency} successful recordings that make a task"

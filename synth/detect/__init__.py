"""Detection: which of the recorded traces are one task, done often or with many steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from synth.config import Config, Evolution
from synth.detect.analyzer import Found, find_patterns
from synth.detect.features import features_of
from synth.detect.match import match_existing
from synth.detect.signature import signature
from synth.detect.ungrouped import ungrouped
from synth.interface import ExecutionTrace, TracePattern
from synth.tracing.redact import redact_trace
from synth.tracing.traces import unique_ids

__all__ = ["MAX_TRACES", "detect", "make_pattern", "match_existing", "signature", "ungrouped"]

MAX_TRACES = 200
"""Traces that a pattern carries; of more, the newest. ``frequency`` counts all of them."""


def detect(
    traces: Iterable[ExecutionTrace], config: Config | Evolution | None = None, together: Sequence[Collection[str]] = ()
) -> list[TracePattern]:
    """The due patterns among traces, most frequent first; secrets are taken out of the traces that they carry.

    Args:
        traces: In any order; a task_id used twice gets a suffix.
        config: Thresholds; the defaults without one.
        together: task_ids of traces that are one task because somebody says so.
    """
    evolution = config.evolution if isinstance(config, Config) else config if config is not None else Evolution()
    known = unique_ids(traces)
    return [make_pattern(found, known) for found in find_patterns([features_of(t) for t in known], evolution, together)]


def make_pattern(found: Found, traces: Sequence[ExecutionTrace]) -> TracePattern:
    """The pattern with its traces. ``traces`` is indexed by ``found``."""
    good = tuple(redact_trace(traces[i]) for i in found.successes[-MAX_TRACES:])
    return TracePattern(
        pattern_type=found.type,
        command_sequence=tuple(dict.fromkeys(c for t in good for c in t.commands)),
        frequency=len(found.successes),
        success_rate=found.success_rate,
        task_category=found.category,
        signature=found.signature,
        traces=good,
        failures=tuple(redact_trace(traces[i]) for i in found.failures[-MAX_TRACES:]),
    )

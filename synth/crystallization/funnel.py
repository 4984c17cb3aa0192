"""From traces to skills: how many are left at each stage, and why the others are not. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from synth.config import Evolution
from synth.crystallization.outcome import PatternOutcome
from synth.importers.common import Dropped
from synth.importers.funnel import Loss, Stage, losses_of
from synth.interface import ExecutionTrace


def funnel(traces: Sequence[ExecutionTrace], outcomes: Sequence[PatternOutcome], evolution: Evolution) -> list[Stage]:
    """The stages of crystallizing, from traces to skills. What replays is known of patterns that came to be judged."""
    good = [t for t in traces if t.success]
    members = {task_id for o in outcomes for task_id in o.task_ids}
    repeated = [t for t in good if t.task_id in members]
    unusable = {task_id: why for o in outcomes if o.report is not None for task_id, why in o.report.evidence.unusable.items()}
    judged = {task_id for o in outcomes if o.report is not None for task_id in o.task_ids}
    skills = [o for o in outcomes if o.ending == "registered"]
    return [
        Stage("traces", len(traces)),
        Stage("successful", len(good), _losses((t.task_id, "the recording failed") for t in traces if not t.success)),
        Stage(
            "repeated", len(repeated),
            _losses((t.task_id, f"done fewer than {evolution.min_frequency} times") for t in good if t.task_id not in members),
        ),
        Stage("replayable", len(judged - unusable.keys()), _losses((t, why) for t, why in unusable.items())),
        Stage("skills", len(skills), _losses((o.task, _kind(o)) for o in outcomes if o.ending != "registered")),
    ]  # fmt: skip


def _kind(outcome: PatternOutcome) -> str:
    """Why, without the case: each task's line has said that, and many tasks may fail by one check."""
    checks = {f"{c.id}:" for c in outcome.report.checks} if outcome.report is not None else set()
    return next((c.removesuffix(":") for c in sorted(checks) if outcome.why.startswith(c)), outcome.why)


def _losses(found: Iterable[tuple[str, str]]) -> tuple[Loss, ...]:
    return losses_of([Dropped(example, "trace", why) for example, why in found])

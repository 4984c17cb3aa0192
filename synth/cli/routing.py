"""What the router is told: outcomes, scores of benchmarks, and what each skill starts with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from synth.cli import console
from synth.cli.home import open_registry
from synth.cli.outputs import Output, emit_document


def outcome(registry: Path | None, skill: str, said: str) -> int:
    """Counts one outcome (``ok`` or ``fail``) of the active version of a skill. Routing weighs it against the score's seeds."""
    from synth.route import RouteIndex

    with open_registry(registry, must_exist=True) as opened:
        index = RouteIndex(opened)
        arm = index.feedback(skill, said == "ok")
        rates = index.success_rates(skill)
    before = f"; before it was there, {rates.before:.0%} of its task's traces succeeded" if rates.before is not None else ""
    after = f", {rates.after:.0%} of {rates.outcomes} since" if rates.after is not None else ""
    console.out(f"{skill}: {arm.succeeded} ok, {arm.failed} failed, {arm.seeds} seeds; expected {arm.mean:.2f}{before}{after}")
    return 0


def bench(registry: Path | None, name: str, score: float | None) -> int:
    """Records what a skill scored on a benchmark (0 to 1): routing then starts from that. None forgets it."""
    from synth.route import RouteIndex

    with open_registry(registry, must_exist=True) as opened:
        index = RouteIndex(opened)
        index.set_bench(name, score)
        arm = index.arms([name])[name]
    console.out(f"{name}: {'no bench score' if score is None else f'bench score {score:g}'}; {arm.seeds} seeds")
    return 0


def seeds(registry: Path | None, outputs: Sequence[Output]) -> int:
    """Lists what another router should start each skill with: from bench scores, else measured ones, else a head start."""
    from synth.route import RouteIndex

    with open_registry(registry, must_exist=True) as opened:
        found = RouteIndex(opened).seeds()
    table = console.table(("skill", "successes"), [(name, str(n)) for name, n in found.items()]) if found else "no skill has any"
    emit_document(outputs, {"schema": "assay-seeds/1", "seeds": found}, table)
    return 0

"""``assay feedback``: how a skill did in use."""

from __future__ import annotations

from pathlib import Path

import click

from synth.cli import console
from synth.cli.home import open_registry, registry_option


@click.command("feedback", short_help="Tell the router how a skill did.")
@click.argument("skill")
@click.argument("outcome", type=click.Choice(["ok", "fail"]))
@registry_option
def command(skill: str, outcome: str, registry: Path | None) -> int:
    """Counts one outcome of the active version of SKILL. Routing weighs it against the score's seeds."""
    from synth.route import RouteIndex

    with open_registry(registry, must_exist=True) as opened:
        index = RouteIndex(opened)
        arm = index.feedback(skill, outcome == "ok")
        rates = index.success_rates(skill)
    before = f"; before it was there, {rates.before:.0%} of its task's traces succeeded" if rates.before is not None else ""
    after = f", {rates.after:.0%} of {rates.outcomes} since" if rates.after is not None else ""
    console.out(f"{skill}: {arm.succeeded} ok, {arm.failed} failed, {arm.seeds} seeds; expected {arm.mean:.2f}{before}{after}")
    return 0

"""``assay feedback``, which is ``assay route --outcome`` now."""

from __future__ import annotations

from pathlib import Path

import click

from synth.cli import routing
from synth.cli.home import registry_option


@click.command("feedback", hidden=True)
@click.argument("skill")
@click.argument("outcome", type=click.Choice(["ok", "fail"]))
@registry_option
def command(skill: str, outcome: str, registry: Path | None) -> int:
    """Counts one outcome of the active version of SKILL."""
    return routing.outcome(registry, skill, outcome)

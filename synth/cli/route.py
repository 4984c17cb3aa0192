"""``assay route``: which registered skill does what is asked for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import NOTHING
from synth.cli.home import open_registry, registry_option
from synth.cli.outputs import emit_document, output_options, plan

if TYPE_CHECKING:
    from synth.route import Match


@click.command("route", short_help="Find the skill for a request.")
@click.argument("task")
@registry_option
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, metavar="N", help="At most so many.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the simulated draws.")
@output_options(("plain", "json"))
def command(task: str, registry: Path | None, limit: int, seed: int, **rest: Any) -> int:
    """Answers TASK, said in plain words, with the registered skills that may do it, the likeliest first.

    Exit code 4: none fits.
    """
    from synth.route import RouteIndex

    outputs = plan(rest["formats"], rest["files"], ("plain", "json"))
    with open_registry(registry, must_exist=True) as opened:
        matches = RouteIndex(opened).route(task, limit=limit, seed=seed)
    document = {"schema": "assay-route/1", "task": task, "matches": [dataclasses.asdict(m) for m in matches]}
    emit_document(outputs, document, _plain(task, matches))
    return 0 if matches else NOTHING


def _plain(task: str, matches: list[Match]) -> str:
    if not matches:
        return f"no registered skill fits: {task}"
    rows = [(m.skill, f"{m.probability:.0%}", f"{m.expected:.2f}", m.description) for m in matches]
    return console.table(("skill", "picked", "expected", "what it does"), rows)

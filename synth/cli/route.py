"""``assay route``: which registered skill does what is asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
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
@click.argument("task", required=False)
@registry_option
@click.option("--outcome", nargs=2, metavar="NAME ok|fail", help="Instead: count how a skill did in use.")
@click.option("--bench", nargs=2, metavar="NAME SCORE", help="Instead: record a benchmark's score (0 to 1; `none` forgets it).")
@click.option("--seeds", is_flag=True, help="Instead: list what another router should start each skill with.")
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, metavar="N", help="At most so many.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the simulated draws.")
@output_options(("plain", "json"))
def command(task: str | None, registry: Path | None, limit: int, seed: int, **rest: Any) -> int:
    """Answers TASK, said in plain words, with the registered skills that may do it, the likeliest first.

    Exit code 4: none fits.
    """
    from synth.route import RouteIndex

    asked = [name for name in ("outcome", "bench", "seeds") if rest[name]]
    if len(asked) + (task is not None) != 1:
        raise click.UsageError("give TASK, or one of --outcome, --bench, --seeds")
    if task is None:
        return _tell(asked[0], registry, **rest)
    outputs = plan(rest["formats"], rest["files"], ("plain", "json"))
    with open_registry(registry, must_exist=True) as opened:
        matches = RouteIndex(opened).route(task, limit=limit, seed=seed)
        scores = {m.skill: opened.show(m.skill).score for m in matches}
    found = [{**dataclasses.asdict(m), "score": scores[m.skill]} for m in matches]
    emit_document(outputs, {"schema": "assay-route/1", "task": task, "matches": found}, _plain(task, matches, scores))
    return 0 if matches else NOTHING


def _tell(asked: str, registry: Path | None, **rest: Any) -> int:
    """Tells the router something, or asks what it starts from."""
    from synth.cli import routing

    if asked == "seeds":
        return routing.seeds(registry, plan(rest["formats"], rest["files"], ("plain", "json")))
    name, said = rest[asked]
    if asked == "bench":
        number = click.FloatRange(0, 1).convert(said, None, None) if said != "none" else None
        return routing.bench(registry, name, number)
    return routing.outcome(registry, name, click.Choice(["ok", "fail"]).convert(said, None, None))


def _plain(task: str, matches: list[Match], scores: Mapping[str, float]) -> str:
    if not matches:
        return f"no registered skill fits: {task}"
    from verifiers.formats.text import bound

    rows = [(m.skill, bound(scores[m.skill]), m.description) for m in matches]
    return console.table(("skill", "score", "what it does"), rows)

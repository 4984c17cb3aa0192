"""``assay export``: a registered skill in the form that another agent reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from synth.cli import console
from synth.cli.files import must_have_parent
from synth.cli.home import actor, open_registry, registry_option
from synth.cli.hook import NAMES, PROJECT
from synth.owned import Conflict

if TYPE_CHECKING:
    from synth.export import Skill
    from synth.export.wayland import Placed
    from synth.registry import Registry

KINDS = ("agentskills", "wayland", "omni")


@click.command("export", short_help="Write a registered skill for another agent.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--to", "kind", type=click.Choice(KINDS), help="Which reader it is for.")
@click.option("--install", "agent", type=click.Choice(NAMES), help="Put it where this agent finds skills.")
@PROJECT
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where to (wayland: its home, or a project's .wayland-core).",
)
@click.option("--release", is_flag=True, help="wayland: take it out of quarantine, in your name.")
@click.option("--no-evidence", is_flag=True, help="Leave the recordings out: the export cannot be judged where it is then.")
@registry_option
def command(
    names: tuple[str, ...],
    kind: str | None,
    agent: str | None,
    project: Path | None,
    output: Path | None,
    release: bool,
    no_evidence: bool,
    registry: Path | None,
) -> int:
    """Exports the active version of each NAME, or of every skill. Directories that a person edited are left alone."""
    if (kind is None) is (agent is None) or (agent is not None and output is not None):
        raise click.UsageError("say --to KIND -o DIR, or --install AGENT")
    if agent is not None:
        kind, output = "agentskills", _skills_of(agent, project)
    assert kind is not None
    if kind != "wayland" and output is None:
        raise click.UsageError(f"--to {kind} needs -o DIR")
    if release and kind != "wayland":
        raise click.UsageError("--release is for --to wayland")
    if output is not None:
        must_have_parent(output)
    edited = 0
    with open_registry(registry, must_exist=True) as opened:
        for name in names or tuple(e.name for e in opened.list()):
            try:
                for line in _export(opened, name, kind, output, release, not no_evidence):
                    console.out(line)
            except Conflict as e:
                console.error(f"{name}: {e.diagnostics()}")
                edited += 1
    return Conflict.exit_code if edited else 0


def _skills_of(agent: str, project: Path | None) -> Path:
    """Where an agent looks for skills, made if need be."""
    from synth.hooks.agents import AGENTS

    place = (project if project is not None else Path.home()) / AGENTS[agent].skills
    place.mkdir(parents=True, exist_ok=True)
    return place


def _export(registry: Registry, name: str, kind: str, output: Path | None, release: bool, evidence: bool) -> list[str]:
    """Exports one skill; what to tell the user."""
    from synth.export import skill_of

    skill = skill_of(registry, name, with_evidence=evidence)
    if kind == "wayland":
        return _wayland(skill, registry, output, release)
    assert output is not None  # asked for above
    if kind == "omni":
        from synth.export.omni import export_omni

        done = export_omni(skill, output, registry=registry.root)
        return [f"{name}: {done.directory}", *(f"  {text}" for text in done.notes), f"  reindex with: {done.reindex}"]
    from synth.export.agentskills import export_agentskills

    return [f"{name}: {export_agentskills(skill, output)}"]


def _wayland(skill: Skill, registry: Registry, output: Path | None, release: bool) -> list[str]:
    from synth.export.wayland import export_wayland
    from synth.export.wayland_files import places_here

    done = export_wayland(skill, registry, places=places_here(output), release=release, actor=actor())
    lines = [f"{p.directory} ({_state(p)})" for p in done.placed]
    return [*(f"{skill.entry.name}: {line}" for line in lines or ["nothing written"]), *(f"  {text}" for text in done.notes)]


def _state(placed: Placed) -> str:
    row = "measured row written" if placed.row_written else "no row written"
    return f"released, {row}" if placed.released else row

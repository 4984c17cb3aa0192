"""``assay hook``: record what agents do, where they do it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synth.cli import console, store
from synth.cli.exits import NOTHING, PASS
from synth.cli.groups import Group

if TYPE_CHECKING:
    from synth.store.tasks import Store

NAMES = ("claude-code", "codex", "gemini-cli")
FOLDER = click.Path(path_type=Path, file_okay=False)
AGENT = click.option("--agent", required=True, type=click.Choice(NAMES), help="Whose settings.")
PROJECT = click.option("--project", type=FOLDER, metavar="DIR", help="Only there. Default: all projects of this user.")
STORE = click.option("--store", type=FOLDER, metavar="DIR", help="Where it is kept. Default: this user's data directory.")
MOST_ERRORS = 5


@click.group("hook", cls=Group, short_help="Record what agents do, where they do it.")
def command() -> None:
    """Hooks in an agent's own settings: the tree before and after each request, with the commands and edits between.

    What they recorded is kept in a directory that only its owner can read.
    """


@command.command("install")
@AGENT
@PROJECT
@STORE
def install_command(agent: str, project: Path | None, store: Path | None) -> int:
    """Adds hooks to an agent's settings, beside what is there."""
    from synth.hooks.agents import AGENTS
    from synth.hooks.install import install

    path = install(AGENTS[agent], _place(project), _store(store))
    console.out(f"{agent} records into {_store(store)} from its next start on ({path})")
    return PASS


@command.command("uninstall")
@AGENT
@PROJECT
@STORE
def uninstall_command(agent: str, project: Path | None, store: Path | None) -> int:
    """Takes the hooks out again; what was recorded stays."""
    from synth.hooks.agents import AGENTS
    from synth.hooks.install import uninstall

    place = _place(project)
    found = uninstall(AGENTS[agent], place, _store(store))
    console.out(f"hooks taken out of {place / AGENTS[agent].settings}" if found else f"{agent} has no hooks of assay there")
    return PASS if found else NOTHING


@command.command("status")
@PROJECT
@STORE
def status_command(project: Path | None, store: Path | None) -> int:
    """Says which agents record, what was recorded, and what went wrong."""
    from synth.hooks.agents import AGENTS
    from synth.hooks.install import is_installed
    from synth.store.tasks import Store
    from verifiers.formats.text import plural

    kept = Store(_store(store))
    for agent in AGENTS.values():
        here = project is None and is_installed(agent, Path.cwd())
        everywhere = is_installed(agent, _place(project))
        console.out(f"{agent.name}: {'records' if everywhere else 'records in this directory' if here else 'no hooks'}")
    console.out(f"{plural(len(kept.tasks()), 'task')} recorded, {len(kept.open_tasks())} open, in {kept.root}")
    for line in _moments(kept):
        console.out(line)
    errors = kept.errors()
    if errors:
        console.out(f"{plural(len(errors), 'thing')} went wrong in hooks, the last of them:")
        for line in errors[-MOST_ERRORS:]:
            console.out(f"  {line}")
    return PASS


@command.command("run")
@click.option("--agent", required=True, type=click.Choice(NAMES), help="Who calls.")
@STORE
@click.argument("event", required=False)
def run_command(agent: str, store: Path | None, event: str | None) -> int:
    """Takes one event on standard input, as the agents send it (they run a quicker way to the same). Never fails."""
    from synth.hooks.later import look_later
    from synth.hooks.receive import receive
    from synth.store.tasks import Store

    kept = Store(_store(store))
    sys.stdout.write(receive(agent, sys.stdin.buffer.read(), kept, lambda task: look_later(kept)))
    return PASS


def _moments(kept: Store) -> Iterator[str]:
    """What was done often enough, whether or not it was told already."""
    for moment, state in kept.moments.all():
        yield f"{moment.task} is being learned" if state == "learning" else moment.text.removeprefix("assay: ")


for name, kept in store.command.commands.items():
    command.add_command(kept, name)


def _place(project: Path | None) -> Path:
    return project.resolve() if project is not None else Path.home()


def _store(store: Path | None) -> Path:
    from synth.hooks.receive import default_store

    return store.resolve() if store is not None else default_store()

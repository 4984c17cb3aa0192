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
SHELLS = ("bash", "zsh", "fish")
FOLDER = click.Path(path_type=Path, file_okay=False)
AGENT = click.option(
    "--agent", required=True, type=click.Choice((*NAMES, "shell")), help="Whose settings; shell: what you type yourself."
)
SHELL = click.option("--shell", type=click.Choice(SHELLS), help="Which shell. Default: that of $SHELL.")
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
@SHELL
@PROJECT
@STORE
def install_command(agent: str, shell: str | None, project: Path | None, store: Path | None) -> int:
    """Adds hooks to an agent's settings, or a line to a shell's, beside what is there.

    A shell records the commands that you type in git work trees (or in --project), with directory and exit code, not what
    they print. A task ends after half an hour without a command, in another project, and with `assay hook task`.
    """
    from synth.hooks.agents import AGENTS
    from synth.hooks.install import install
    from synth.hooks.shell import install_shell, persons_shell

    if agent == "shell":
        name = shell or persons_shell()
        path = install_shell(name, project.resolve() if project is not None else None, _store(store))
        console.out(f"{name} records into {_store(store)} from its next start on ({path})")
        return PASS
    path = install(AGENTS[agent], _place(project), _store(store))
    console.out(f"{agent} records into {_store(store)} from its next start on ({path})")
    return PASS


@command.command("uninstall")
@AGENT
@SHELL
@PROJECT
@STORE
def uninstall_command(agent: str, shell: str | None, project: Path | None, store: Path | None) -> int:
    """Takes the hooks out again; what was recorded stays."""
    from synth.hooks.agents import AGENTS
    from synth.hooks.install import store_of, uninstall
    from synth.hooks.shell import persons_shell, started_by, store_in, uninstall_shell

    if agent == "shell":
        name = shell or persons_shell()
        there = uninstall_shell(name, _store(store or store_in(name)))
        console.out(f"line taken out of {started_by(name)}" if there else f"{name} has no line of assay")
        return PASS if there else NOTHING
    place = _place(project)
    found = uninstall(AGENTS[agent], place, _store(store or store_of(AGENTS[agent], place)))
    console.out(f"hooks taken out of {place / AGENTS[agent].settings}" if found else f"{agent} has no hooks of assay there")
    return PASS if found else NOTHING


@command.command("status")
@PROJECT
@STORE
def status_command(project: Path | None, store: Path | None) -> int:
    """Says which agents record, what was recorded, and what went wrong."""
    from synth.hooks.agents import AGENTS
    from synth.hooks.install import is_installed, store_of
    from synth.hooks.shell import records
    from synth.hooks.typed import sweep
    from synth.store.tasks import Store
    from verifiers.formats.text import plural

    places = (_place(project), *([Path.cwd()] if project is None else []))
    used = [found for agent in AGENTS.values() for place in places if (found := store_of(agent, place))]
    kept = Store(_store(store or next(iter(used), None)))
    sweep(kept)
    for agent in AGENTS.values():
        here = project is None and is_installed(agent, Path.cwd())
        everywhere = is_installed(agent, _place(project))
        console.out(f"{agent.name}: {'records' if everywhere else 'records in this directory' if here else 'no hooks'}")
    for name in filter(records, SHELLS):
        console.out(f"{name}: records")
    console.out(f"{plural(len(kept.tasks()), 'task')} recorded, {len(kept.open_tasks())} open, in {kept.root}")
    for line in _moments(kept):
        console.out(line)
    if uses := sum(1 for _ in (kept.root / "uses").glob("*.json")):
        console.out(f"skills ran in {plural(uses, 'turn')}. Whether these ended as they should: assay registry drift {kept.root}")
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
    sys.stdout.write(receive(agent, sys.stdin.buffer.read(), kept, lambda task: look_later(kept, task)))
    return PASS


@command.command("task")
@STORE
@click.argument("text", nargs=-1)
def task_command(store: Path | None, text: tuple[str, ...]) -> int:
    """Begins another task in a shell that records; TEXT says what it is for."""
    import os

    from synth.hooks.typed import next_task
    from synth.store.tasks import Store
    from verifiers.interface import ConfigError

    if not next_task(Store(_store(store)), os.getppid(), Path.cwd(), " ".join(text)):
        raise ConfigError("this shell does not record here", "It does in git work trees, after: assay hook install --agent shell")
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

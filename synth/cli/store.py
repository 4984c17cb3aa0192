"""``assay store``: what hooks recorded."""

from __future__ import annotations

import time
from pathlib import Path

import click

from synth.cli import console
from synth.cli.exits import NOTHING, PASS
from synth.cli.files import append_lines

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
STORE = click.option("--store", type=FOLDER, metavar="DIR", help="Default: this user's data directory.")
DAY_S = 86_400


@click.group("store", short_help="Show, export or prune what hooks recorded.", hidden=True)
def command() -> None:
    """What hooks recorded: tasks with their trees, in a directory that only its owner can read."""


@command.command("show")
@STORE
def show_command(store: Path | None) -> int:
    """Lists the tasks: when, who, what was asked, and whether it makes a trace."""
    from synth.hooks.steps import asked
    from synth.hooks.traces import trace_of
    from synth.hooks.typed import sweep
    from synth.interface import ExecutionTrace
    from synth.store.tasks import Store
    from synth.tracing.redact import redact
    from verifiers.formats.text import plural

    kept = Store(_store(store))
    sweep(kept)
    tasks = kept.tasks()
    for task in tasks:
        events = kept.events(task)
        first = next(iter(events), {})
        found = trace_of(kept, task)
        said = " ".join(redact(asked(events)).split())[:60]
        state = f"{len(found.steps or found.commands)} steps" if isinstance(found, ExecutionTrace) else found
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(int(task.name[:20]) / 1e9))  # as the file is called
        console.out(f"{when}  {first.get('agent')}  {said!r}: {state}")
    console.out(f"{plural(len(tasks), 'task')}, {kept.objects.size_bytes() / (1 << 20):.1f} MiB in {kept.root}")
    return PASS if tasks else NOTHING


@command.command("export")
@STORE
@click.option("-o", "--output", "file", required=True, type=FILE, metavar="FILE", help="JSONL, appended to.")
def export_command(store: Path | None, file: Path) -> int:
    """Appends the recorded tasks to FILE as traces, without secrets."""
    from synth.hooks.traces import traces_of
    from synth.hooks.typed import sweep
    from synth.store.tasks import Store
    from synth.tracing.redact import redact_trace
    from synth.tracing.traces import dump_trace
    from verifiers.formats.text import plural

    kept = Store(_store(store))
    sweep(kept)
    traces, lost = traces_of(kept)
    for task, why in lost:
        console.say(f"{task.name}: no trace: {why}")
    if traces:
        append_lines(file, [dump_trace(redact_trace(t)) for t in traces])
    console.out(f"{plural(len(traces), 'trace')} written to {file}")
    return PASS if traces else NOTHING


@command.command("prune")
@STORE
@click.option("--days", type=click.IntRange(0), default=90, show_default=True, help="Keep tasks of so many days.")
def prune_command(store: Path | None, days: int) -> int:
    """Removes old tasks, and contents that no task has."""
    from synth.store.tasks import Store
    from verifiers.formats.text import plural

    tasks, freed = Store(_store(store)).prune(time.time() - days * DAY_S)
    console.out(f"{plural(tasks, 'task')} removed, {freed / (1 << 20):.1f} MiB freed")
    return PASS


def _store(store: Path | None) -> Path:
    from synth.hooks.receive import default_store

    return store.resolve() if store is not None else default_store()

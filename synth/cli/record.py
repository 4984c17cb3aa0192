"""``assay record``: what was done, kept as a trace."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synth.cli import console
from synth.cli.counting import count_recorded
from synth.cli.exits import FAIL, PASS
from synth.cli.files import append_lines, check_appendable
from synth.cli.home import config

if TYPE_CHECKING:
    from synth.interface import ExecutionTrace

MOST_NAMED = 5
FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command("record", short_help="Run a command and keep it as a trace.", context_settings={"ignore_unknown_options": True})
@click.option("--task", required=True, metavar="TEXT", help="What the command is for, in plain words.")
@click.option("--task-id", metavar="ID", help="Name of the trace. Default: made from the time.")
@click.option("-c", "--step", "steps", multiple=True, metavar="SHELL", help="A command line to run first (repeatable).")
@click.option("--workspace", type=FOLDER, default=Path(), metavar="DIR", help="Default: here.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Append to FILE.")
@click.argument("command_line", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def command(
    task: str, task_id: str | None, steps: tuple[str, ...], workspace: Path, file: Path | None, command_line: tuple[str, ...]
) -> int:
    """Runs COMMAND in the workspace and keeps it with its output, exit code and the directory before and after.

    One argument after `--` is a shell line; several are one program with its arguments. Exit code 1: a command failed (the others
    ran; the trace is kept, as one that failed, of which no skill is made). One that may fail says so: 'COMMAND || true'.
    """
    from synth.tracing.collector import TraceCollector
    from synth.tracing.record import record
    from synth.tracing.traces import dump_trace
    from verifiers.evidence import identifier

    last = (command_line[0] if len(command_line) == 1 else shlex.join(command_line),) if command_line else ()
    commands = (*steps, *last)
    if not commands:
        raise click.UsageError("there is no command: write it after --")
    if not task.strip():
        raise click.UsageError("--task is empty: say in words what the command is for")
    settings = config()
    if task_id is not None:
        identifier({"task_id": task_id}, "--task-id")
    store = TraceCollector(settings.trace_dir, settings.evolution.max_traces_stored)
    # What has run cannot be recorded again: that it can be kept is asked before.
    if file is not None:
        check_appendable(file)
    else:
        store.check()
    trace = record(task, commands, workspace, task_id=task_id, echo=True)
    if file is not None:
        append_lines(file, [dump_trace(trace)])
        kept = file
    else:
        kept = store.store(trace)
    count_recorded()
    console.say(f"recorded {trace.task_id} in {kept}")
    for text in remarks(trace):
        console.say(text)
    return PASS if trace.success else FAIL


def remarks(trace: ExecutionTrace) -> Iterator[str]:
    """Why a recording may not be what somebody takes it for: it failed, or the pictures lack something."""
    failed = [(c, code) for c, code in zip(trace.commands, trace.exit_codes or (), strict=True) if code]
    if not trace.success:
        which = f": {failed[0][0]} ended with exit code {failed[0][1]}" if failed else ""
        yield f"it is kept as failed, and no skill is made of it{which}"
    left_out = list(trace.metadata.get("left_out", ()))
    if left_out:
        more = f" and {len(left_out) - MOST_NAMED} more" if len(left_out) > MOST_NAMED else ""
        yield f"not in its pictures: {', '.join(left_out[:MOST_NAMED])}{more}. What a task does there is not learned"

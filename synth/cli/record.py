"""``assay record``: what was done, kept as a trace."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from synth.cli import console
from synth.cli.counting import count_recorded
from synth.cli.exits import FAIL, PASS
from synth.cli.files import append_lines, check_appendable
from synth.cli.home import config

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

    One argument after `--` is a shell line; several are one program with its arguments. Exit code 1: the command failed (the
    trace is kept all the same, as one that failed).
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
    return PASS if trace.success else FAIL

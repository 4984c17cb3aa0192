"""``assay patterns``: the repeated tasks in traces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import NOTHING, PASS
from synth.cli.home import config
from synth.cli.outputs import Output, emit_document, output_options, plan
from synth.cli.tracefiles import TOGETHER, nothing_repeated, said_together, stored_traces

if TYPE_CHECKING:
    from synth.config import Config
    from synth.interface import TracePattern

PLAIN_JSON = ("plain", "json")
MOST_SHOWN = 20
"""Traces that belong to no task and are said one by one."""


@click.command("patterns", hidden=True)
@click.argument("traces", nargs=-1, type=click.Path(path_type=Path), metavar="[TRACES]...")
@TOGETHER
@output_options(PLAIN_JSON)
def command(traces: tuple[Path, ...], together: tuple[str, ...], **rest: Any) -> int:
    """Lists the tasks in TRACES (files or directories; default: the configured store) that are due for a skill."""
    return show_patterns(traces, config(), plan(rest["formats"], rest["files"], PLAIN_JSON), together)


def show_patterns(traces: Sequence[Path], settings: Config, outputs: Sequence[Output], together: Sequence[str] = ()) -> int:
    """Lists the tasks that are due for a skill, and on stderr each trace that belongs to none, with the reason."""
    from synth.detect import detect, ungrouped

    known = stored_traces(traces, settings.trace_dir)
    found = detect(known, settings, said_together(together, known))
    left = ungrouped(known, found, settings)
    document = {
        "schema": "assay-patterns/1",
        "patterns": [_json(p) for p in found],
        "ungrouped": [{"task_id": t.task_id, "task_description": t.task_description, "why": why} for t, why in left],
    }
    rows = [(p.task_category, p.pattern_type, str(p.frequency), f"{p.success_rate:.0%}", _first(p)) for p in found]
    plain = console.table(("task", "type", "traces", "success", "first command"), rows) if rows else "no pattern"
    emit_document(outputs, document, plain)
    for trace, why in left[:MOST_SHOWN]:
        console.say(f"{trace.task_id}: {trace.task_description[:60]!r}: {why}")
    if len(left) > MOST_SHOWN:
        console.say(f"{len(left) - MOST_SHOWN} more traces belong to no task: see --format json")
    if not found:
        console.error(nothing_repeated(known, settings.evolution))
    return PASS if found else NOTHING


def _first(pattern: TracePattern) -> str:
    """The first command, of recordings without commands the first file that they edit."""
    if pattern.command_sequence:
        return pattern.command_sequence[0]
    edited = [step["edit"]["path"] for t in pattern.traces for step in t.steps or () if "edit" in step]
    return f"(edit {edited[0]})" if edited else "(no command)"


def _json(pattern: TracePattern) -> dict[str, Any]:
    return {
        "pattern_type": pattern.pattern_type,
        "command_sequence": list(pattern.command_sequence),
        "frequency": pattern.frequency,
        "success_rate": pattern.success_rate,
        "task_category": pattern.task_category,
        "signature": pattern.signature,
        "task_ids": [t.task_id for t in pattern.traces],
        "failed": [t.task_id for t in pattern.failures],
    }

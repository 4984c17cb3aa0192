"""``assay patterns``: the repeated tasks in traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import NOTHING, PASS
from synth.cli.home import config
from synth.cli.outputs import emit_document, output_options, plan
from synth.cli.tracefiles import TOGETHER, nothing_repeated, read_traces, said_together

if TYPE_CHECKING:
    from synth.interface import TracePattern

PLAIN_JSON = ("plain", "json")


@click.command("patterns", short_help="Show the repeated tasks in traces.")
@click.argument("traces", nargs=-1, type=click.Path(path_type=Path), metavar="[TRACES]...")
@TOGETHER
@output_options(PLAIN_JSON)
def command(traces: tuple[Path, ...], together: tuple[str, ...], **rest: Any) -> int:
    """Lists the tasks in TRACES (files or directories; default: the configured store) that are due for a skill."""
    from synth.detect import detect

    outputs = plan(rest["formats"], rest["files"], PLAIN_JSON)
    settings = config()
    known = read_traces(traces or (settings.trace_dir,))
    found = detect(known, settings, said_together(together, known))
    document = {"schema": "assay-patterns/1", "patterns": [_json(p) for p in found]}
    rows = [(p.task_category, p.pattern_type, str(p.frequency), f"{p.success_rate:.0%}", p.command_sequence[0]) for p in found]
    plain = console.table(("task", "type", "traces", "success", "first command"), rows) if rows else "no pattern"
    emit_document(outputs, document, plain)
    if not found:
        console.error(nothing_repeated(known, settings.evolution))
    return PASS if found else NOTHING


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

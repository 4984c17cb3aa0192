"""``assay import``: what other tools recorded, as traces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synth.cli import console
from synth.cli.exits import NOTHING, PASS
from synth.cli.files import append_lines
from synth.cli.home import config

if TYPE_CHECKING:
    from synth.importers import ImportReport
    from synth.interface import ExecutionTrace

KINDS = ("jsonl", "omni", "claude-code", "swe-agent", "wayland", "shell")
MOST_SHOWN = 20
"""Things left out that are said one by one; of more, only the number is."""


@click.command("import", short_help="Bring in traces from other tools.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--from", "kind", type=click.Choice(KINDS), help="The format. Default: told from the content.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Append to FILE.")
def command(paths: tuple[Path, ...], kind: str | None, file: Path | None) -> int:
    """Imports recordings into the configured store, or appends them to a JSONL file. Says what was left out, and why."""
    from synth.importers import import_path
    from verifiers.formats.text import plural

    reports = [import_path(path, kind) for path in paths]  # type: ignore[arg-type]  # click has checked the choice
    traces = [trace for report in reports for trace in report.traces]
    for report in reports:
        _say(report)
    where = _store(traces, file) if traces else None
    turns = sum(len(report.turns) for report in reports)
    place = f" into {where}" if where else ""
    also = f", {plural(turns, 'turn')} read" if turns else ""
    console.out(f"{plural(len(traces), 'trace')} imported{place}{also}")
    return PASS if traces or turns else NOTHING


def _say(report: ImportReport) -> None:
    for note in report.notes:
        console.say(f"note: {note}")
    for dropped in report.dropped[:MOST_SHOWN]:
        console.say(str(dropped))
    if len(report.dropped) > MOST_SHOWN:
        console.say(f"{len(report.dropped) - MOST_SHOWN} more things were dropped")


def _store(traces: Sequence[ExecutionTrace], file: Path | None) -> Path:
    from synth.tracing.collector import TraceCollector
    from synth.tracing.traces import dump_trace
    from verifiers.formats.text import plural
    from verifiers.interface import ConfigError

    if file is None:
        settings = config()
        most = settings.evolution.max_traces_stored
        collector = TraceCollector(settings.trace_dir, most)
        if len(collector.files()) + len(traces) > most:
            what = f"has no room for {plural(len(traces), 'trace')}: it keeps {most}, and the oldest would go"
            raise ConfigError(what, "Raise evolution.max_traces_stored, or import into a file with -o", collector.trace_dir)
        for trace in traces:
            collector.store(trace)
        return collector.trace_dir
    append_lines(file, [dump_trace(trace) for trace in traces])
    return file

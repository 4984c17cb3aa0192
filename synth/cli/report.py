"""``assay report``: a saved report in another format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli.exits import exit_code
from synth.cli.outputs import output_options, plan
from synth.cli.verify import show

if TYPE_CHECKING:
    from verifiers.interface import Report


@click.command("report", short_help="Show a saved report in another format.")
@click.argument("file", type=click.Path(path_type=Path))
@output_options()
def command(file: Path, **rest: Any) -> int:
    """Renders FILE, written by `--format json`, in the formats asked for. The exit code is the one of its worst verdict."""
    from verifiers.interface import merge

    reports = read(file)
    show(reports, plan(rest["formats"], rest["files"]), sum(r.seconds for r in reports))
    return exit_code(merge(r.verdict for r in reports))


def read(file: Path) -> list[Report]:
    """The reports of a JSON file: one report, a list of them, or a gate's output.

    Raises:
        ReportFormatError: it holds none.
        ConfigError: it cannot be read, or is not JSON.
    """
    from verifiers.formats.json_report import report_from_json
    from verifiers.interface import ConfigError

    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise ConfigError(f"cannot be read as JSON: {e}", "Give a file written with --format json", file) from e
    if isinstance(data, dict) and isinstance(data.get("reports"), list):
        data = data["reports"]
    rows = data if isinstance(data, list) else [data]
    return [report_from_json(row, str(file)) for row in rows]

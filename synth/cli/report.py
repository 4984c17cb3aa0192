"""``assay report``: a saved report in another format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli.exits import exit_code
from synth.cli.gate import show as show_gate
from synth.cli.outputs import output_options, plan
from synth.cli.verify import show

if TYPE_CHECKING:
    from verifiers.interface import Report

ADVICE = "Give a file written with --format json"


@click.command("report", short_help="Show a saved report in another format.")
@click.argument("file", type=click.Path(path_type=Path))
@output_options()
def command(file: Path, **rest: Any) -> int:
    """Renders FILE, written by `--format json`, in the formats asked for. The exit code is the one of its worst verdict."""
    from verifiers.gating.gate import SCHEMA
    from verifiers.gating.saved import gate_from_json
    from verifiers.interface import NothingToVerify, merge

    outputs = plan(rest["formats"], rest["files"])
    data = _document(file)
    if isinstance(data, dict) and data.get("schema") == SCHEMA:
        gate = gate_from_json(data, str(file))
        show_gate(gate, outputs, sum(r.seconds for r in gate.reports))
        return gate.exit_code
    reports = _reports(data, file)
    if not reports:
        raise NothingToVerify("holds no report", ADVICE, file)
    show(reports, outputs, sum(r.seconds for r in reports))
    return exit_code(merge(r.verdict for r in reports))


def read(file: Path) -> list[Report]:
    """The reports of a JSON file: one report, a list of them, or a gate's output.

    Raises:
        ReportFormatError: it holds none.
        ConfigError: it cannot be read, or is not JSON.
    """
    return _reports(_document(file), file)


def _document(file: Path) -> Any:
    from verifiers.interface import ConfigError

    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as e:
        raise ConfigError(f"cannot be read: {e.strerror}", ADVICE, file) from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"is not UTF-8 text (byte {e.start})", ADVICE, file) from e
    except (ValueError, RecursionError) as e:
        raise ConfigError(f"is not JSON: {e}", ADVICE, file) from e


def _reports(data: Any, file: Path) -> list[Report]:
    from verifiers.formats.json_report import report_from_json

    if isinstance(data, dict) and isinstance(data.get("reports"), list):
        data = data["reports"]
    rows = data if isinstance(data, list) else [data]
    return [report_from_json(row, str(file)) for row in rows]

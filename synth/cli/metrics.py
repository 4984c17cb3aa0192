"""``assay registry metrics``: what the loop and the gate did so far."""

from __future__ import annotations

from pathlib import Path

import click

from synth.cli import console
from synth.cli.files import dump, write_atomically
from synth.cli.home import config


@click.command("metrics", short_help="Print the counters, also as Prometheus text.")
@click.option("--format", "format_", type=click.Choice(["plain", "json", "prometheus"]), default="plain", show_default=True)
@click.option("-o", "--output", "file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to FILE.")
def command(format_: str, file: Path | None) -> int:
    """Prints the counters. `--format prometheus -o FILE` makes a file for a node exporter's text collector."""
    from synth.metrics import Metrics

    metrics = Metrics(path())
    values = metrics.values()
    if not metrics.path.parent.is_dir():
        makers = "crystallize makes it, and record without -o; mkdir does too"
        console.say(f"nothing is counted here: there is no directory {metrics.path.parent} ({makers})")
    if format_ == "prometheus":
        text = metrics.prometheus()
    elif format_ == "json":
        text = dump({"schema": "assay-metrics/1", "metrics": values})
    else:
        text = console.table(("metric", "value"), [(name, f"{value:g}") for name, value in values.items()])
    if file is not None:
        write_atomically(file, text)
    else:
        console.out(text)
    return 0


def path() -> Path:
    """Where the counters are kept: beside the trace store."""
    return config().trace_dir.parent / "metrics.json"

"""``assay explain``: what a check asks, why, and what it catches."""

from __future__ import annotations

import click

from synth.cli import console


@click.command("explain", short_help="Say what a check asks, and why.")
@click.argument("check", required=False)
@click.option("--manual", is_flag=True, help="Every check, as one Markdown page.")
def command(check: str | None, manual: bool) -> int:
    """Explains CHECK (or a rule of `conventions`) with a skill that it catches; without CHECK, lists them all."""
    from verifiers.catalog import CATALOG
    from verifiers.manual import explain, render_manual

    if manual:
        console.out(render_manual())
    elif check is None:
        console.out(console.table(("check", "stage", "question"), [(c.id, c.stage, c.title) for c in CATALOG]))
    else:
        console.out(explain(check))
    return 0

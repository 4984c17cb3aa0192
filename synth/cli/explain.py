"""``assay verify --explain``: what a check asks, why, and what it catches. ``assay explain`` is its name of before."""

from __future__ import annotations

import click

from synth.cli import console

ALL = "all"


@click.command("explain", hidden=True)
@click.argument("check", required=False)
@click.option("--manual", is_flag=True, help="Every check, as one Markdown page.")
def command(check: str | None, manual: bool) -> int:
    """Explains CHECK (or a rule of `conventions`) with a skill that it catches; without CHECK, lists them all."""
    return explain(ALL if manual else check or "")


def explain(check: str) -> int:
    """One check with a skill that it catches, ALL of them as one Markdown page, or for "" a table of them."""
    from verifiers.catalog import CATALOG
    from verifiers.manual import explain, render_manual

    if check == ALL:
        console.out(render_manual())
    elif check:
        console.out(explain(check))
    else:
        console.out(console.table(("check", "stage", "question"), [(c.id, c.stage, c.title) for c in CATALOG]))
    return 0

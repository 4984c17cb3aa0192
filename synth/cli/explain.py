"""``assay explain``: what a check asks, why, and what it catches. Made from the check's own file."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

from synth.cli import console

if TYPE_CHECKING:
    from verifiers.catalog import AnyCheck
    from verifiers.interface import Example


@click.command("explain", short_help="Say what a check asks, and why.")
@click.argument("check", required=False)
@click.option("--manual", is_flag=True, help="Every check, as one Markdown page.")
def command(check: str | None, manual: bool) -> int:
    """Explains CHECK with a skill that it catches; without CHECK, lists them all."""
    from verifiers.catalog import CATALOG

    if manual:
        console.out("\n".join(page(c) for c in CATALOG))
        return 0
    if check is None:
        console.out(console.table(("check", "stage", "question"), [(c.id, c.stage, c.title) for c in CATALOG]))
        return 0
    console.out(page(_find(check)))
    return 0


def _find(id: str) -> AnyCheck:
    from verifiers.catalog import CATALOG, by_id
    from verifiers.interface import NothingToVerify

    # A finding may name a sub-rule: ``conventions-docstring`` is explained by ``conventions``.
    found = by_id(id) or next((c for c in CATALOG if id.startswith(f"{c.id}-")), None)
    if found is None:
        near = difflib.get_close_matches(id, [c.id for c in CATALOG], n=1)
        advice = f"Did you mean {near[0]}?" if near else "List them with: assay explain"
        raise NothingToVerify(f"there is no check {id!r}", advice)
    return found


def page(check: AnyCheck) -> str:
    """The manual page of one check, in Markdown."""
    lines = [f"## {check.id}", "", check.title, "", check.why.strip(), ""]
    for title, examples in (("It catches", check.bad), ("It lets pass", check.good)):
        for example in examples[:1]:
            lines += _example(title, example)
    return "\n".join(lines).rstrip() + "\n"


def _example(title: str, example: Example) -> list[str]:
    return [f"{title}: {example.title}", "", "```python", example.source.strip(), "```", ""]

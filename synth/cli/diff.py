"""``assay diff``: what an edit changed in behaviour, not in text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import FAIL, INCONCLUSIVE, PASS
from synth.cli.home import config
from synth.cli.settings import Judging, sandbox_options
from synth.cli.targets import target_of
from synth.cli.verifying import Verifier

if TYPE_CHECKING:
    from verifiers.gating.discover import Target
    from verifiers.interface import Args, Subject

FILE = click.Path(path_type=Path)


@click.command("diff", short_help="Say what an edit changed in behaviour.")
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@click.option("--evidence", type=FILE, metavar="FILE", help="Starts to compare on. Default: those of NEW, else of OLD.")
@click.option("--bindings", type=FILE, metavar="FILE", help="Arguments. Default: beside the evidence, else inferred for OLD.")
@click.option("--registry", type=FILE, metavar="DIR", help="Where names are registered.")
@sandbox_options
def command(old: Path, new: Path, evidence: Path | None, bindings: Path | None, registry: Path | None, **rest: Any) -> int:
    """Runs OLD and NEW on the same recorded starts, twice each.

    Exit code 0: they did the same. 1: they did not. 3: it cannot be said.
    """
    from synth.behaviour import compare
    from verifiers.evidence import load_evidence
    from verifiers.subject import load_subject

    before, after = (target_of(p, evidence, bindings, registry, static=True) for p in (old, new))
    source = after if after.evidence is not None else target_of(old, evidence, bindings, registry)
    a, b = load_subject(before.skill), load_subject(after.skill)
    for line in _signature(a, b):
        console.out(line)
    with Verifier(Judging.of(rest, config(old, new))) as verifier:
        box = verifier.open()
        if box is None or source.evidence is None:
            return INCONCLUSIVE
        args = _bindings(replace(before, evidence=source.evidence, bindings=source.bindings), verifier)
        traces = load_evidence(source.evidence)
        changes = compare(a, b, traces, args, box)
    for change in changes:
        console.out(f"{change.task_id}, run {change.run}: {change.what}")
    compared = sum(e.task_id in args and e.base is not None for e in traces)
    console.out(f"{len(changes)} difference{'' if len(changes) == 1 else 's'} on {compared} recorded starts, two runs each")
    return FAIL if changes else PASS if compared else INCONCLUSIVE


def _bindings(target: Target, verifier: Verifier) -> dict[str, Args]:
    """Arguments as given, else those inferred for the old version."""
    from verifiers.binding.bindings import load_bindings

    if target.bindings is not None:
        return {task_id: binding.args for task_id, binding in load_bindings(target.bindings).items()}
    judging = replace(verifier.judging, checks=frozenset({"evidence-reproduces"}), no_cache=True)
    return dict(Verifier(judging, _box=verifier.open()).report(target).bindings)


def _signature(old: Subject, new: Subject) -> list[str]:
    """Parameters that came, went or changed."""
    before, after = ({p.name: p for p in s.parameters} for s in (old, new))
    lines = [f"parameter {name} is gone" for name in before if name not in after]
    lines += [f"parameter {name} is new" for name in after if name not in before]
    for name in before.keys() & after.keys():
        a, b = before[name], after[name]
        if (a.annotation, a.required, a.default) != (b.annotation, b.required, b.default):
            lines.append(f"parameter {name}: {a.annotation} -> {b.annotation}, default {a.default!r} -> {b.default!r}")
    return sorted(lines)

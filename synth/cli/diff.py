"""``assay verify NEW --against OLD``: what an edit changed in behaviour, not in text. ``assay diff`` is its name of before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import FAIL, INCONCLUSIVE, PASS
from synth.cli.home import config
from synth.cli.settings import Judging, budget_option, sandbox_options
from synth.cli.targets import target_of
from synth.cli.verifying import Verifier

if TYPE_CHECKING:
    from synth.behaviour import Start
    from verifiers.gating.discover import Target
    from verifiers.interface import Args, Report, Subject

MOST_SHOWN = 6
"""Differences on generated starts: one edit can show on each of hundreds."""
FILE = click.Path(path_type=Path)


@click.command("diff", hidden=True)
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@click.option("--evidence", type=FILE, metavar="FILE", help="Starts to compare on. Default: those of NEW, else of OLD.")
@click.option("--bindings", type=FILE, metavar="FILE", help="Arguments. Default: beside the evidence, else inferred for OLD.")
@click.option("--registry", type=FILE, metavar="DIR", help="Where names are registered.")
@click.option(
    "--recorded", "only_recorded", is_flag=True, help="On the recorded starts alone: in seconds, and blind to everything else."
)
@budget_option
@sandbox_options
def command(old: Path, new: Path, only_recorded: bool, **rest: Any) -> int:
    """Says what NEW does otherwise than OLD."""
    return compared(old, new, only_recorded=only_recorded, **rest)


def compared(
    old: Path, new: Path, evidence: Path | None, bindings: Path | None, registry: Path | None, only_recorded: bool, **rest: Any
) -> int:
    """Runs OLD and NEW on the same recorded starts, twice each, puts both before every check that `assay verify` runs,
    and runs both on the starts that those make up.

    Exit code 0: they did the same. 1: they did not. 3: it cannot be said.
    """
    from synth.behaviour import compare, recorded
    from verifiers.evidence import load_evidence
    from verifiers.formats.text import plural
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
        starts = recorded(load_evidence(source.evidence), args)
        changes = compare(a, b, starts, box)
        for change in changes:
            console.out(f"{change.start.name}, run {change.run}: {change.what}")
        console.out(f"{plural(len(changes), 'difference')} on {len(starts)} recorded starts, two runs each")
        if only_recorded:
            return FAIL if changes else PASS if starts else INCONCLUSIVE
        worlds: dict[str, Start] = {}
        reports = [
            _report(replace(t, evidence=source.evidence, bindings=source.bindings), args, verifier, worlds)
            for t in (before, after)
        ]
        parted = compare(a, b, list(worlds.values()), box)
    for change in parted[:MOST_SHOWN]:
        console.out(f"{change.start.name}: {change.what}")
    more = f", {MOST_SHOWN} shown" if len(parted) > MOST_SHOWN else ""
    console.out(f"{plural(len(parted), 'difference')} on {len(worlds)} generated starts{more}")
    judged = list(_judged(*reports))
    for line in judged:
        console.out(line)
    verdicts = ", then ".join(r.verdict.name for r in reports)
    console.out(f"{plural(len(judged), 'difference')} in what the checks find: {verdicts}")
    return FAIL if changes or parted or judged else PASS if starts else INCONCLUSIVE


def _report(target: Target, args: Mapping[str, Args], verifier: Verifier, worlds: dict[str, Start]) -> Report:
    """The whole report on one version: arguments inferred for the old one would not be for the new one. ``worlds`` gets the
    starts that the checks make up."""
    from synth.behaviour import generated
    from synth.verification import run_job
    from verifiers.interface import Binding

    job = verifier.job(target)
    known = {p.name for p in job.subject.parameters}
    given = {task: Binding(task, {n: v for n, v in values.items() if n in known}) for task, values in args.items()}
    box = verifier.open()
    assert box is not None  # asked before
    with console.talk() as talk:
        options = replace(job.options, stop_early=False, progress=talk.watched, look=lambda c: worlds.update(generated(c)))
        return run_job(replace(job, bindings=given), lambda: box, options)


def _judged(old: Report, new: Report) -> Iterator[str]:
    """The dynamic checks that end otherwise, each with what it says now; what is found or asked in one version alone."""
    from verifiers.catalog import CATALOG
    from verifiers.formats.effects import headline

    for id in (c.id for c in CATALOG if c.stage == "dynamic"):
        before, after = (r.check(id) for r in (old, new))
        ended = [c.verdict.name if c is not None and c.verdict is not None else "not applicable" for c in (before, after)]
        if ended[0] != ended[1]:
            said = next((c for c in (after, before) if c is not None and c.findings), None)
            why = next((headline(f) for f in said.findings if f.severity == "error"), said.why) if said is not None else ""
            yield f"{id}: {ended[0]}, now {ended[1]}{f': {why}' if why else ''}"
            continue
        found = [[headline(f) for f in c.findings if f.severity == "error"] if c is not None else [] for c in (before, after)]
        yield from (f"{id}: still {ended[1]}, found now: {text}" for text in found[1] if text not in found[0])
        yield from (f"{id}: still {ended[1]}, not found any more: {text}" for text in found[0] if text not in found[1])
    asked = [{q.message for q in r.questions} for r in (old, new)]
    yield from (f"new question: {text}" for text in sorted(asked[1] - asked[0]))
    yield from (f"no question any more: {text}" for text in sorted(asked[0] - asked[1]))


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

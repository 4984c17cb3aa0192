"""``assay gate``: every skill below some directories, one verdict, for CI."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.files import append_lines
from synth.cli.home import config
from synth.cli.outputs import Output, emit, output_options, plan
from synth.cli.settings import Judging, judging_options, sandbox_options
from synth.cli.targets import registered
from synth.cli.verify import titles_for
from synth.cli.verifying import Verifier

if TYPE_CHECKING:
    from synth.config import Config
    from synth.fanout import Fleet
    from verifiers.gating.discover import Target
    from verifiers.gating.gate import Facts, Failure, GateResult
    from verifiers.gating.policy import Policy
    from verifiers.interface import Report

FILE = click.Path(path_type=Path)


@click.command("gate", short_help="Judge every skill below a directory, for CI.")
@click.argument("paths", nargs=-1, required=True, type=FILE, metavar="DIR...")
@click.option("--policy", "policy_file", type=FILE, metavar="FILE", help="What must hold, beyond the defaults (YAML).")
@click.option("--since", metavar="REV", help="Only skills that changed since this git revision.")
@click.option("--touched", is_flag=True, help="DIR... are files that changed: only the skills they belong to.")
@click.option("--registry", type=FILE, metavar="DIR", help="Where to look for evidence by name, and for how code was made.")
@click.option("--require-attestation", "public_key", type=FILE, metavar="KEY", help="Close on what is not signed with this key.")
@click.option("--scheduler", metavar="ADDRESS", help="Verify on the workers of this Dask scheduler, each with its own engine.")
@judging_options
@sandbox_options
@output_options()
def command(paths: tuple[Path, ...], policy_file: Path | None, since: str | None, registry: Path | None, **rest: Any) -> int:
    """Verifies every skill below DIR and closes on anything that is not a PASS.

    Exit code 0: all pass. 1: one fails. 3: one is inconclusive. 4: there is no skill.
    """
    outputs = plan(rest.pop("formats"), rest.pop("files"))
    began = time.monotonic()
    settings = config(*paths, since=since)
    judging = Judging.of(rest, settings)
    more = {name: rest[name] for name in ("public_key", "scheduler", "touched")}
    result = gate(paths, judging, policy_of(policy_file, settings), since=since, registry=registry, **more)
    show(result, outputs, time.monotonic() - began)
    return result.exit_code


def gate(
    paths: Sequence[Path],
    judging: Judging,
    policy: Policy,
    *,
    since: str | None = None,
    registry: Path | None = None,
    public_key: Path | None = None,
    scheduler: str | None = None,
    progress: Callable[[str], None] | None = None,
    touched: bool = False,
) -> GateResult:
    """The gate's verdict on every skill below ``paths``. Unchanged skills come from the cache.

    Args:
        progress: Called with the id of each check as it starts.
        scheduler: Address of a Dask scheduler whose workers verify; None = verify here.
        touched: ``paths`` are files that changed, and only the skills that they belong to are judged.
    """
    from dataclasses import replace

    from synth.cli.batch import reports as reports_on
    from verifiers.gating.cache import open_cache
    from verifiers.gating.gate import Facts

    # A waived check must not stop the others: what it would have hidden still counts.
    every = judging.every or bool(policy.waivers)
    salted = replace(judging, salt=policy.seed_salt or judging.salt, min_usable=policy.min_usable, every=every)
    if scheduler is not None:
        salted = replace(salted, database=None)  # its workers have none
    if touched:
        paths = [t.skill for t in _touched(paths)]
    targets, facts = _targets(paths, since, salted) if paths else ([], Facts(unchanged=1))
    with ExitStack() as stack:
        talk = stack.enter_context(console.talk())
        cache = open_cache(trusted=policy.cache == "trusted")
        live = talk.live if progress is None else None
        verifier = stack.enter_context(Verifier(salted, cache, progress or talk.watched, live=live, registry=registry))
        fleet = stack.enter_context(_fleet(scheduler)) if scheduler is not None else None
        if fleet is not None:
            there = fleet.facts(salted.image, salted.packages, engine=not salted.static)
            verifier.facts = lambda: there
        reports, failures = reports_on(targets, verifier, talk, lambda name: registered(name, registry), fleet)
    facts = _with_signatures(facts, reports, targets, public_key)
    if policy.approval:
        approved = _approved(registry)
        facts = replace(facts, approved=lambda report: (report.sha256, report.evidence.sha256) in approved)
    return _judged(reports, failures, policy, facts)


def _fleet(scheduler: str) -> Fleet:
    from synth.fanout import Fleet

    return Fleet(scheduler)


def policy_of(path: Path | None, settings: Config) -> Policy:
    """The policy of a file, and what the configuration says where it says nothing."""
    from verifiers.gating.policy import Policy, load_policy

    configured = Policy(min_usable=settings.verify.min_usable)
    return load_policy(path, defaults=configured) if path is not None else configured


def _targets(paths: Sequence[Path], since: str | None, judging: Judging) -> tuple[list[Target], Facts]:
    """The skills to judge, and what git says of them."""
    from verifiers.gating.discover import changed_since, evidence_changed, find, only_changed
    from verifiers.gating.gate import Facts

    found = find(paths)
    partial = judging.static or judging.checks is not None
    if since is None:
        return found, Facts(allow_partial=partial)
    changed = changed_since(since, paths[0] if paths[0].is_dir() else paths[0].parent)
    chosen = only_changed(found, changed)
    touched = frozenset(t.file for t in chosen if evidence_changed(t, changed))
    console.say(f"{len(chosen)} of {len(found)} skills changed since {since}")
    left_out = len(found) - len(chosen)
    return chosen, Facts(changed=touched, revision_known=True, allow_partial=partial, unchanged=left_out)


def _touched(files: Sequence[Path]) -> list[Target]:
    from verifiers.gating.discover import owners

    found = owners(files)
    if not found:
        console.say(f"none of {len(files)} files belongs to a skill")
    return found


def _approved(registry: Path | None) -> frozenset[tuple[str, str]]:
    """Digests of code and evidence of the versions that a person has approved."""
    from synth.cli.home import registry_dir
    from synth.registry import Registry

    directory = registry_dir(registry)
    if not (directory / "registry.db").is_file():
        return frozenset()
    with Registry(directory) as opened:
        entries = [e for e in opened.list(None) if e.metadata["approved_by"] and e.status != "revoked"]
    return frozenset((str(e.metadata["code_sha256"]), str(e.metadata["evidence_sha256"])) for e in entries)


def _with_signatures(facts: Facts, reports: Sequence[Report], targets: Sequence[Target], public_key: Path | None) -> Facts:
    from dataclasses import replace

    if public_key is None:
        return facts
    from synth.attest import signed_reports

    signed = signed_reports(reports, {t.file: t.home for t in targets}, public_key)
    return replace(facts, attested=True, signed=lambda report: (report.path, report.sha256) in signed)


def _judged(reports: Sequence[Report], failures: Sequence[Failure], policy: Policy, facts: Facts) -> GateResult:
    from verifiers.gating.gate import judge

    return judge(reports, policy, today=datetime.now(UTC).date(), facts=facts, failures=failures)


def show(result: GateResult, outputs: Sequence[Output], seconds: float) -> None:
    """Writes a gate's result in every format that was asked for, and the step summary where GitHub asks for one."""
    from verifiers.formats import render, step_summary
    from verifiers.interface import ConfigError

    colour = console.colour(sys.stdout)

    def text(format: str, to_screen: bool) -> str:
        titles = titles_for(format)
        return render(list(result.reports), format, gate=result, color=colour and to_screen, seconds=seconds, titles=titles)

    emit(outputs, text)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary and any(o.format == "github" for o in outputs):
        try:
            append_lines(Path(summary), step_summary(list(result.reports), gate=result, seconds=seconds).splitlines())
        except ConfigError as e:  # a courtesy: the gate has spoken all the same
            console.say(f"warning: no step summary: {e.diagnostics()}")

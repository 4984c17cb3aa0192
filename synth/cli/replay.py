"""``assay replay``: one finding again, with the two trees to look at."""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import FAIL, PASS, exit_code
from synth.cli.files import must_have_parent
from synth.cli.home import config
from synth.cli.settings import Judging, judging_options, sandbox_options, without
from synth.cli.targets import target_of
from synth.cli.verifying import Verifier

if TYPE_CHECKING:
    from sandbox.interface import Fault, ReplayRecord, Sandbox, Snapshot
    from verifiers.gating.discover import Target
    from verifiers.interface import Args, Evidence, Report

FILE = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class Scene:
    """One replay: which trace, with which arguments and which fault."""

    evidence: Evidence
    args: Args
    fault: Fault | None


@click.command("replay", short_help="Reproduce one finding.")
@click.argument("skill", type=FILE, metavar="SKILL.py|DRAFT_DIR|NAME")
@click.option("--trace", metavar="TASK_ID", help="The trace to replay. Default: the first.")
@click.option("--check", metavar="ID", help="Run this check again, as `assay verify` did.")
@click.option("--crash-at", type=click.IntRange(0), metavar="K", help="Kill the run before tree-changing call K (0: the first).")
@click.option("--torn", is_flag=True, help="With --crash-at: count writes to files too.")
@click.option("--errno-at", metavar="CALLS:K:ERRNO", help="Let call K fail (0: the first), such as write:0:ENOSPC.")
@click.option("--keep", type=FILE, metavar="DIR", help="Leave the trees of the case here: base, expected, first, second.")
@click.option("--evidence", type=FILE, metavar="FILE")
@click.option("--bindings", type=FILE, metavar="FILE")
@click.option("--decisions", type=FILE, metavar="FILE")
@click.option("--registry", type=FILE, metavar="DIR")
@without("static", "every", checks="--check")
@judging_options
@sandbox_options
def command(skill: Path, trace: str | None, check: str | None, keep: Path | None, **rest: Any) -> int:
    """Replays a trace with the skill: once, once more on the result, and with a fault where one is asked for.

    Exit code 0: as expected. 1: the finding shows again. 3: it cannot be said.
    """
    check = check or rest["checks"]
    _useful(rest)
    target = target_of(skill, rest["evidence"], rest["bindings"], rest["registry"], rest["decisions"])
    judging = replace(Judging.of({**rest, "checks": check}, config(skill)), no_cache=True)
    if keep is not None:
        _must_be_new(keep)
    fault = _fault(rest["crash_at"], rest["torn"], rest["errno_at"])
    if check is not None and fault is None:
        return _check_again(target, judging, trace, keep)
    with Verifier(judging) as verifier:
        scene = _scene(target, verifier, trace, fault)
        box = verifier.open()
        if box is None:
            return 3
        return _play(scene, target, box, keep)


def _useful(given: dict[str, Any]) -> None:
    """Raises UsageError for options that would say nothing here."""
    if given["crash_at"] is not None and given["errno_at"] is not None:
        raise click.UsageError("--crash-at and --errno-at are two faults: replay them one by one")
    if given["torn"] and given["crash_at"] is None:
        raise click.UsageError("--torn needs --crash-at")


def _fault(crash_at: int | None, torn: bool, errno_at: str | None) -> Fault | None:
    from sandbox.interface import CrashAt, ErrnoAt

    if crash_at is not None:
        return CrashAt(crash_at, torn)
    if errno_at is None:
        return None
    calls, _, rest = errno_at.partition(":")
    k, _, name = rest.partition(":")
    if calls not in ("change", "write", "chmod", "read") or not (k.isascii() and k.isdecimal()):
        raise click.BadParameter("write CALLS:K:ERRNO with CALLS one of change, write, chmod, read", param_hint="--errno-at")
    if name not in errno.errorcode.values():
        raise click.BadParameter(f"{name!r} is no error's name, such as ENOSPC", param_hint="--errno-at")
    return ErrnoAt(int(k), name, calls)  # type: ignore[arg-type]  # checked just above


def _check_again(target: Target, judging: Judging, trace: str | None, keep: Path | None) -> int:
    """The check with the same seed on the same inputs: what it found, it finds again."""
    from verifiers.formats import render

    with console.talk() as talk, Verifier(replace(judging, every=True), None, talk.step, live=talk.live) as verifier:
        report = _about(verifier.report(target), trace)
        box = verifier.open()
        trees = _trees(report, target, box) if keep is not None and box is not None else {}
    console.raw(render([report], "plain", seconds=report.seconds))
    if trees and keep is not None:
        _keep(keep, trees)
    elif keep is not None:
        console.say("there are no trees to keep: no finding has a start")
    return exit_code(report.verdict)


def _trees(report: Report, target: Target, box: Sandbox) -> dict[str, Snapshot]:
    """The trees of the first finding's case: its start, what is expected where that is known, and two runs of the skill. None
    where no finding has a start."""
    from verifiers.evidence import load_evidence

    examples = [f.counterexample for c in report.checks for f in c.findings if f.counterexample is not None]
    recorded = {e.task_id: (e.base, e.post) for e in load_evidence(target.evidence)} if target.evidence is not None else {}
    for example in examples:
        base, end = (example.base, example.end) if example.base is not None else recorded.get(example.trace or "", (None, None))
        if base is not None:
            first, second = _twice(box, target, base, example.args, None)
            known = {"base": base, "expected": end, "first": first.post, "second": second.post}
            return {name: tree for name, tree in known.items() if tree is not None}
    return {}


def _twice(box: Sandbox, target: Target, base: Snapshot, args: Args, fault: Fault | None) -> tuple[ReplayRecord, ReplayRecord]:
    """The skill, and once more on what it left."""
    from sandbox.interface import RunRequest, SkillJob

    job = SkillJob(target.skill.read_text(encoding="utf-8"), args, function=target.function or None)
    with box.session("skill", 1) as skill:
        first = skill.run(RunRequest(job, base, fault=fault, observe=True))
        return first, skill.run(RunRequest(job, first.post))


def _about(report: Report, trace: str | None) -> Report:
    """The report with the findings about one trace only, where any is."""
    if trace is None:
        return report
    checks = []
    for c in report.checks:
        mine = tuple(f for f in c.findings if f.counterexample is None or f.counterexample.trace in (None, trace))
        checks.append(replace(c, findings=mine if any(f.severity == "error" for f in mine) else c.findings))
    return replace(report, checks=tuple(checks))


def _scene(target: Target, verifier: Verifier, trace: str | None, fault: Fault | None) -> Scene:
    """The trace and its arguments (given, else inferred)."""
    from verifiers.evidence import load_evidence
    from verifiers.interface import Inconclusive, NothingToVerify

    assert target.evidence is not None  # target_of has asked for it
    evidence = load_evidence(target.evidence)
    chosen = next((e for e in evidence if trace in (None, e.task_id)), None)
    if chosen is None:
        known = ", ".join(e.task_id for e in evidence)
        raise NothingToVerify(f"there is no trace {trace!r}", f"There are: {known}", target.evidence)
    judging = replace(verifier.judging, checks=frozenset({"evidence-reproduces"}))
    bindings = Verifier(judging, _box=verifier.open(), _no_box=verifier._no_box).report(target).bindings
    if chosen.task_id not in bindings or chosen.base is None:
        raise Inconclusive(f"trace {chosen.task_id} cannot be replayed with this skill", "Look at: assay verify", target.path)
    return Scene(chosen, bindings[chosen.task_id], fault)


def _play(scene: Scene, target: Target, box: Sandbox, keep: Path | None) -> int:
    from sandbox.interface import ErrnoAt, Snapshot
    from verifiers.expectation.answers import failure
    from verifiers.expectation.steps import replayed

    base = scene.evidence.base or Snapshot()
    with box.session("traces", 1) as traces:
        expected = replayed(scene.evidence, traces, base)
    first, second = _twice(box, target, base, scene.args, scene.fault)
    console.out(f"trace {scene.evidence.task_id}: {scene.evidence.description}")
    # A failing call must be told, or come to nothing; after a kill only the second run has to be right.
    lies = isinstance(scene.fault, ErrnoAt) and failure(first.outcome) is None
    wrong = _say("first run", first, expected if scene.fault is None or lies else None) and lies
    if scene.fault is not None and not first.fault_reached:
        console.out("the fault was not reached: the run made fewer such calls")
    wrong = _say("second run", second, expected) or wrong
    if keep is not None:
        _keep(keep, {"base": base, "expected": expected, "first": first.post, "second": second.post})
    return FAIL if wrong else PASS


def _say(what: str, record: ReplayRecord, expected: Snapshot | None) -> bool:
    """Prints one run; True where its tree is not the expected one or it reports failure."""
    from verifiers.expectation.answers import failure
    from verifiers.expectation.equivalence import differences
    from verifiers.expectation.oracle import without_root

    why = failure(record.outcome)
    ended = f"ended: {record.ended}" if record.ended != "exited" else why or "claims success"
    console.out(f"{what}: {ended}")
    if expected is None:
        return False
    found = differences(without_root(expected), without_root(record.post))
    for difference in found:
        console.out(f"  {difference}")
    return bool(found) or why is not None


def _must_be_new(folder: Path) -> None:
    from verifiers.interface import ConfigError

    must_have_parent(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("is there already, and not an empty directory", "Give a new directory to --keep", folder)


def _keep(folder: Path, trees: dict[str, Snapshot]) -> None:
    from synth.tracing.workspace import write_tree

    for name, tree in trees.items():
        write_tree(tree, folder / name)
    console.say(f"trees are in {folder}")

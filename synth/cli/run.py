"""``assay run``: a skill in the sandbox, on a copy of a directory; ``--apply`` copies the effects back."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import FAIL, PASS
from synth.cli.files import json_object
from synth.cli.home import config, registry_dir
from synth.cli.outputs import emit_document, output_options, plan
from synth.cli.settings import Judging, sandbox_options
from synth.cli.targets import entry_of, target_of

if TYPE_CHECKING:
    from sandbox.interface import Effect, ReplayRecord, SkillJob, Snapshot, Surroundings
    from synth.interface import RegistryEntry
    from verifiers.interface import Subject

SCHEMA = "assay-run/1"


@click.command("run", short_help="Run a skill in the sandbox on a copy of a directory.")
@click.argument("skill", type=click.Path(path_type=Path), metavar="NAME|SKILL.py|DRAFT_DIR")
@click.option(
    "--registry", type=click.Path(path_type=Path), metavar="DIR", help="Where NAME is registered. Default: the configured one."
)
@click.option("--args", "arguments", default="{}", metavar="JSON", help="Arguments, a JSON object or @FILE.")
@click.option(
    "--workspace",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Directory to work on (a copy). Default: here.",
)
@click.option("--diff", "diff_", is_flag=True, help="Show the effects as diffs, before you --apply them.")
@click.option("--apply", "apply_", is_flag=True, help="Copy the effects back into the directory when the skill claims success.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0.1, 3600),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest run.",
)
@sandbox_options
@output_options(("plain", "json"))
def command(
    skill: Path, registry: Path | None, arguments: str, workspace: Path, apply_: bool, diff_: bool, timeout_s: float, **rest: Any
) -> int:
    """Runs SKILL on a copy of the workspace and prints its value and its effects. Without --apply the directory stays as it is.

    Exit code 0: the skill claims success. 1: it reported failure. 3: the sandbox could not run it.
    """
    from verifiers.formats.text import plural

    outputs = plan(rest["formats"], rest["files"], ("plain", "json"))
    args = json_object(arguments, "--args")
    judging = Judging.of(rest, config(skill))
    began = time.monotonic()
    subject, function = _subject(skill, registry)
    _in_use(skill, registry, apply_=apply_)
    _must_fit(subject, args)
    document, changes = run_skill(subject.source, function, args, workspace, judging, apply_=apply_, timeout_s=timeout_s)
    emit_document(outputs, document, _plain(document, changes, workspace, time.monotonic() - began, diff_))
    if apply_ and document["claims_success"]:
        console.say(f"applied {plural(len(changes), 'effect')} to {workspace}")
    return PASS if document["claims_success"] else FAIL


def run_skill(
    source: str,
    function: str,
    args: Mapping[str, Any],
    workspace: Path,
    judging: Judging,
    *,
    apply_: bool,
    timeout_s: float = 60.0,
) -> tuple[dict[str, Any], tuple[Effect, ...]]:
    """Runs a skill on a copy of a directory; copies the effects back if asked to and if it claims success.

    Args:
        function: Which one, where the source has several; "" = its only one.

    Returns:
        The ``assay-run/1`` document and the effects.

    Raises:
        SandboxError: it cannot be run.
        WorkspaceError: the directory cannot be read whole, or changed meanwhile (then nothing was applied).
    """
    from sandbox.interface import SkillJob, effects
    from synth.tracing.workspace import apply, snapshot_of

    base = snapshot_of(workspace)
    with judging.sandbox(workers=1) as box:
        job = SkillJob(source, args, function=function or None)
        record = _run(box.session("run", workers=1), job, base, _author(workspace), timeout_s)
    changes = _without_root(effects(base, record.post))
    document = describe(record, changes)
    if apply_ and document["claims_success"]:
        apply(changes, workspace)
    return document, changes


def _subject(skill: Path, registry: Path | None) -> tuple[Subject, str]:
    """The skill, and which of its functions is meant."""
    from verifiers.subject import load_subject

    target = target_of(skill, registry=registry, static=True)
    return load_subject(target.skill, function=target.function), target.function


def _in_use(skill: Path, registry: Path | None, *, apply_: bool) -> None:
    """Says that a registered skill waits: nothing else will find it. One that was retired is not run by its name, and what one
    does that passes no more is not put back.

    Raises:
        WrongState: it is archived or revoked, or passes no more and is to be applied.
    """
    from synth.registry import WrongState

    entry = entry_of(skill.name, registry) if not skill.exists() else None
    if entry is None or entry.status == "active":
        return
    if entry.metadata["drifted"]:
        why = f"To see why: assay registry verify {entry.name}"
        if apply_:
            raise WrongState("it no longer passes: its effects are not applied", why, entry.name)
        console.say(f"{entry.name} is not in use: it no longer passes. {why}")
        return
    if entry.status == "staged":
        advice = f"assay registry activate {entry.name} {entry.version[:12]} --approver WHO"
        console.say(f"{entry.name} is not in use, it is {entry.status}. To put it in use: {advice}")
        return
    back = (
        f"To put it in use again: assay registry activate {entry.name}"
        if entry.status == "archived"
        else "It was retired forever"
    )
    why = _retired_for(entry, registry)
    raise WrongState(f"it is {entry.status}{f' ({why})' * bool(why)}: what was retired is not run", back, entry.name)


def _retired_for(entry: RegistryEntry, registry: Path | None) -> str:
    """The reason that was given; "" where there was none."""
    from synth.registry import Registry

    with Registry(registry_dir(registry)) as opened:
        reasons = [str(e.detail.get("reason", "")) for e in opened.history(entry.name) if e.kind == entry.status]
    return reasons[-1] if reasons else ""


def _must_fit(subject: Subject, args: Mapping[str, Any]) -> None:
    """What the skill's own signature says of arguments, before anything runs.

    Raises:
        ConfigError: one is missing, unknown or of another type.
    """
    from verifiers.binding.argtypes import fits
    from verifiers.interface import ConfigError

    known = {p.name: p for p in subject.parameters}
    signature = ", ".join(f"{p.name}: {p.annotation}{'' if p.required else ' (optional)'}" for p in subject.parameters)
    advice = f"{subject.name} takes {signature or 'no arguments'}"
    for name, value in args.items():
        if name not in known:
            raise ConfigError(f"there is no argument {name!r}", advice, "--args")
        if not fits(known[name].annotation, value):
            raise ConfigError(f"{name} is no {known[name].annotation}: {value!r}", advice, "--args")
    for parameter in subject.parameters:
        if parameter.required and parameter.name not in args:
            raise ConfigError(f"{parameter.name} is missing", advice, "--args")


def _run(session: Any, job: SkillJob, base: Snapshot, author: Surroundings, timeout_s: float) -> ReplayRecord:
    from sandbox.interface import Limits, RunRequest

    with session:
        request = RunRequest(job, base, author, observe=True, limits=Limits(wall_s=timeout_s))
        record: ReplayRecord = session.run(request)
    return record


def _author(workspace: Path) -> Surroundings:
    """In a repository whoever git says makes commits there, now: they may be put in place."""
    from sandbox.interface import Surroundings
    from synth.config_origin import git_says

    if not (workspace / ".git").exists():
        return Surroundings()
    who = git_says(workspace, "var", "GIT_AUTHOR_IDENT")
    if who is None:
        console.say("git knows no author here: commits are made by agent <agent@sandbox>. To be named: git config user.name NAME")
        return Surroundings()
    return Surroundings(author=who.decode("utf-8", "replace").strip())


def _without_root(changes: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """The mode of the directory itself is its owner's business: the copy's was the sandbox's."""
    from sandbox.interface import ROOT

    return tuple(c for c in changes if c.path != ROOT)


def describe(record: ReplayRecord, changes: tuple[Effect, ...]) -> dict[str, Any]:
    """The ``assay-run/1`` document."""
    from sandbox.interface import Raised, Returned
    from verifiers.expectation.answers import failure

    outcome = record.outcome
    raised = {"type": outcome.type, "message": outcome.message, "line": outcome.line} if isinstance(outcome, Raised) else None
    return {
        "schema": SCHEMA,
        "value": outcome.value if isinstance(outcome, Returned) else None,
        "raised": raised,
        "claims_success": failure(outcome) is None and record.ended == "exited",
        "failure": failure(outcome),
        "effects": [{"path": c.path, "kind": c.kind} for c in changes],
        "outside": [*record.outside, *record.network, *(f"left behind: {x.kind} {x.detail}" for x in record.leftovers)],
        "post_workspace": record.post.to_json(),
        "seconds": round(record.duration_s, 3),
    }


def _plain(document: dict[str, Any], changes: tuple[Effect, ...], workspace: Path, seconds: float, diff: bool) -> str:
    import json

    from synth.cli.trees import diff_lines
    from verifiers.formats.text import plural

    lines = [f"value: {json.dumps(document['value'])}"] if document["failure"] is None else [f"failed: {document['failure']}"]
    lines += diff_lines(changes) if diff else [f"{c.kind:8} {c.path}" for c in changes]
    lines += [f"outside  {text}" for text in document["outside"]]
    lines.append(f"{plural(len(changes), 'effect')} on a copy of {workspace} ({seconds:.1f} s)")
    return "\n".join(lines)

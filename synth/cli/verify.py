"""``assay verify``: one skill, its evidence, one report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep, strftime
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from synth.cli import console
from synth.cli.counting import count_reports
from synth.cli.diff import compared
from synth.cli.exits import FAIL, INCONCLUSIVE, PASS, exit_code
from synth.cli.explain import explain
from synth.cli.fix import fix
from synth.cli.home import config
from synth.cli.next_steps import DRAFTS
from synth.cli.outputs import Output, emit, output_options, plan
from synth.cli.settings import Judging, judging_options, sandbox_options
from synth.cli.targets import targets_of
from synth.cli.verifying import Verifier

if TYPE_CHECKING:
    from verifiers.gating.discover import Target
    from verifiers.interface import Report

FILE = click.Path(path_type=Path)
_BADNESS = (FAIL, INCONCLUSIVE, PASS)
FILES = ("evidence", "bindings", "decisions", "registry")
COMPARED = ("evidence", "bindings", "registry", "budget", "image", "runtime", "workers", "host")
INSTEAD = {"explain": (), "fix": ("skill", "profile", "diff"), "against": ("skill", "recorded", *COMPARED)}
"""What is done instead of a verification -> what counts for it."""
WITH = {"diff": "fix", "recorded": "against"}
"""Options that count for one of those alone."""
COMMANDLINE = ParameterSource.COMMANDLINE


@click.command("verify", short_help="Judge one skill on its evidence.")
@click.argument("skill", type=FILE, required=False, metavar="SKILL.py[::FUNCTION]|DRAFT_DIR|NAME")
@click.option("--evidence", type=FILE, metavar="FILE", help="Traces to judge by. Default: beside the skill, else registered.")
@click.option("--bindings", type=FILE, metavar="FILE", help="Arguments for each trace. Default: beside the skill, else inferred.")
@click.option("--decisions", type=FILE, metavar="FILE", help="Answers to questions. Default: beside the evidence.")
@click.option("--registry", type=FILE, metavar="DIR", help="Where NAME is registered.")
@judging_options
@sandbox_options
@click.option("--watch", is_flag=True, help="Verify again whenever the skill, its evidence or its bindings change.")
@click.option(
    "--explain",
    is_flag=False,
    flag_value="",
    metavar="[CHECK]",
    help="Instead: say what CHECK asks, and why. Without it, list the checks; `all`: as one Markdown page.",
)
@click.option("--fix", is_flag=True, help="Instead: apply the safe fixes of the static checks.")
@click.option("--diff", is_flag=True, help="With --fix: show what would change; write nothing.")
@click.option("--against", type=FILE, metavar="OLD", help="Instead: say what SKILL does otherwise than OLD, one of before.")
@click.option("--recorded", is_flag=True, help="With --against: on the recorded starts alone, in seconds, blind to all else.")
@output_options()
@click.pass_context
def command(ctx: click.Context, /, skill: Path | None, watch: bool, **rest: Any) -> int:
    """Replays the evidence with the skill in the sandbox and says which property breaks, with a counterexample.

    --against runs both on the same recorded starts and on those that the checks make up, and puts both before every check.

    Exit code 0: PASS, the same behaviour, or all fixed. 1: FAIL, other behaviour, or errors that --fix leaves. 3: INCONCLUSIVE
    (something needed is missing, or replays disagree).
    """
    instead = _instead(ctx)
    if rest["explain"] is not None:
        return explain(rest["explain"])
    if skill is None:
        raise click.MissingParameter(ctx=ctx, param_hint="SKILL", param_type="argument")
    if instead == "fix":
        return fix([skill], rest["profile"], only_show=rest["diff"])
    if instead == "against":
        return compared(rest["against"], skill, only_recorded=rest["recorded"], **{name: rest[name] for name in COMPARED})
    outputs = plan(rest.pop("formats"), rest.pop("files"))
    judging = Judging.of(rest, config(skill))
    files: dict[str, Path | None] = {name: rest[name] for name in FILES}
    judging = replace(judging, reproduce_with=again(judging, files))
    targets = targets_of(skill, **files, static=judging.static)
    for target in targets:
        _check_exclusions(target, judging)
    registry = files["registry"]
    return _watch(targets, judging, outputs, registry) if watch else _once(targets, judging, outputs, registry)


def _instead(ctx: click.Context) -> str:
    """What is done instead of a verification; "" for none.

    Raises:
        click.UsageError: an option was given that says nothing there.
    """
    given = {
        p.name: p.opts[0] if isinstance(p, click.Option) else "SKILL"
        for p in ctx.command.params
        if ctx.get_parameter_source(p.name or "") is COMMANDLINE
    }
    instead = next((name for name in INSTEAD if name in given), "")
    for name, flag in given.items():
        if not instead and name in WITH:
            raise click.UsageError(f"{flag} says nothing without --{WITH[name]}", ctx)
        if instead and name not in (instead, *INSTEAD[instead], "quiet", "verbose"):
            raise click.UsageError(f"{flag} says nothing with --{instead}", ctx)
    return instead


def _check_exclusions(target: Target, judging: Judging) -> None:
    """A misspelt exclusion would exclude nothing.

    Raises:
        click.BadParameter: no trace of the evidence has that task_id.
    """
    if not judging.excluded or target.evidence is None:
        return
    from verifiers.evidence import load_evidence

    known = [e.task_id for e in load_evidence(target.evidence)]
    for task_id in judging.excluded:
        if task_id not in known:
            raise click.BadParameter(f"there is no trace {task_id!r}. There are: {', '.join(known)}", param_hint="--exclude")


def again(judging: Judging, files: Mapping[str, Path | None]) -> tuple[str, ...]:
    """The options that a command must repeat to see the same findings, for a shell."""
    told = [(name, str(path)) for name, path in files.items() if path is not None]
    told += [("seed", str(judging.seed))] if judging.seed is not None else []
    told += [("exclude", f"{task_id}={why}") for task_id, why in judging.excluded.items()]
    return tuple(f"--{name} {shlex.quote(value)}" for name, value in told)


def _once(targets: Sequence[Target], judging: Judging, outputs: list[Output], registry: Path | None) -> int:
    """The worst verdict's exit code: FAIL before INCONCLUSIVE before PASS."""
    began = monotonic()
    fresh: list[Report] = []
    found: list[Report] = []
    with console.talk() as talk, _verifier(judging, talk, registry) as verifier:
        for target in targets:
            known = verifier.known(target)
            found.append(known or verifier.fresh(target))
            fresh += [] if known else found[-1:]
    count_reports(fresh, verifier.cache_hits)
    show(found, outputs, monotonic() - began)
    say_what_next(targets, found, registry)
    return min((exit_code(r.verdict) for r in found), key=_BADNESS.index)


def say_what_next(targets: Sequence[Target], reports: Sequence[Report], registry: Path | None) -> None:
    """A draft that was kept, and passes whole now, is one command away from being a skill."""
    kept = config().path(DRAFTS).resolve()
    where = f" --registry {shlex.quote(str(registry))}" if registry is not None else ""
    for target, report in zip(targets, reports, strict=True):
        if exit_code(report.verdict) == PASS and not report.partial and target.skill.resolve().is_relative_to(kept):
            console.say(f"next: assay registry add {shlex.quote(str(target.skill.parent))}{where}")


def _verifier(judging: Judging, talk: console.Talk, registry: Path | None) -> Verifier:
    from verifiers.gating.cache import open_cache

    return Verifier(judging, open_cache(), talk.watched, live=talk.live, registry=registry)


def show(reports: list[Report], outputs: list[Output], seconds: float) -> None:
    """Writes reports in every format that was asked for."""
    from verifiers.formats import render

    colour = console.colour(sys.stdout)

    def text(format: str, to_screen: bool) -> str:
        return render(reports, format, color=colour and to_screen, seconds=seconds, titles=titles_for(format))

    emit(outputs, text)


def titles_for(format: str) -> Mapping[str, str] | None:
    """None (look them up) for the formats that show the checks' questions: looking them up imports every check."""
    return None if format in ("html", "sarif") else {}


@dataclass(frozen=True, slots=True)
class _Stamp:
    """When the watched files changed last."""

    times: tuple[float, ...]

    @classmethod
    def of(cls, targets: Sequence[Target]) -> _Stamp:
        return cls(tuple(p.stat().st_mtime if p.exists() else 0.0 for t in targets for p in t.files))


def _watch(
    targets: Sequence[Target], judging: Judging, outputs: list[Output], registry: Path | None, pause_s: float = 0.5
) -> int:
    """Verifies on every change until interrupted. Errors in the files are shown, not fatal."""
    from verifiers.interface import AssayError

    seen = None
    quick = replace(judging, no_cache=True)
    while True:
        stamp = _Stamp.of(targets)
        if stamp != seen:
            if seen is not None:
                console.say(f"---- {strftime('%H:%M:%S')} {targets[0].skill} changed")
            seen = stamp
            try:
                _once(targets, quick, outputs, registry)
            except AssayError as e:
                console.error(e.diagnostics())
            console.say(f"{strftime('%H:%M:%S')} watching {targets[0].skill} (Ctrl-C ends)")
        sleep(pause_s)

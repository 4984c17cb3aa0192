"""``assay verify``: one skill, its evidence, one report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.exits import exit_code
from synth.cli.home import config
from synth.cli.locate import Located, locate, require_evidence
from synth.cli.outputs import Output, emit, output_options, plan
from synth.cli.settings import Judging, judging_options, sandbox_options

if TYPE_CHECKING:
    from sandbox.interface import Sandbox
    from verifiers.interface import Report


@click.command("verify", short_help="Judge one skill on its evidence.")
@click.argument("skill", type=click.Path(path_type=Path), metavar="SKILL.py|DRAFT_DIR|NAME")
@click.option(
    "--evidence", type=click.Path(path_type=Path), metavar="FILE", help="Traces to judge by. Default: beside the skill."
)
@click.option(
    "--bindings",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Arguments for each trace. Default: beside the skill, else inferred.",
)
@click.option("--registry", type=click.Path(path_type=Path), metavar="DIR", help="Where NAME is registered.")
@judging_options
@sandbox_options
@click.option("--watch", is_flag=True, help="Verify again whenever the skill, its evidence or its bindings change.")
@output_options()
def command(skill: Path, evidence: Path | None, bindings: Path | None, registry: Path | None, watch: bool, **rest: Any) -> int:
    """Replays the evidence with the skill in the sandbox and says which property breaks, with a counterexample.

    Exit code 0: PASS. 1: FAIL. 3: INCONCLUSIVE (something needed is missing, or replays disagree).
    """
    outputs = plan(rest.pop("formats"), rest.pop("files"))
    judging = Judging.of(rest, config())
    located = locate(skill, evidence, bindings, registry)
    if watch:
        return _watch(located, judging, outputs)
    return _once(located, judging, outputs)


def _once(located: Located, judging: Judging, outputs: list[Output]) -> int:
    from verifiers.formats import render

    started = time.monotonic()
    report = judge(located, judging)
    emit(outputs, lambda format: render([report], format, seconds=time.monotonic() - started))
    return exit_code(report.verdict)


def judge(located: Located, judging: Judging) -> Report:
    """Loads the parts and verifies them. Without an engine the dynamic checks are not checked, and the verdict says so."""
    from verifiers.bindings import load_bindings
    from verifiers.evidence import load_evidence
    from verifiers.subject import load_subject
    from verifiers.verify import verify

    subject = load_subject(located.skill, judging.profile)
    if judging.static:
        return verify(subject, [], None, options=judging.options())
    evidence = load_evidence(require_evidence(located))
    bindings = load_bindings(located.bindings) if located.bindings is not None else None
    with sandbox(judging) as box:
        return verify(subject, evidence, bindings, sandbox=box, options=judging.options())


@contextmanager
def sandbox(judging: Judging) -> Iterator[Sandbox | None]:
    """An open sandbox, or None (and the reason on stderr) where there is no engine."""
    from sandbox import open_sandbox
    from sandbox.interface import SandboxError

    try:
        box = open_sandbox(image=judging.image, runtime=judging.runtime, workers=judging.workers, host=judging.host)
    except SandboxError as e:
        console.error(e.diagnostics())
        yield None
        return
    with box:
        yield box


@dataclass(frozen=True, slots=True)
class _Stamp:
    """When the watched files changed last."""

    times: tuple[float, ...]

    @classmethod
    def of(cls, located: Located) -> _Stamp:
        paths = [p for p in (located.skill, located.evidence, located.bindings) if p is not None]
        return cls(tuple(p.stat().st_mtime if p.exists() else 0.0 for p in paths))


def _watch(located: Located, judging: Judging, outputs: list[Output], pause_s: float = 0.5) -> int:
    """Verifies on every change until interrupted. Errors in the files are shown, not fatal."""
    from verifiers.interface import AssayError

    seen = None
    while True:
        stamp = _Stamp.of(located)
        if stamp != seen:
            seen = stamp
            try:
                _once(located, judging, outputs)
            except AssayError as e:
                console.error(e.diagnostics())
            console.say(f"watching {located.skill} (Ctrl-C ends)")
        time.sleep(pause_s)

"""``assay registry lift``: what the registered skills change for a real agent."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.home import config, open_registry, registry_option
from synth.cli.outputs import emit_document, output_options, plan
from synth.cli.settings import Judging, sandbox_options
from synth.cli.tracefiles import read_traces

if TYPE_CHECKING:
    from synth.config import Config
    from synth.export import Skill
    from synth.interface import ExecutionTrace
    from synth.lift import Client, Lift, Task
    from synth.registry import Registry

AGENTS = ("claude-code", "codex", "gemini-cli")
PLAIN_JSON = ("plain", "json")


@click.command("lift", short_help="Measure what skills change for a real agent.")
@click.argument("traces", nargs=-1, type=click.Path(path_type=Path), metavar="[TRACES]...")
@click.option("--agent", type=click.Choice(AGENTS), required=True, help="Whose client is run, on your key.")
@registry_option
@click.option("--model", metavar="NAME", help="Default: the client's own.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Recordings at most.")
@click.option("--timeout", type=click.FloatRange(1), default=600.0, show_default=True, metavar="SECONDS", help="Of one run.")
@click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="Begin no further pair once so much is spent.")
@click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="The same in tokens.")
@click.option("--yes", is_flag=True, help="Do not ask before the agent acts.")
@sandbox_options
@output_options(PLAIN_JSON)
def command(traces: tuple[Path, ...], agent: str, registry: Path | None, limit: int, *, yes: bool, **rest: Any) -> int:
    """Has the agent do each held-out recording of TRACES twice: without the registered skills and with them. Default: the
    recordings that the skills were made without. Compares the end with what the recording's own commands do.

    The agent acts on this machine without asking, in copies that are removed afterwards, with a home directory of its own. So
    you are asked first, once.

    Exit code 0: measured. 3: the agent did nothing. 4: there is no held-out recording, or no skill.
    """
    from synth.lift import CLIENTS, plain, to_json
    from synth.lift.measuring import version

    outputs = plan(rest["formats"], rest["files"], PLAIN_JSON)
    settings, client = config(), CLIENTS[agent]
    program = _program(client)
    with open_registry(registry, must_exist=True) as opened:
        skills, found = _held_out(opened, traces)
    tasks, not_run = _replayed(found, Judging.of(rest, settings), limit)
    lift = _lift(client, program, skills, settings, rest)
    interrupted = False
    _ask_first(f"{agent} acts on this machine without asking, in {2 * len(tasks)} copies below {tempfile.gettempdir()}", yes)
    try:
        with console.talk() as talk:
            lift.run(tasks, talk.step)
    except KeyboardInterrupt:
        interrupted, lift.stopped = True, "interrupted"
    emit_document(outputs, to_json(lift, version(program), not_run), plain(lift, version(program), not_run))
    return 130 if interrupted else 0


def _ask_first(what: str, yes: bool) -> None:
    """Nothing happens unless somebody says so.

    Raises:
        ConfigError: there is nobody to ask.
    """
    from verifiers.interface import ConfigError

    console.say(what)
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError("nobody is here to be asked whether the agent may act", "Say --yes, on a machine where it may")
    click.confirm("May it", abort=True, err=True)


def _program(client: Client) -> str:
    """The client's path.

    Raises:
        ConfigError: it is not there, or there is no key for it.
    """
    from verifiers.interface import ConfigError

    program = shutil.which(client.program)
    if program is None:
        raise ConfigError(f"{client.program} is not installed", f"Install it with: npm install -g {client.package}")
    if not any(os.environ.get(name) for name in client.keys):
        raise ConfigError(f"{client.name} has no key: it sees nothing of your own settings", f"Set {' or '.join(client.keys)}")
    return program


def _held_out(registry: Registry, paths: Sequence[Path]) -> tuple[list[Skill], list[ExecutionTrace]]:
    """The skills, and the successful recordings that none of them was made from.

    Raises:
        NothingToVerify: there is no skill, or no such recording.
    """
    from synth.lift.measuring import active, held_out
    from verifiers.interface import NothingToVerify

    skills = active(registry)
    if not skills:
        raise NothingToVerify("there is no active skill", "Make some with: assay crystallize TRACES --registry DIR")
    found = held_out(registry, read_traces(paths) if paths else None)
    if not found:
        raise NothingToVerify("there is no recording that the skills were made without", "Name TRACES that are newer than they")
    return skills, found


def _replayed(found: Sequence[ExecutionTrace], judging: Judging, limit: int) -> tuple[list[Task], dict[str, str]]:
    """What can be asked, and task_id -> why the rest cannot.

    Raises:
        NothingToVerify: nothing can.
    """
    from synth.crystallization.judge import SandboxJudge
    from synth.lift.measuring import tasks_of
    from synth.tracing.traces import to_evidence
    from verifiers.expectation.oracle import replay
    from verifiers.interface import NothingToVerify

    with judging.sandbox() as box:
        judge = SandboxJudge(box)
        evidence = judge.rebuilt([to_evidence(t) for t in found])
        with judge.replays() as session:
            replayed = replay(evidence, session)
    tasks: list[Task] = []
    not_run = dict(replayed.unusable)
    for task, why in tasks_of(replayed.usable):
        if not why and len(tasks) < limit:
            tasks.append(task)
        else:
            not_run[task.task_id] = why or f"--limit {limit}"
    if not tasks:
        task_id, why = next(iter(not_run.items()))
        raise NothingToVerify(
            f"no recording can be asked for again: {task_id}: {why}", "Record in the directory that is worked on"
        )
    return tasks, not_run


def _lift(client: Client, program: str, skills: Sequence[Skill], settings: Config, rest: dict[str, Any]) -> Lift:
    from synth.lift import Lift
    from synth.lift.trial import Settings
    from synth.llm.budget import Price

    prices = {n: Price(p.input, p.output, p.cache_read, p.cache_write) for n, p in settings.llm.prices.items()}
    how = Settings(client, program, os.environ, rest["model"], rest["timeout"])
    return Lift(how, skills, rest["max_cost"], rest["max_tokens"], prices)

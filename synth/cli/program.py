"""Entry point: finds the command, runs it, and turns whatever ends it into an exit code.

Exit codes: 0 pass · 1 fail · 2 usage or configuration · 3 inconclusive · 4 nothing to verify · 70 internal · 130 interrupted.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import click

from synth.cli import console
from synth.cli.groups import Group
from synth.cli.talking import talking
from synth.shadow import shadowed

COMMANDS: dict[str, tuple[str, str]] = {
    "record": ("record", "Run a command and keep it as a trace."),
    "import": ("importing", "Bring in traces from other tools."),
    "hook": ("hook", "Record what agents do, where they do it."),
    "crystallize": ("crystallize", "Turn traces into verified, registered skills."),
    "verify": ("verify", "Judge one skill on its evidence."),
    "gate": ("gate", "Judge every skill below a directory, for CI."),
    "route": ("route", "Find the skill for a request."),
    "run": ("run", "Run a skill in the sandbox on a copy of a directory."),
    "registry": ("registry", "List, activate, retire, audit registered skills."),
    "export": ("export", "Write a registered skill for another agent."),
    "report": ("report", "Show a saved report in another format."),
    "engine": ("engine", "Check, start or prepare the sandbox."),
    "mcp": ("serve", "Offer verification to an agent host over MCP."),
    "answer": ("answer", "Answer a question that a report asks."),
    "replay": ("replay", "Reproduce one finding."),
    "config": ("configuration", "Write or trust a configuration; complete in a shell."),
}
"""Command -> (module of synth.cli that defines ``command``, one line of help)."""
MAIN = 13
"""So many of them are the work itself; the others are listed after them."""
OLD = {
    "patterns": ("patterns", "crystallize --dry-run"),
    "synth": ("synthesize", "crystallize --drafts DIR"),
    "feedback": ("feedback", "route --outcome NAME ok|fail"),
    "store": ("store", "hook show, hook export and hook prune"),
    "explain": ("explain", "verify --explain CHECK"),
    "fix": ("fix", "verify --fix SKILL"),
    "diff": ("diff", "verify NEW --against OLD"),
    **{name: (name, f"registry {name}") for name in ("evolve", "lift", "drift", "attest", "metrics")},
    **{name: (name, f"config {name}") for name in ("init", "trust", "completion")},
}
"""Names of before -> (module, what to write now)."""


class LazyGroup(Group):
    """A group whose commands are imported when they are used, and listed without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = COMMANDS.get(cmd_name) or OLD.get(cmd_name)
        if found is None:
            return None
        module = importlib.import_module(f"synth.cli.{found[0]}")
        command = module.command
        assert isinstance(command, click.Command)
        return talking(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = [(name, help_line) for name, (_, help_line) in COMMANDS.items()]
        for title, some in (("Commands", lines[:MAIN]), ("Now and then", lines[MAIN:])):
            with formatter.section(title):
                formatter.write_dl(some)


@click.command(
    cls=LazyGroup, old={name: now for name, (_, now) in OLD.items()}, invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
@click.version_option(package_name="skill-assay", prog_name="assay", message="%(prog)s %(version)s")
@click.option(
    "--config", "config_file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="Settings. Default: the nearest assay.yaml; in CI, none of the judged tree.",
)  # fmt: skip
@click.pass_context
def assay(ctx: click.Context, config_file: Path | None) -> None:
    """Replays recorded evidence in a sandbox until a learned skill is shown to reproduce it, or a counterexample is found.

    Without a command: how things stand here, and the next step.

    Exit codes: 0 pass, 1 fail, 2 usage or configuration, 3 inconclusive, 4 nothing to verify, 70 internal, 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        from synth.cli.state import stand

        console.out("\n".join(stand().lines()))


def main() -> None:
    """Runs the command of ``sys.argv`` and exits with its code."""
    _usable_streams()
    sys.exit(run(sys.argv[1:]))


def _usable_streams() -> None:
    """Output that was closed goes nowhere, and what the terminal's encoding lacks is written as an escape."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123  lives as long as the program
        getattr(sys, name).reconfigure(errors="backslashreplace")


def run(argv: Sequence[str]) -> int:
    """Runs one command line and returns its exit code. Prints errors, raises nothing."""
    problem = _nowhere() or shadowed()
    if problem:
        console.error(problem)
        return 2
    signal.signal(signal.SIGTERM, _terminated)
    _send_spans()
    try:
        result = assay.main(args=list(argv), prog_name="assay", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as e:
        return e.exit_code
    except click.ClickException as e:
        _usage(e)
        return 2
    except (KeyboardInterrupt, click.Abort):
        console.error("interrupted")
        return 130
    except BrokenPipeError:
        # The reader went away (`assay … | head`): nothing to say, and nothing more may be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Exception as e:  # noqa: BLE001  the one place where every error becomes an exit code
        return _failed(e)
    return result if isinstance(result, int) else 0


def _nowhere() -> str:
    """One sentence when the working directory was removed under us; empty when it is there."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "the working directory does not exist any more: change to another one"
    return ""


def _send_spans() -> None:
    """Configures OpenTelemetry, if the environment asks for it."""
    if not {"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT"} & set(os.environ):
        return
    from sandbox import telemetry

    problem = telemetry.configure()
    if problem:
        console.say(problem)


def _terminated(signum: int, frame: FrameType | None) -> None:
    """SIGTERM unwinds like Ctrl-C, so that containers are removed on the way out."""
    raise KeyboardInterrupt


def _usage(e: click.ClickException) -> None:
    if isinstance(e, click.exceptions.NoArgsIsHelpError):
        console.say(e.format_message())
        return
    context = getattr(e, "ctx", None)
    hint = f" (see: {context.command_path} --help)" if isinstance(context, click.Context) else ""
    console.error(f"{' '.join(e.format_message().split()).rstrip('.')}{hint}")


def _failed(error: Exception) -> int:
    from sandbox.interface import SandboxError
    from verifiers.interface import AssayError

    if isinstance(error, AssayError):
        console.error(error.diagnostics())
        return error.exit_code
    if isinstance(error, SandboxError):
        console.error(error.diagnostics())
        return 3
    if isinstance(error, OSError) and error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        from synth.cli.room import full_places

        where = " and ".join(full_places()) or "the output"
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more may be written at exit
        console.error(f"{where} cannot be written: {error.strerror}. Make room, or write elsewhere")
        return 2
    if isinstance(error, OSError) and error.filename is not None:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
        console.error(f"{where}: {error.strerror or error}. Check the path, its permissions and the room there is")
        return 2
    note = _crash_note(error)
    console.error(
        f"internal error: {type(error).__name__}: {error}. The details are in {note}" if note else f"internal error: {error!r}"
    )
    return 70


def _crash_note(error: Exception) -> Path | None:
    """Writes the traceback where the user can pick it up; None where nothing can be written."""
    import platformdirs

    path = Path(platformdirs.user_cache_dir("skill-assay")) / "crash.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(traceback.format_exception(error)), encoding="utf-8", errors="backslashreplace")
    except OSError:
        return None
    return path

"""Options that several commands share, and the values behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from synth.cli import console
from synth.config_origin import in_ci
from verifiers.interface import AS_LISTED, ImportRules

if TYPE_CHECKING:
    from sandbox.interface import Sandbox
    from synth.config import Config
    from verifiers.interface import Budget, Profile
    from verifiers.verify import Options

Command = TypeVar("Command", bound=Callable[..., Any])

budget_option = click.option(
    "--budget",
    type=click.Choice(["fast", "standard", "thorough"]),
    help="How many cases, crash points and mutants to try. Default: standard.",
)
JUDGING = (
    click.option(
        "--profile", type=click.Choice(["seed", "omni"]), help="Which conventions a skill follows. Default: as it imports."
    ),
    click.option("--static", is_flag=True, help="Judge the text alone, without the sandbox (the report is partial)."),
    click.option("--checks", metavar="ID,ID", help="Only these checks (the report is partial)."),
    click.option("--all", "every", is_flag=True, help="Do not stop at the first FAIL."),
    budget_option,
    click.option("--seed", type=int, metavar="N", help="Seed of every random choice. Default: from the digest of the inputs."),
    click.option("--exclude", "excluded", multiple=True, metavar="TASK_ID=REASON", help="Leave a trace out, with a reason."),
    click.option("--no-cache", is_flag=True, help="Verify again even where nothing changed."),
)
SANDBOX = (
    click.option("--image", metavar="TAG", help="Sandbox image. Default: the one of `assay engine image`."),
    click.option("--runtime", metavar="NAME", help="Container runtime, such as runsc. Default: the engine's."),
    click.option("--workers", type=click.IntRange(1, 256), metavar="N", help="Containers at once. Default: one per core."),
    click.option("--host", metavar="URL", help="Engine to use. Default: DOCKER_HOST, else the local one."),
)


def judging_options(command: Command) -> Command:
    """Adds the options that steer a verification."""
    for option in reversed(JUDGING):
        command = option(command)
    return command


def without(*names: str, **now: str) -> Callable[[Command], Command]:
    """Takes options away from a command, by the names of their parameters; to be written above those that add them. Who gives one
    hears so for one release more.

    Args:
        names: What says nothing there: it counts for nothing.
        now: What has another option now: it counts as before, for the command to take as that option.
    """

    def taken(command: Command) -> Command:
        for option in getattr(command, "__click_params__", []):
            if option.name in {*names, *now}:
                option.hidden, option.expose_value = True, option.name in now
                option.callback = partial(_gone, now.get(option.name))
        return command

    return taken


def _gone(now: str | None, ctx: click.Context, option: click.Parameter, value: object) -> object:
    if ctx.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE:
        told = f"is now {now}" if now is not None else f"says nothing to '{ctx.command_path}'"
        console.say(f"note: {option.opts[0]} {told}; it goes with the next release")
    return value


def sandbox_options(command: Command) -> Command:
    """Adds the options that choose the sandbox."""
    for option in reversed(SANDBOX):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Judging:
    """How to verify and where, as the command line gives it."""

    profile: Profile | None = None
    """None = as a skill's imports say."""
    static: bool = False
    checks: frozenset[str] | None = None
    every: bool = False
    budget: Budget = "standard"
    seed: int | None = None
    salt: str = ""
    min_usable: int = 3
    excluded: Mapping[str, str] = field(default_factory=dict)
    imports: ImportRules = AS_LISTED
    """What is said of imports besides the built-in list, as configured."""
    programs: frozenset[str] = frozenset()
    """Programs that skills may start besides those that recordings name, as configured."""
    database: Path | None = None
    """Directory of past counterexamples; None in CI and with --no-cache, where a verdict may depend on nothing kept."""
    reproduce_with: tuple[str, ...] = ()
    """Options that name evidence and bindings, for the commands that show a finding again."""
    no_cache: bool = False
    image: str | None = None
    runtime: str | None = None
    workers: int | None = None
    host: str | None = None
    packages: tuple[str, ...] = ()
    """In the sandbox image besides the recipe's own, as configured."""

    @classmethod
    def of(cls, values: Mapping[str, Any], config: Config) -> Judging:
        """From the parameters of a command that has both groups of options (or one of them), the rest as configured.

        Raises:
            click.BadParameter: an exclusion without a reason, an unknown check, or an empty name of an image.
        """
        from synth.cli.room import usable_cache

        usable_cache()
        box, verify = config.sandbox, config.verify
        known: dict[str, Any] = {
            "profile": verify.profile, "budget": verify.budget, "salt": verify.seed_salt, "min_usable": verify.min_usable,
            "image": box.image, "runtime": box.runtime, "workers": box.workers, "host": box.host, "packages": box.packages,
            "imports": config.conventions.imports,
            "programs": frozenset(config.conventions.allow_programs),
        }  # fmt: skip
        known |= {n: v for n, v in values.items() if n in cls.__dataclass_fields__ and v is not None}
        if known["image"] == "":  # as a shell leaves it where `assay engine image` failed
            raise click.BadParameter("no image is named: did the command in it fail?", param_hint="--image")
        if not known.get("no_cache") and not in_ci():
            known["database"] = config.path("{PRJ_DATA}/counterexamples")
        if "excluded" in known:
            known["excluded"] = dict(_exclusion(text) for text in known["excluded"])
        if "checks" in known:
            known["checks"] = _check_ids(known["checks"])
        return cls(**known)

    def sandbox(self, workers: int | None = None) -> Sandbox:
        """The sandbox that it names, to be closed by the caller.

        Args:
            workers: Instead of those that were asked for.

        Raises:
            SandboxError: it cannot be opened.
        """
        from sandbox import open_sandbox

        return open_sandbox(
            image=self.image, runtime=self.runtime, workers=workers or self.workers, host=self.host, packages=self.packages
        )

    def options(self, **more: Any) -> Options:
        """The verifier's options."""
        from verifiers.verify import Options

        return Options(
            budget=self.budget, seed=self.seed, salt=self.salt, profile=self.profile or "seed", checks=self.checks,
            static_only=self.static, stop_early=not self.every, min_usable=self.min_usable, workers=self.workers,
            excluded=self.excluded, imports=self.imports, programs=self.programs, database=self.database,
            reproduce_with=self.reproduce_with, **more,
        )  # fmt: skip


def _exclusion(text: str) -> tuple[str, str]:
    task_id, _, reason = text.partition("=")
    if not task_id.strip() or not reason.strip():
        raise click.BadParameter(f"{text!r}: write TASK_ID=REASON", param_hint="--exclude")
    return task_id.strip(), reason.strip()


def _check_ids(text: str) -> frozenset[str]:
    from verifiers.catalog import CATALOG

    ids = tuple(part.strip() for part in text.split(",") if part.strip())
    known = [check.id for check in CATALOG]
    for wanted in ids:
        if wanted not in known:
            raise click.BadParameter(f"there is no check {wanted!r}. There are: {', '.join(known)}", param_hint="--checks")
    if not ids:
        raise click.BadParameter("names no check", param_hint="--checks")
    return frozenset(ids)

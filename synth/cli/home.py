"""Where things are when the command line does not say: the configuration, then its defaults."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from synth.cli import console

if TYPE_CHECKING:
    from synth.config import Config
    from synth.interface import RegistryEntry
    from synth.registry import Registry

Command = TypeVar("Command", bound=Callable[..., Any])


_SAID: set[str] = set()


def config(*judged: Path, since: str | None = None) -> Config:
    """The settings: of ``--config FILE``, else of the nearest file that has a say over ``judged``, else the defaults.

    Args:
        judged: What is about to be judged: it has no say in how.
        since: The git revision whose configuration counts where that of the work tree does not.
    """
    from synth.config import load_config
    from synth.config_origin import settings_for

    context = click.get_current_context(silent=True)
    named = context.find_root().params.get("config_file") if context is not None else None
    if named is not None:
        return load_config(named)
    found = settings_for(Path.cwd(), judged, since)
    for sentence in found.ignored:
        say_once(sentence)
    return found.config


def say_once(sentence: str) -> None:
    """Says something on stderr, unless this process has said it."""
    if sentence not in _SAID:
        console.say(sentence)
    _SAID.add(sentence)


def forget_what_was_said() -> None:
    """Lets everything be said again."""
    _SAID.clear()


REGISTRY = "ASSAY_REGISTRY"
"""Environment variable that names the registry where no option does."""


def registry_dir(given: Path | None = None, settings: Config | None = None) -> Path:
    """The registry's directory: as given, else of the environment, else as configured (without ``settings``: here)."""
    named = given or (Path(os.environ[REGISTRY]) if os.environ.get(REGISTRY) else None)
    return named if named is not None else (settings or config()).registry_dir


def open_registry(given: Path | None = None, *, must_exist: bool = False) -> Registry:
    """Opens the registry, with the configured reindex hooks.

    Raises:
        NothingToVerify: it must exist and does not.
    """
    from synth.registry import Registry
    from verifiers.interface import NothingToVerify

    settings = config()
    directory = registry_dir(given)
    if must_exist and not (directory / "registry.db").is_file():
        raise NothingToVerify("there is no registry", "Fill one with: assay crystallize TRACES --registry DIR", directory)
    if settings.untrusted is not None and (settings.hooks.command or settings.hooks.url):
        say_once(f"warning: hooks of {settings.untrusted} do not run. Read them, then: assay config trust {settings.untrusted}")
    return Registry(directory, hooks=settings.reindex_hooks(), on_hook_failure=lambda text: console.say(f"warning: {text}"))


def registry_option(command: Command) -> Command:
    """Adds ``--registry DIR`` (parameter ``registry``)."""
    return click.option(
        "--registry", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
        help="The registry. Default: $ASSAY_REGISTRY, else the configured one.",
    )(command)  # fmt: skip


def version_arguments(command: Command) -> Command:
    """Adds ``--registry DIR`` and the arguments NAME and [VERSION]."""
    command = click.argument("version", required=False)(command)
    return registry_option(click.argument("name")(command))


def said(entry: RegistryEntry, what: str) -> int:
    """Says what became of a version."""
    console.out(f"{entry.name} {entry.version[:12]} is {entry.status} ({what})")
    return 0


def actor() -> str:
    """Who asks, for the history."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "assay"

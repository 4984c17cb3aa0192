"""Where things are when the command line does not say: the configuration, then its defaults."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from synth.cli import console

if TYPE_CHECKING:
    from synth.config import Config
    from synth.registry import Registry

Command = TypeVar("Command", bound=Callable[..., Any])


def config() -> Config:
    """The configuration of the current directory (``[tool.assay]`` or ``assay.yaml``), or the defaults."""
    from synth.config import load_config

    return load_config()


def registry_dir(given: Path | None = None) -> Path:
    """The registry's directory: as given, else as configured."""
    return given if given is not None else config().registry_dir


def open_registry(given: Path | None = None, *, must_exist: bool = False) -> Registry:
    """Opens the registry, with the configured reindex hooks.

    Raises:
        NothingToVerify: it must exist and does not.
    """
    from synth.registry import Registry
    from verifiers.interface import NothingToVerify

    settings = config()
    directory = given if given is not None else settings.registry_dir
    if must_exist and not (directory / "registry.db").is_file():
        raise NothingToVerify("there is no registry", "Fill one with: assay crystallize TRACES --registry DIR", directory)
    return Registry(directory, hooks=settings.reindex_hooks(), on_hook_failure=lambda text: console.say(f"warning: {text}"))


def registry_option(command: Command) -> Command:
    """Adds ``--registry DIR`` (parameter ``registry``)."""
    return click.option(
        "--registry", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
        help="The registry. Default: the configured one.",
    )(command)  # fmt: skip


def actor() -> str:
    """Who asks, for the history."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "assay"

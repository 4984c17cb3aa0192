"""``-q`` and ``-v``: how much a command says on stderr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from synth.cli import console

Command = TypeVar("Command", bound=Callable[..., Any])


def talking_options(command: Command) -> Command:
    """Adds ``-q`` and ``-v``; they hold for all of the command."""
    for flag, name, level, text in (
        ("-v", "--verbose", console.VERBOSE, "Say each step, in logs too."),
        ("-q", "--quiet", console.QUIET, "Results and errors alone."),
    ):
        command = click.option(flag, name, is_flag=True, expose_value=False, callback=_setter(level), help=text)(command)
    return command


def _setter(level: int) -> Callable[[click.Context, click.Parameter, bool], None]:
    def chosen(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        if given:
            console.set_level(level)
            ctx.call_on_close(lambda: console.set_level(console.NORMAL))

    return chosen

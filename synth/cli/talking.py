"""What every command has: ``-h``, and ``-q`` and ``-v``, how much it says on stderr."""

from __future__ import annotations

from collections.abc import Callable

import click

from synth.cli import console


def talking(command: click.Command) -> click.Command:
    """Gives a command ``-h``, ``-q`` and ``-v``, once; the last two hold for all of it and of what is below it."""
    names = ["-h", "--help"]
    command.context_settings.setdefault("help_option_names", names)
    # click keeps the help option of the first context that asks, which need not have the command's settings. So this one asks.
    command.get_help_option(click.Context(command, help_option_names=names))
    if not any("--quiet" in p.opts for p in command.params):
        command.params += [
            _option("-q", "--quiet", console.QUIET, "Results and errors alone."),
            _option("-v", "--verbose", console.VERBOSE, "Say each step, in logs too."),
        ]
    return command


def _option(flag: str, name: str, level: int, text: str) -> click.Option:
    return click.Option((flag, name), is_flag=True, expose_value=False, callback=_setter(level), help=text)


def _setter(level: int) -> Callable[[click.Context, click.Parameter, bool], None]:
    def chosen(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        if given:
            console.set_level(level)
            ctx.find_root().call_on_close(lambda: console.set_level(console.NORMAL))

    return chosen

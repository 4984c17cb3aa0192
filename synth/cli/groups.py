"""Groups of commands: old names that still work and say the new one, the nearest name for a misspelt one, ``-q`` and ``-v``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import click

from synth.cli import console
from synth.cli.talking import talking


class Group(click.Group):
    """A group that knows names which its commands had before.

    Args:
        old: Old name -> the command line that says the same now, without ``assay``.
    """

    def __init__(self, *args: Any, old: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.old = old or {}
        talking(self)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        return talking(command) if command is not None else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as e:
            # Below two thirds any two words are near: `promote` is not a misspelt `route`.
            near = difflib.get_close_matches(args[0], [*self.list_commands(ctx), *self.old], n=1, cutoff=0.67)
            below = [group for group in self.list_commands(ctx) if args[0] in self._below(ctx, group)]
            if not near and not below:
                raise
            known = f"{below[0]} {args[0]}" if below else near[0]
            meant = self.old.get(known, f"{ctx.command_path} {known}".partition(" ")[2])
            raise click.UsageError(f"{e.message.rstrip('.')}. Did you mean 'assay {meant}'?", ctx) from None
        if name is not None and name in self.old:
            now = f"'{ctx.command_path} {name}' is now 'assay {self.old[name]}'"
            console.say(f"note: {now}; the old name goes with the next release")
        return name, command, rest

    def _below(self, ctx: click.Context, name: str) -> list[str]:
        group = self.get_command(ctx, name)
        return group.list_commands(ctx) if isinstance(group, click.Group) else []

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in super().list_commands(ctx) if name not in self.old]

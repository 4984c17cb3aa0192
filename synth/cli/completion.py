"""``assay config completion``: the script that a shell loads."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from synth.cli import console


@click.command("completion", short_help="Print the shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Prints the completion script of SHELL. For bash: eval "$(assay config completion bash)"."""
    kind = get_completion_class(shell)
    assert kind is not None  # the choice lists only shells that click knows
    console.out(kind(ctx.find_root().command, {}, "assay", "_ASSAY_COMPLETE").source())
    return 0

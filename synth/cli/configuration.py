"""``assay config``: the configuration file, whether its commands may run, and what a shell completes."""

from __future__ import annotations

import click

from synth.cli import completion, init, trust
from synth.cli.groups import Group


@click.group("config", cls=Group, short_help="Write or trust a configuration; complete in a shell.")
def command() -> None:
    """Settings of a project, and of the shell that assay is used in."""


for one in (init, trust, completion):
    command.add_command(one.command)

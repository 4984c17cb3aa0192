"""``assay config trust``: lets the commands of a configuration run, until its text changes."""

from __future__ import annotations

from pathlib import Path

import click

from synth.cli import console
from synth.cli.home import config


@click.command("trust", short_help="Let the commands of a configuration run.")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False), metavar="[FILE]")
@click.option("--withdraw", is_flag=True, help="Trust it no longer.")
def command(file: Path | None, withdraw: bool) -> int:
    """Shows what FILE (default: the configuration in use) would run, and trusts this very text of it."""
    from synth import trust
    from synth.config import load_config
    from verifiers.interface import ConfigError

    settings = load_config(file) if file is not None else config()
    if settings.source is None:
        raise ConfigError("there is no configuration to trust", "Name one: assay config trust FILE")
    if withdraw:
        known = trust.withdraw(settings.source, settings.sha256)
        console.out(f"{settings.source}: {'no longer trusted' if known else 'was not trusted'}")
        return 0
    for line in (*settings.hooks.command, *filter(None, [settings.hooks.url])):
        console.out(f"may run: {line}")
    if settings.evolution.learn == "background":
        console.out(f"may run: assay crystallize, after a turn, on {settings.sandbox.host or 'the local engine'}")
    trust.trust(settings.source, settings.sha256)
    console.out(f"{settings.source}: trusted until it changes")
    return 0

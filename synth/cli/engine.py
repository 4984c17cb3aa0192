"""``assay engine``: what the sandbox needs, and how to get it."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from synth.cli import console
from synth.cli.home import config
from synth.cli.outputs import emit_document, output_options, plan


@click.group("engine", short_help="Check, start or prepare the sandbox.")
def command() -> None:
    """The Docker Engine and the image that skills are replayed in."""


@command.command("status")
@click.option("--host", metavar="URL", help="Engine to ask. Default: DOCKER_HOST, else the local one.")
@click.option("--no-probe", is_flag=True, help="Do not open the sandbox to see what it can do.")
@output_options(("plain", "json"))
def status(host: str | None, no_probe: bool, **rest: Any) -> int:
    """Says what engine there is, what runs can rely on, and what is missing. Exit code 3 when runs cannot start."""
    from sandbox.status import engine_status

    box = config().sandbox
    found = engine_status(host or box.host, probe=not no_probe, image=box.image, packages=box.packages)
    document = {"schema": "assay-engine/1", **dataclasses.asdict(found)}
    outputs = plan(rest["formats"], rest["files"], ("plain", "json"))
    emit_document(outputs, document, "\n".join(found.lines()))
    if found.missing and all(output.format != "plain" or output.path for output in outputs):
        console.error(found.missing)  # plain text on stdout says it too
    return 3 if found.missing else 0


@command.command("up")
@click.option(
    "--install", is_flag=True, help="As root on Debian or Ubuntu: install the engine's packages first if there are none."
)
def up(install: bool) -> int:
    """Makes sure that an engine answers: starts an installed one. With one already there, nothing happens."""
    from sandbox.install import up as bring_up

    bring_up(install, console.say)
    return 0


@command.command("image")
@click.option("--host", metavar="URL", help="Engine to build on. Default: DOCKER_HOST, else the local one.")
@click.option("--package", "packages", multiple=True, metavar="NAME", help="Debian package to add to the image (repeatable).")
@click.option("--rebuild", is_flag=True, help="Build even where the image is there.")
def image(host: str | None, packages: tuple[str, ...], rebuild: bool) -> int:
    """Builds the sandbox image if the engine does not have it, and prints its tag."""
    from sandbox.image import ensure_image
    from verifiers.interface import ConfigError

    box = config().sandbox
    try:
        tag = ensure_image(console.say, (*box.packages, *packages), rebuild, host=host or box.host)
    except ValueError as e:
        raise ConfigError(str(e), "Give names of Debian packages") from e
    console.out(tag)
    return 0

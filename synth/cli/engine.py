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


@command.command("check")
@click.option("--host", metavar="URL", help="Engine to try. Default: DOCKER_HOST, else the local one.")
@click.option("--runtime", metavar="NAME", help="Container runtime, such as runsc. Default: the engine's.")
@click.option("--family", "families", multiple=True, metavar="NAME", help="Only these attacks (repeatable). Default: all.")
@output_options(("plain", "json"))
def check(host: str | None, runtime: str | None, families: tuple[str, ...], **rest: Any) -> int:
    """Runs hostile jobs on the engine and says which promises it keeps.

    Families: escape, persistence, forging, blinding, starvation, timing. Exit code 1 where one is broken, 3 where not all
    could be tried. It takes a minute or two.
    """
    from sandbox import open_sandbox
    from sandbox.conformance import FAMILIES
    from sandbox.conformance.suite import try_engine
    from verifiers.interface import ConfigError

    wrong = [name for name in families if name not in FAMILIES]
    if wrong:
        raise ConfigError(f"--family: there is none called {wrong[0]!r}", f"Known are {', '.join(FAMILIES)}")
    box = config().sandbox
    outputs = plan(rest["formats"], rest["files"], ("plain", "json"))
    chosen = [family for family in FAMILIES if not families or family in families]
    with (
        console.talk() as talk,
        open_sandbox(
            image=box.image, runtime=runtime or box.runtime, workers=1, host=host or box.host, packages=box.packages
        ) as sandbox,
    ):
        found = try_engine(sandbox, chosen, talk.step)
    document = {"schema": "assay-conformance/1", **dataclasses.asdict(found), "holds": found.holds}
    emit_document(outputs, document, "\n".join(found.lines()))
    return {True: 0, False: 1, None: 3}[found.holds]

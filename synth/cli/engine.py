"""``assay engine``: what the sandbox needs, and how to get it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli import console
from synth.cli.files import write_atomically
from synth.cli.groups import Group
from synth.cli.home import config
from synth.cli.outputs import emit_document, output_options, plan

if TYPE_CHECKING:
    from cyclonedx.model.bom import Bom

    from sandbox.project import Tools

FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("engine", cls=Group, short_help="Check, start or prepare the sandbox.")
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
@click.option("--package", "--add", "packages", multiple=True, metavar="NAME", help="Debian package to add (repeatable).")
@click.option("--requirements", type=FILE, metavar="FILE", help="Python packages to add, as pip's requirements file.")
@click.option("--package-json", type=FILE, metavar="FILE", help="npm packages to add, locked where a lock is beside it.")
@click.option("--dockerfile", type=FILE, metavar="FILE", help="To build on top; or a devcontainer.json.")
@click.option("--rebuild", is_flag=True, help="Build even where the image is there.")
def image(
    host: str | None,
    packages: tuple[str, ...],
    requirements: Path | None,
    package_json: Path | None,
    dockerfile: Path | None,
    rebuild: bool,
) -> int:
    """Builds the sandbox image if the engine does not have it, and prints its tag.

    With a project's own tools it is an image of their own, for --image TAG or `sandbox.image` of the configuration: they are
    fetched now, by this machine's pip or npm, and runs have no network.
    """
    from sandbox.image import ensure_image
    from sandbox.project import ensure_project
    from verifiers.interface import ConfigError

    box = config().sandbox
    tools = _tools(requirements, package_json, dockerfile)
    for one in tools:
        if one.left_out:
            console.say(f"not in the image: {', '.join(one.left_out)}. Add what tasks need with --package, or in a Dockerfile")
    wanted, host = (*box.packages, *packages), host or box.host
    try:
        if tools:
            tag = ensure_project(console.say, tools, wanted, rebuild, host=host)
        else:
            tag = ensure_image(console.say, wanted, rebuild, host=host)
    except ValueError as e:
        raise ConfigError(str(e), "Give names of Debian packages") from e
    console.out(tag)
    return 0


def _tools(requirements: Path | None, package_json: Path | None, dockerfile: Path | None) -> list[Tools]:
    """What the files ask for.

    Raises:
        ConfigError: one cannot be read, or asks for what no image is made from.
    """
    from sandbox.devcontainer import read_devcontainer
    from sandbox.project import read_dockerfile, read_package_json, read_requirements
    from verifiers.interface import ConfigError

    builds = read_devcontainer if dockerfile is not None and dockerfile.suffix == ".json" else read_dockerfile
    found = ((requirements, read_requirements), (package_json, read_package_json), (dockerfile, builds))
    out: list[Tools] = []
    for file, read in found:
        try:
            out += [read(file)] if file is not None else []
        except OSError as e:
            raise ConfigError(f"cannot be read: {e.strerror}", "Name another file", e.filename or file) from e
        except (ValueError, RecursionError) as e:
            raise ConfigError(f"cannot be built from: {e}", "Correct it, or name another file", file) from e
    return out


@command.command("prune")
@click.option("--host", metavar="URL", help="Engine to tidy up. Default: DOCKER_HOST, else the local one.")
@click.option("--days", type=click.IntRange(0), default=30, show_default=True, help="Keep what caches wrote in so many days.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def prune(host: str | None, days: int, dry_run: bool) -> int:
    """Removes sandbox images of earlier recipes and old files of the caches, and says what is left.

    The image that the configuration asks for and the plain one stay; so do images of others, and those in use.
    """
    from synth.cli.pruning import caches, images

    box = config().sandbox
    for line in (*images(host or box.host, box.image, box.packages, dry_run), *caches(days, dry_run)):
        console.out(line)
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


@command.command("sbom")
@click.argument("of", type=click.Choice(["image", "package"]), default="image")
@click.option("--host", metavar="URL", help="Engine that has the image. Default: DOCKER_HOST, else the local one.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it there instead of to stdout.")
def sbom(of: str, host: str | None, output: Path | None) -> int:
    """Prints a bill of materials (CycloneDX 1.6, JSON).

    Of the sandbox's image: its packages and the digests of its programs, as measured in it now. Of the package: this
    installation and everything that it needs.
    """
    from sandbox.sbom import dumped, package_bom

    text = dumped(package_bom() if of == "package" else _image_bom(host))
    if output is None:
        console.raw(text)
    else:
        write_atomically(output, text)
    return 0


def _image_bom(host: str | None) -> Bom:
    from sandbox.image import current_image, inventory_text
    from sandbox.image_store import open_images
    from sandbox.sbom import image_bom

    box = config().sandbox
    with open_images(host or box.host) as store:
        tag, identity = current_image(store, box.image, box.packages)
        return image_bom(inventory_text(store, identity).decode("utf-8", "replace"), tag, identity)

"""``--format`` and ``-o``: which text goes where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from synth.cli import console
from synth.cli.files import dump, must_have_parent, write_atomically
from verifiers.formats.text import no_commands

FORMATS = ("plain", "json", "sarif", "junit", "github", "html", "markdown", "gitlab", "badge")
SUFFIXES = {
    ".txt": "plain", ".json": "json", ".sarif": "sarif", ".xml": "junit", ".html": "html", ".htm": "html", ".md": "markdown",
    ".svg": "badge",
}  # fmt: skip

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Output:
    """One text to produce: its format, and its file (None = stdout)."""

    format: str
    path: Path | None


def output_options(formats: Sequence[str] = FORMATS) -> Callable[[Command], Command]:
    """Adds ``--format`` and ``-o`` to a command (parameters ``formats`` and ``files``)."""

    def decorate(command: Command) -> Command:
        command = click.option(
            "-o", "--output", "files", multiple=True, type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
            help="Write to FILE (repeatable). The format is the one of its suffix, else of --format.",
        )(command)  # fmt: skip
        return click.option(
            "--format", "formats", multiple=True, type=click.Choice(list(formats)), metavar="|".join(formats),
            help="Output format (repeatable, one for each -o). Default: plain on stdout.",
        )(command)  # fmt: skip

    return decorate


def plan(formats: Sequence[str], files: Sequence[Path], known: Sequence[str] = FORMATS) -> list[Output]:
    """Pairs files with formats: a file takes the format of its suffix, else the next one that no file has taken.

    Formats that no file takes go to stdout; plain does when none is left over.

    Raises:
        click.UsageError: a file for which no format is left, or two formats for stdout.
        ConfigError: a file in a directory that is not there.
    """
    for path in files:
        must_have_parent(path)
    left = list(formats)
    chosen: dict[Path, str] = {}
    for path in files:
        by_suffix = SUFFIXES.get(path.suffix.lower())
        if by_suffix in left:
            chosen[path] = str(by_suffix)
            left.remove(chosen[path])
    rest = [path for path in files if path not in chosen]
    enough = len(left) >= len(rest)  # what was said goes before what a suffix says
    for path in rest:
        by_suffix = SUFFIXES.get(path.suffix.lower())
        if by_suffix in known and not enough:
            chosen[path] = str(by_suffix)
        elif left:
            chosen[path] = left.pop(0)
        else:
            raise click.UsageError(f"-o {path}: no --format is left for it, and its suffix names none of {', '.join(known)}")
    if len(left) > 1:
        raise click.UsageError(f"--format {' and '.join(left)} would both go to stdout: give an -o FILE for all but one")
    return [*(Output(format, path) for path, format in chosen.items()), Output(left[0] if left else "plain", None)]


def emit(outputs: Sequence[Output], render: Callable[[str, bool], str]) -> None:
    """Writes every output: files first, stdout last.

    Args:
        outputs: As ``plan`` made them.
        render: Makes the text of one format; told whether it goes to stdout. Foreign text in it is already escaped.
    """
    for output in outputs:
        text = no_commands(render(output.format, output.path is None), output.format)
        if output.path is not None:
            write_atomically(output.path, text)
        else:
            console.raw(text)


def emit_document(outputs: Sequence[Output], document: Mapping[str, Any], plain: str) -> None:
    """Writes a JSON document or its plain form (escaped here), as each output asks."""
    emit(outputs, lambda format, _: dump(document) if format == "json" else console.escape(plain))

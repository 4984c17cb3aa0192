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
    ".txt": ("plain", "github", "markdown"), ".json": ("json", "gitlab"), ".sarif": ("sarif",), ".xml": ("junit",),
    ".html": ("html",), ".htm": ("html",), ".md": ("markdown",), ".svg": ("badge",),
}  # fmt: skip
"""The formats that a suffix may mean, the usual one first."""

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
            help="Write to FILE (repeatable). Its suffix names the format (of .json, .txt --format may say it), else --format.",
        )(command)  # fmt: skip
        return click.option(
            "--format", "formats", multiple=True, type=click.Choice(list(formats)), metavar="|".join(formats),
            help="Output format (repeatable, one for each -o). Default: plain on stdout.",
        )(command)  # fmt: skip

    return decorate


def plan(formats: Sequence[str], files: Sequence[Path], known: Sequence[str] = FORMATS) -> list[Output]:
    """Pairs files with formats: a file takes one that its suffix may mean, and where that is not clear --format says which.

    A file without a known suffix takes the next format that no file has taken. Formats that no file takes go to stdout; plain
    does when none is left over.

    Raises:
        click.UsageError: a file for which no format is left, or two formats for stdout.
        ConfigError: a file in a directory that is not there.
    """
    for path in files:
        must_have_parent(path)
    left = list(formats)
    chosen = {path: _by_suffix(path, left, known) for path in dict.fromkeys(files)}
    for path in [p for p, format in chosen.items() if not format]:
        if not left:
            raise click.UsageError(f"-o {path}: no --format is left for it, and its suffix names none of {', '.join(known)}")
        chosen[path] = left.pop(0)
    if len(left) > 1:
        raise click.UsageError(f"--format {' and '.join(left)} would both go to stdout: give an -o FILE for all but one")
    return [*(Output(format, path) for path, format in chosen.items()), Output(left[0] if left else "plain", None)]


def _by_suffix(path: Path, left: list[str], known: Sequence[str]) -> str:
    """The format that a file's suffix means, taken out of ``left`` where it was said; "" where it means none."""
    meant = [format for format in SUFFIXES.get(path.suffix.lower(), ()) if format in known]
    said = next((format for format in meant if format in left), None)
    if said is not None:
        left.remove(said)
        return said
    return meant[0] if meant else ""


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

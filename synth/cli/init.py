"""``assay config init``: a commented configuration, made from the settings' own descriptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from synth.cli import console
from synth.cli.files import write_atomically

SECTIONS = ("evolution", "sandbox", "verify", "generator", "llm", "registry", "hooks", "conventions")


@click.command("init", short_help="Write a commented configuration file.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path, dir_okay=False), default=Path("assay.yaml"))
@click.option("--force", is_flag=True, help="Replace an existing file.")
def command(file: Path, force: bool) -> int:
    """Writes every setting with its default, commented out, and what it means."""
    from verifiers.interface import ConfigError

    if file.exists() and not force:
        raise ConfigError("exists already", "Edit it, or replace it with --force", file)
    write_atomically(file, text())
    console.out(str(file))
    return 0


def text() -> str:
    """The file's text: valid as it is, and equal to the defaults."""
    from synth.config import Config

    defaults = Config.default()
    lines = [
        "# Settings of assay. What is commented out is the default.",
        "# {PRJ_DATA} is .assay and {ASSETS} is assets, unless the environment says otherwise.",
        "",
    ]
    for name in SECTIONS:
        section = getattr(defaults, name)
        lines.append(f"{name}:")
        for key, info in type(section).model_fields.items():
            lines.append(f"  # {key}: {_value(getattr(section, key))}{_comment(info.description)}")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _value(value: Any) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _comment(description: str | None) -> str:
    return f"  # {description}" if description else ""

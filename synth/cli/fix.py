"""``assay verify --fix``: the safe fixes of the static checks. ``assay fix`` is its name of before."""

from __future__ import annotations

import codecs
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synth.cli import console
from synth.cli.exits import FAIL, PASS
from synth.cli.home import config
from synth.cli.targets import target_of
from verifiers.interface import ConfigError

if TYPE_CHECKING:
    from verifiers.interface import Profile


@click.command("fix", hidden=True)
@click.argument("skills", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SKILL...")
@click.option("--profile", type=click.Choice(["seed", "omni"]), help="Which conventions a skill follows. Default: as it imports.")
@click.option("--diff", "only_show", is_flag=True, help="Show what would change; write nothing.")
def command(skills: tuple[Path, ...], profile: Profile | None, only_show: bool) -> int:
    """Applies the fixes that leave behaviour unchanged. Exit code 1: errors remain that it cannot fix."""
    return fix(skills, profile, only_show=only_show)


def fix(skills: Sequence[Path], profile: Profile | None, *, only_show: bool) -> int:
    """Applies them, or shows what would change, and says how many errors are left."""
    chosen = profile or config().verify.profile
    left = sum(_fix(target_of(path, static=True).skill, chosen, only_show) for path in skills)
    console.say(f"{left} error{'' if left == 1 else 's'} left")
    return FAIL if left else PASS


def _fix(file: Path, profile: Profile | None, only_show: bool) -> int:
    """Fixes one file and says what was done; how many errors are left.

    Raises:
        ConfigError: it is a registered version, whose bytes are what was verified; or it cannot be written.
    """
    from synth.files import write_atomic
    from verifiers.source.fix import fix_source
    from verifiers.subject import load_subject

    real = file.resolve()  # through links: what is linked is fixed
    if real.parent.parent.name == "versions" and (real.parents[2] / "registry.db").exists():
        raise ConfigError("is a registered version, which never changes", "Fix a draft of it, and register that", file)
    subject = load_subject(file, profile)
    before = subject.source
    done = fix_source(before, subject.profile, path=str(file))
    for title in done.applied:
        console.out(f"{file}: {title}")
    for finding in done.remaining:
        console.out(f"{file}:{finding.line}: {finding.severity}: {finding.message}")
    if done.source != before and only_show:
        console.out(_diff(before, done.source, str(file)))
    elif done.source != before:
        write_atomic(real, _like(real.read_bytes(), done.source.encode("utf-8", "surrogateescape")))
    return sum(f.severity == "error" for f in done.remaining)


def _like(old: bytes, new: bytes) -> bytes:
    """New text with the line ends, and the byte order mark, of the old one."""
    new = new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") if b"\r\n" in old else new
    return codecs.BOM_UTF8 + new if old.startswith(codecs.BOM_UTF8) and not new.startswith(codecs.BOM_UTF8) else new


def _diff(before: str, after: str, name: str) -> str:
    return "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (fixed)", lineterm=""))

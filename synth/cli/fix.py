"""``assay fix``: the safe fixes of the static checks, applied until none is left."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from synth.cli import console
from synth.cli.exits import FAIL, PASS
from synth.cli.home import config
from synth.cli.targets import target_of

if TYPE_CHECKING:
    from verifiers.interface import CheckResult, Fix, Profile

MOST_ROUNDS = 50
"""A fix that brings back what another removed would go on for ever."""


@click.command("fix", short_help="Apply the safe fixes of the static checks.")
@click.argument("skills", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SKILL...")
@click.option("--profile", type=click.Choice(["seed", "omni"]), help="Which conventions a skill follows. Default: seed.")
@click.option("--unsafe", is_flag=True, help="Also apply fixes that may change behaviour.")
@click.option("--diff", "only_show", is_flag=True, help="Show what would change; write nothing.")
def command(skills: tuple[Path, ...], profile: Profile | None, unsafe: bool, only_show: bool) -> int:
    """Applies fixes that leave behaviour unchanged. Exit code 1: findings remain that it cannot fix."""
    from synth.files import write_atomic

    remaining = 0
    for path in skills:
        file = target_of(path, static=True).skill
        before = file.read_text(encoding="utf-8")
        after, titles, left = fixed(before, str(file), profile or config().verify.profile, unsafe)
        remaining += left
        for title in titles:
            console.out(f"{file}: {title}")
        if after == before:
            continue
        if only_show:
            console.out(_diff(before, after, str(file)))
        else:
            write_atomic(file, after.encode())
    console.say(f"{remaining} finding{'' if remaining == 1 else 's'} left")
    return FAIL if remaining else PASS


def fixed(source: str, path: str, profile: Profile, unsafe: bool = False) -> tuple[str, list[str], int]:
    """The text with fixes applied one at a time, what they were, and how many findings are left."""
    titles: list[str] = []
    seen = {source}
    for _ in range(MOST_ROUNDS):
        results = _static(source, path, profile)
        fix = next((f for f in _fixes(results) if (f.safe or unsafe) and f.replacement not in seen), None)
        if fix is None:
            break
        source = fix.replacement
        seen.add(source)
        titles.append(fix.title)
    left = sum(f.severity == "error" for r in _static(source, path, profile) for f in r.findings)
    return source, titles, left


def _static(source: str, path: str, profile: Profile) -> list[CheckResult]:
    from verifiers.static import run_static
    from verifiers.subject import parse_subject

    return run_static([parse_subject(source, path, profile)])[0]


def _fixes(results: list[CheckResult]) -> list[Fix]:
    return [f.fix for r in results for f in r.findings if f.fix is not None]


def _diff(before: str, after: str, name: str) -> str:
    return "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (fixed)", lineterm=""))

"""Where a skill, its evidence and its bindings are (SEMANTICS §10), from what the command line says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from synth.cli.home import registry_dir

if TYPE_CHECKING:
    from verifiers.gating.discover import Target

OMNI = Path("scripts", "commands.py")


def target_of(
    skill: Path, evidence: Path | None = None, bindings: Path | None = None, registry: Path | None = None, *, static: bool = False
) -> Target:
    """One skill with what belongs to it. What the user gave is taken as it is.

    Args:
        skill: A skill file, a draft directory, or the name of a registered skill.
        static: No evidence is needed.

    Raises:
        SkillFileError: there is no such file.
        NothingToVerify: a directory without a skill, or with several.
        Inconclusive: evidence is needed and there is none.
    """
    from verifiers.gating.discover import find, with_evidence
    from verifiers.interface import NothingToVerify

    place = skill
    # A bare name together with --registry means the registered skill, whatever lies in the current directory.
    named = skill.parent == Path() and (registry is not None or not skill.exists())
    known = registered(skill.name, registry) if named else None
    if known is not None:
        place = known
    elif skill.is_dir() and not (skill / "skill.py").exists() and (skill / OMNI).is_file():
        place = skill / OMNI
    found = find([place])
    if len(found) > 1:
        raise NothingToVerify(f"holds {len(found)} skills", "Give one file, or judge them all with: assay gate DIR", skill)
    target = found[0]
    target = replace(target, evidence=evidence or target.evidence, bindings=bindings or target.bindings)
    if static:
        return target
    return with_evidence(target, lambda name: registered(name, registry))


def registered(name: str, registry: Path | None) -> Path | None:
    """The directory of a registered skill's active version; None where there is no registry or no such skill."""
    from synth.registry import Registry, UnknownSkill

    directory = registry_dir(registry)
    if not (directory / "registry.db").is_file():
        return None
    with Registry(directory) as opened:
        try:
            return Path(opened.show(name).path)
        except UnknownSkill:
            return None

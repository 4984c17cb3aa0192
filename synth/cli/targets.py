"""Where a skill, its evidence and its bindings are, from what the command line says
(docs/design.md, "Drafts and where files are found")."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from synth.cli.home import REGISTRY, registry_dir

if TYPE_CHECKING:
    from synth.interface import RegistryEntry
    from verifiers.gating.discover import Target
    from verifiers.interface import AssayError

_NAMED = f"Give a skill file, a draft directory, or the registry with --registry DIR or ${REGISTRY}"
OMNI = Path("scripts", "commands.py")


def target_of(
    skill: Path,
    evidence: Path | None = None,
    bindings: Path | None = None,
    registry: Path | None = None,
    decisions: Path | None = None,
    *,
    static: bool = False,
) -> Target:
    """One skill with what belongs to it (as ``targets_of``).

    Raises:
        NothingToVerify: there are several.
        AssayError: as ``targets_of``.
    """
    from verifiers.interface import NothingToVerify

    found = targets_of(skill, evidence, bindings, registry, decisions, static=static)
    if len(found) > 1:
        raise NothingToVerify(f"holds {len(found)} skills", f"Give one of them: {found[0].path}", skill)
    return found[0]


def targets_of(
    skill: Path,
    evidence: Path | None = None,
    bindings: Path | None = None,
    registry: Path | None = None,
    decisions: Path | None = None,
    *,
    static: bool = False,
) -> list[Target]:
    """A skill, or all functions of a file in which each is one, with what belongs to them. What the user gave is taken as it is.

    Args:
        skill: A skill file, ``FILE::function``, a draft directory, or the name of a registered skill.
        static: No evidence is needed.

    Raises:
        SkillFileError: there is no such file.
        ConfigError: nor a registered skill of that name, or what was given with it does not exist.
        NothingToVerify: a directory without a skill, or with several.
        Inconclusive: evidence is needed and there is none.
    """
    from verifiers.gating.discover import chosen, find, with_evidence
    from verifiers.interface import NothingToVerify

    for given, option in ((evidence, "--evidence"), (bindings, "--bindings"), (decisions, "--decisions")):
        _must_exist(given, option)
    place, file = skill, chosen(skill)[0]
    # A bare name together with --registry means the registered skill, whatever lies in the current directory.
    named = file.parent == Path() and (registry is not None or not file.exists())
    known = registered(skill.name, registry) if named else None
    if known is not None:
        place = known
    elif named and not file.exists():
        raise unknown(skill.name, registry)
    elif (skill / "skill.py").is_file():
        place = skill / "skill.py"
    elif skill.is_dir() and not (skill / "skill.py").exists() and (skill / OMNI).is_file():
        place = skill / OMNI
    found = find([place])
    if len({t.skill for t in found}) > 1:
        raise NothingToVerify(f"holds {len(found)} skills", "Give one file, or judge them all with: assay gate DIR", skill)
    found = [replace(t, evidence=evidence or t.evidence, bindings=bindings or t.bindings, given=decisions) for t in found]
    return found if static else [with_evidence(t, lambda name: registered(name, registry)) for t in found]


def tell_edits(target: Target) -> None:
    """Says of an exported skill that it is not as it was exported, where no report will: what is there now is what counts."""
    from synth.cli import console
    from synth.exported import edits

    changed = edits(target.home)
    if changed:
        console.say(f"{target.path}: edited since it was exported: {', '.join(changed)}")


def _must_exist(given: Path | None, option: str) -> None:
    from verifiers.interface import ConfigError

    if given is not None and not given.exists():
        raise ConfigError("does not exist", f"Give another file with {option}", given)


def unknown(name: str, registry: Path | None) -> AssayError:
    """Neither a file nor a registered skill: says where both were looked for."""
    from verifiers.interface import ConfigError

    directory = registry_dir(registry)
    there = (directory / "registry.db").is_file()
    where = f"no skill of that name in the registry {directory}" if there else f"no registry in {directory}"
    advice = f"See: assay registry list --registry {directory}" if there else _NAMED
    return ConfigError(f"is no file, and there is {where}", advice, name)


def registered(name: str, registry: Path | None) -> Path | None:
    """The directory of a registered skill; None where there is no registry or no such skill."""
    entry = entry_of(name, registry)
    return Path(entry.path) if entry is not None else None


def entry_of(name: str, registry: Path | None) -> RegistryEntry | None:
    """A registered skill's active version, or the newest one where none is; None where there is no registry or no such skill."""
    from synth.registry import Registry, UnknownSkill

    directory = registry_dir(registry)
    if not (directory / "registry.db").is_file():
        return None
    with Registry(directory) as opened:
        try:
            return opened.show(name)
        except UnknownSkill:
            return None

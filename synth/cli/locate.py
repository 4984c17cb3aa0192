"""Where a skill, its evidence and its bindings are (SEMANTICS §10): beside it, then in the registry by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from verifiers.interface import Inconclusive, NothingToVerify, SkillFileError

SKILL_FILES = ("skill.py", "scripts/commands.py")


@dataclass(frozen=True, slots=True)
class Located:
    skill: Path
    evidence: Path | None
    bindings: Path | None


def locate(target: Path, evidence: Path | None = None, bindings: Path | None = None, registry: Path | None = None) -> Located:
    """Finds the files of one skill. What was given by the user is taken as it is.

    Args:
        target: A skill file, a draft directory, or (with ``registry``) the name of a registered skill.

    Raises:
        SkillFileError: there is no such file.
        NothingToVerify: a directory without a skill in it.
    """
    if registry is not None and not target.exists():
        target = _registered(target.name, registry)
    skill = _skill_file(target)
    folder = target if target.is_dir() else skill.parent
    return Located(skill, evidence or beside(skill, folder, "evidence.jsonl"), bindings or beside(skill, folder, "bindings.json"))


def beside(skill: Path, folder: Path, name: str) -> Path | None:
    """``NAME.evidence.jsonl`` beside the skill file, else ``evidence.jsonl`` in its folder, else None."""
    candidates = (skill.with_name(f"{skill.stem}.{name}"), folder / name, skill.parent / name)
    return next((p for p in candidates if p.is_file()), None)


def _skill_file(target: Path) -> Path:
    if not target.exists():
        raise SkillFileError(
            "there is no such file or directory", "Give a skill file, a draft directory, or a name with --registry DIR", target
        )
    if not target.is_dir():
        return target
    for name in SKILL_FILES:
        if (target / name).is_file():
            return target / name
    files = [p for p in sorted(target.glob("*.py")) if not p.name.startswith(("_", "test_"))]
    if len(files) == 1:
        return files[0]
    what = "holds no skill.py" if not files else f"holds {len(files)} Python files and no skill.py"
    raise NothingToVerify(what, "Give the file, or judge a whole tree with: assay gate DIR", target)


def _registered(name: str, registry: Path) -> Path:
    from synth.registry import Registry

    with Registry(registry) as opened:
        return Path(opened.show(name).path)


def require_evidence(located: Located) -> Path:
    """The evidence file.

    Raises:
        Inconclusive: there is none.
    """
    if located.evidence is None:
        advice = "Record some with: assay record --task TEXT -- COMMAND (or give --evidence FILE; --static judges the text alone)"
        raise Inconclusive("no evidence was found beside it", advice, located.skill)
    return located.evidence

"""Where decisions are: beside the evidence that they add to. A registered version is never changed: beside its directory."""

from __future__ import annotations

from pathlib import Path

DECISIONS = "decisions.jsonl"
EVIDENCE, SKILL = "evidence.jsonl", "skill.py"
_REGISTRY, _VERSIONS = "registry.db", "versions"


def home(skill: Path, evidence: Path) -> Path:
    """The file that an answer is written to."""
    version = registered_version(evidence.parent)
    if version is None:
        return _beside(evidence)
    if skill.resolve().parent == version:
        return beside_version(version)
    return skill.with_name(DECISIONS if skill.name == SKILL else f"{skill.stem}.{DECISIONS}")


def found(skill: Path, evidence: Path | None) -> Path | None:
    """The file that holds the decisions on a skill's evidence; None for none."""
    if evidence is None:
        return None
    places = [home(skill, evidence), evidence.with_name(f"{skill.stem}.{DECISIONS}"), evidence.with_name(DECISIONS)]
    version = registered_version(evidence.parent)
    if version is not None:
        places.insert(1, beside_version(version))
    return next((p for p in places if p.is_file()), None)


def of_version(directory: Path) -> Path | None:
    """The decisions of a registered version: given since it was registered, else those it was registered with."""
    return next((p for p in (beside_version(directory.resolve()), directory / DECISIONS) if p.is_file()), None)


def beside_version(version: Path) -> Path:
    return version.with_name(f"{version.name}.{DECISIONS}")


def registered_version(directory: Path) -> Path | None:
    """The directory, if it is a version in a registry."""
    real = directory.resolve()
    return real if real.parent.name == _VERSIONS and (real.parent.parent / _REGISTRY).is_file() else None


def _beside(evidence: Path) -> Path:
    """``evidence.jsonl`` -> ``decisions.jsonl``, ``NAME.evidence.jsonl`` and ``NAME.jsonl`` -> ``NAME.decisions.jsonl``."""
    if evidence.name == EVIDENCE:
        return evidence.with_name(DECISIONS)
    name = evidence.name.removesuffix(f".{EVIDENCE}").removesuffix(".jsonl")
    return evidence.with_name(f"{name}.{DECISIONS}")

"""Exported skills, read back: which files of theirs were edited since, and what an attestation of them is about."""

from __future__ import annotations

from pathlib import Path

from synth.files import FileFact, manifest
from synth.owned import edited, is_ours
from verifiers.decisions.places import DECISIONS
from verifiers.gating.discover import ATTACHED, SCRIPTS, SKILL

MARK = ".assay-export.json"
"""Holds the digests of what we last wrote into an exported directory."""
REPORT, ATTESTATION = "report.json", "attestation.intoto.jsonl"
_ANSWERS = f"{ATTACHED}/{DECISIONS}"


def is_exported(directory: Path) -> bool:
    """Whether a directory is an export of ours that carries its evidence."""
    return (directory / MARK).is_file() and (directory / ATTACHED).is_dir()


def edits(directory: Path) -> list[str]:
    """Files of an exported directory that were edited, added or removed since; none for any other directory.

    An answer to a question is no edit: it is evidence that was added. Without its evidence an export is known by its mark alone,
    without its mark by its evidence: then the mark is what was removed, and the code is compared with what was verified.
    """
    root = directory.parent if directory.name == SCRIPTS and not (directory / MARK).is_file() else directory
    root = root.resolve()  # hosts link to skills
    verified = root / ATTACHED / f"{SKILL}.txt"
    if not (root / MARK).is_file() and not verified.is_file():
        return []
    changed = edited(root, MARK, _ANSWERS)
    if changed is None and verified.is_file() and not is_ours(root, MARK, _ANSWERS):
        return [MARK, *_not_as_verified(root / SCRIPTS / SKILL, verified)]
    return changed or []


def _not_as_verified(code: Path, verified: Path) -> list[str]:
    """The code, where it is exported byte by byte and is another now. Omni's is rewritten: it says nothing without its mark."""
    return [f"{SCRIPTS}/{SKILL}"] if code.is_file() and code.read_bytes() != verified.read_bytes() else []


def verified_files(directory: Path) -> dict[str, FileFact]:
    """The registered version that an export was made of, as a manifest: attestations are about that."""
    carried = {path.removesuffix(".txt"): fact for path, fact in manifest(directory / ATTACHED).items()}
    return {path: fact for path, fact in carried.items() if path not in (REPORT, ATTESTATION)}

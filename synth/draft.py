"""Drafts on disk: ``<name>/`` with ``skill.py``, ``evidence.jsonl``, ``bindings.json`` and ``SKILL.md``.

A person's edits are never overwritten.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from synth.files import manifest, manifest_digest, manifest_of, sync_directory, write_tree
from synth.interface import Draft
from synth.traces import dump_trace, load_traces
from verifiers.interface import Args, AssayError, BindingError
from verifiers.subject import load_subject

SKILL, EVIDENCE, BINDINGS, DOCUMENT = "skill.py", "evidence.jsonl", "bindings.json", "SKILL.md"
MARK = ".assay-draft.json"
"""Holds the digest of what we last wrote into the directory: a directory that differs from it was edited by a person."""


class DraftConflict(AssayError, FileExistsError):
    """A directory of that name holds something that we did not write."""


def draft_files(draft: Draft) -> dict[str, bytes]:
    """The four files of a draft. Equal for equal drafts."""
    bindings = {task: {"args": dict(args)} for task, args in sorted(draft.bindings.items())}
    return {
        SKILL: draft.source.encode("utf-8", "surrogateescape"),
        EVIDENCE: "".join(f"{dump_trace(t)}\n" for t in draft.evidence).encode(),
        BINDINGS: (json.dumps(bindings, indent=2, sort_keys=True, ensure_ascii=True) + "\n").encode(),
        DOCUMENT: draft.skill_md.encode("utf-8", "surrogateescape"),
    }


def write_draft(root: Path, draft: Draft, on_conflict: Literal["sibling", "error"] = "sibling") -> Path:
    """Writes ``draft`` below ``root`` and returns its directory.

    A directory that still is as we wrote it is replaced in one step. One that was edited, or that we did not write, is left
    alone: the draft goes to ``<name>_2`` (and so on), or nothing is written at all.

    Raises:
        DraftConflict: ``on_conflict`` is ``error`` and the directory was edited.
        OSError: the draft cannot be written; what was there is still there.
    """
    root.mkdir(parents=True, exist_ok=True)
    files = draft_files(draft)
    digest = manifest_digest(manifest_of(files))
    for number in range(1, 1000):
        target = root / (draft.name if number == 1 else f"{draft.name}_{number}")
        _recover(target)
        if _content_digest(target) == digest:
            return target
        if not os.path.lexists(target) or is_ours(target):
            _put(target, files, digest)
            return target
        if on_conflict == "error":
            raise DraftConflict(
                "was edited since it was written", "Verify or move it, or write the draft under another name", target
            )
    raise DraftConflict("there are too many drafts of that name", "Remove those that you do not need", root / draft.name)


def is_ours(directory: Path) -> bool:
    """Whether a draft directory holds exactly what ``write_draft`` wrote last."""
    try:
        mark = json.loads((directory / MARK).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(mark, dict) and mark.get("digest") == _content_digest(directory)


def _content_digest(directory: Path) -> str | None:
    """Digest of everything in the directory but our mark; None if it is no directory."""
    if directory.is_symlink() or not directory.is_dir():
        return None
    return manifest_digest({path: fact for path, fact in manifest(directory).items() if path != MARK})


def _put(target: Path, files: Mapping[str, bytes], digest: str) -> None:
    staged = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.new."))
    try:
        mark = json.dumps({"schema": "assay-draft/1", "digest": digest}).encode()
        write_tree(staged / "draft", {**files, MARK: mark})
        if target.exists():
            target.rename(_aside(target))
        (staged / "draft").rename(target)
        sync_directory(target.parent)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        _recover(target)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _recover(target: Path) -> None:
    """Ends a replacement that was cut off between its two renames: the old directory comes back, or goes."""
    old = _aside(target)
    if not old.is_dir():
        return
    if target.exists():
        shutil.rmtree(old)
    else:
        old.rename(target)


def read_draft(directory: Path) -> Draft:
    """The draft in a directory.

    Raises:
        SkillFileError: there is no ``skill.py``, or it cannot be read.
        EvidenceError: ``evidence.jsonl`` cannot be read.
        BindingError: ``bindings.json`` is not a bindings file.
    """
    document = directory / DOCUMENT
    return Draft(
        name=directory.name,
        source=load_subject(directory / SKILL).source,
        evidence=tuple(load_traces(directory / EVIDENCE)),
        bindings=read_bindings(directory / BINDINGS),
        skill_md=document.read_bytes().decode("utf-8", "surrogateescape") if document.is_file() else "",
    )


def read_bindings(path: Path) -> dict[str, Args]:
    """task_id -> arguments of a bindings file; none for a missing file (they are then inferred).

    Raises:
        BindingError: the file is not ``{"<task_id>": {"args": {..}}}``.
    """
    if not path.is_file():
        return {}
    try:
        document: Any = json.loads(path.read_bytes())
    except ValueError as e:
        raise BindingError(f"is not JSON ({e})", 'A bindings file is {"<task_id>": {"args": {..}}}', path) from e
    if not isinstance(document, dict):
        raise BindingError("is not an object", 'A bindings file is {"<task_id>": {"args": {..}}}', path)
    out: dict[str, Args] = {}
    for task, entry in document.items():
        args = entry.get("args") if isinstance(entry, dict) else None
        if not isinstance(args, dict):
            raise BindingError(
                f"the entry of {task!r} has no object 'args'", 'A bindings file is {"<task_id>": {"args": {..}}}', path
            )
        out[task] = args
    return out

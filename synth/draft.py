"""Drafts on disk: ``<name>/`` with ``skill.py``, ``evidence.jsonl``, ``bindings.json`` and ``SKILL.md``.

A person's edits are never overwritten.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from synth import owned
from synth.interface import Draft
from synth.owned import write_owned
from synth.tracing.traces import dump_trace, load_traces
from verifiers.interface import Args, BindingError
from verifiers.subject import load_subject

SKILL, EVIDENCE, BINDINGS, DOCUMENT = "skill.py", "evidence.jsonl", "bindings.json", "SKILL.md"
MARK = ".assay-draft.json"
"""Holds the digest of what we last wrote into the directory: a directory that differs from it was edited by a person."""


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
    """Writes ``draft`` below ``root`` and returns its directory. An edited one is left alone: ours goes beside it.

    Raises:
        Conflict: ``on_conflict`` is ``error`` and the directory was edited.
        OSError: the draft cannot be written; what was there is still there.
    """
    return write_owned(root, draft.name, draft_files(draft), MARK, on_conflict)


def is_ours(directory: Path) -> bool:
    """Whether a draft directory holds exactly what ``write_draft`` wrote last."""
    return owned.is_ours(directory, MARK)


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

"""Drafts on disk: ``<name>/`` with ``skill.py``, ``evidence.jsonl``, ``bindings.json``, ``SKILL.md`` and, once a question was
answered, ``decisions.jsonl``.

A person's edits are never overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from synth import owned
from synth.interface import Candidate, Draft, TracePattern
from synth.owned import write_owned
from synth.tracing.traces import dump_trace, load_traces
from verifiers.decisions import add, dump_decision, load_decisions
from verifiers.decisions.places import DECISIONS
from verifiers.interface import Args, BindingError
from verifiers.subject import load_subject

SKILL, EVIDENCE, BINDINGS, DOCUMENT = "skill.py", "evidence.jsonl", "bindings.json", "SKILL.md"
DRAFT_FILES = (SKILL, EVIDENCE, BINDINGS, DOCUMENT, DECISIONS)
MARK = ".assay-draft.json"
"""Holds the digest of what we last wrote into the directory: a directory that differs from it was edited by a person."""


def draft_files(draft: Draft) -> dict[str, bytes]:
    """The files of a draft. Equal for equal drafts: when a question was answered is left out."""
    bindings = {task: {"args": dict(args)} for task, args in sorted(draft.bindings.items())}
    files = {
        SKILL: draft.source.encode("utf-8", "surrogateescape"),
        EVIDENCE: "".join(f"{dump_trace(t)}\n" for t in draft.evidence).encode(),
        BINDINGS: (json.dumps(bindings, indent=2, sort_keys=True, ensure_ascii=True) + "\n").encode(),
        DOCUMENT: draft.skill_md.encode("utf-8", "surrogateescape"),
    }
    if draft.decisions:
        files[DECISIONS] = "".join(f"{dump_decision(replace(d, when=''))}\n" for d in draft.decisions).encode()
    return files


def write_draft(root: Path, draft: Draft, on_conflict: Literal["sibling", "error"] = "sibling") -> Path:
    """Writes ``draft`` below ``root`` and returns its directory. An edited one is left alone: ours goes beside it.

    Answers to questions are no edit: those that are there stay, and the draft's own are added to them.

    Raises:
        Conflict: ``on_conflict`` is ``error`` and the directory was edited.
        DecisionError: the draft's decisions contradict those that are there, or these are damaged.
        OSError: the draft cannot be written; what was there is still there.
    """
    files = draft_files(replace(draft, decisions=()))
    directory = write_owned(root, draft.name, files, MARK, on_conflict, kept=DECISIONS)
    if draft.decisions:
        add(directory / DECISIONS, draft.decisions)
    return directory


def unverified(candidate: Candidate, pattern: TracePattern, bindings: Mapping[str, Args]) -> Draft:
    """The draft of a candidate that has not passed."""
    text = f"# {candidate.name}\n\n{candidate.description}\n\nUnverified: run `assay verify` on this directory.\n"
    return Draft(candidate.name, candidate.source, pattern.traces, bindings, text)


def is_ours(directory: Path) -> bool:
    """Whether a draft directory holds exactly what ``write_draft`` wrote last."""
    return owned.is_ours(directory, MARK, DECISIONS)


def read_draft(directory: Path) -> Draft:
    """The draft in a directory.

    Raises:
        SkillFileError: there is no ``skill.py``, or it cannot be read.
        EvidenceError: ``evidence.jsonl`` cannot be read.
        BindingError: ``bindings.json`` is not a bindings file.
        DecisionError: ``decisions.jsonl`` is damaged.
    """
    decisions = directory / DECISIONS
    document = directory / DOCUMENT
    return Draft(
        name=directory.name,
        source=load_subject(directory / SKILL).source,
        evidence=tuple(load_traces(directory / EVIDENCE)),
        bindings=read_bindings(directory / BINDINGS),
        skill_md=document.read_bytes().decode("utf-8", "surrogateescape") if document.is_file() else "",
        decisions=load_decisions(decisions) if decisions.is_file() else (),
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

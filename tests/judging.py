"""What ``generalises`` says of a small skill, by recordings that a test makes up."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from records import file

from sandbox.interface import Sandbox
from verifiers.checks.generalises import CHECK as GENERALISES
from verifiers.evidence import load_evidence
from verifiers.interface import Args, Binding, Decision, Report
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

EACH = 12
"""Of the judged cases CI takes each so many-th: all of them take longer than everything else."""
T = TypeVar("T")


def taken(cases: Sequence[T]) -> list[T]:
    """The cases that are judged: all of them under ``nox -s rounds``. Each version of the judge takes others."""
    return list(cases) if os.environ.get("ASSAY_ALL_CASES") == "1" else list(cases[GENERALISES.version % EACH :: EACH])


def told(task: str, command: str, output: str, before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, Any]:
    """A recording of one command that ended well."""
    trees = [{path: file(text) for path, text in tree.items()} for tree in (before, after)]
    return {
        "task_id": task, "task_description": f"{task}: how it was asked", "commands": [command], "outputs": [output],
        "exit_codes": [0], "success": True, "duration_ms": 1, "timestamp": "2026-11-22T09:00:00+00:00", "metadata": {},
        "workspace": trees[0], "post_workspace": trees[1],
    }  # fmt: skip


def generalised(
    folder: Path,
    sandbox: Sandbox,
    source: str,
    args: Mapping[str, Args],
    rows: Sequence[object],
    decisions: Sequence[Decision] = (),
) -> Report:
    """The report of that check alone, with the arguments of each recording."""
    (folder / "evidence.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    evidence = load_evidence(folder / "evidence.jsonl")
    bindings = {e.task_id: Binding(e.task_id, args[e.task_id]) for e in evidence}
    options = Options(budget="fast", checks=frozenset({"generalises"}), decisions=tuple(decisions))
    return verify(parse_subject(source, Path("skill.py")), evidence, bindings, sandbox=sandbox, options=options)

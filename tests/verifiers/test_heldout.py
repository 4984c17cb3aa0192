"""Skills that no check was written against: good ones in other styles pass, a faulty one does not (all of them: the study)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox import open_sandbox
from verifiers.catalog import DYNAMIC
from verifiers.evidence import load_evidence
from verifiers.interface import Binding, Verdict
from verifiers.subject import load_subject
from verifiers.verify import Options, verify

HELDOUT = Path(__file__).parents[2] / "fixtures" / "heldout"
LABELS: list[dict[str, Any]] = [json.loads(line) for line in (HELDOUT / "labels.jsonl").read_text("utf-8").splitlines()]
CHECKS = frozenset(c.id for c in DYNAMIC) - {"mutants-killed"}

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("family", "label", "what"),
    [
        ("log_rotate", "good", "recovers from an interruption in a branch of its own"),
        ("git_commit", "good", "leaves it to git to keep its locks"),
        ("split_by_key", "good", "writes beside and renames, under any umask"),
        ("symlink_farm", "good", "links nothing where there is nothing to link"),
        ("symlink_farm", "bad", "removes every link where there is nothing to link"),
        ("top_clients", "bad", "reads only so many lines"),
    ],
)
def test_a_skill_that_no_check_was_written_against(family: str, label: str, what: str) -> None:
    """The verdict is the label's."""
    told = (None, "sampled", "sweeps_when_empty")
    row = next(x for x in LABELS if (x["family"], x["label"]) == (family, label) and x["fault"] in told)
    bindings = {b["task_id"]: Binding(b["task_id"], b["args"]) for b in row["bindings"]}
    evidence = [e for e in load_evidence(HELDOUT / "traces.jsonl") if e.task_id in bindings]
    with open_sandbox() as sandbox:
        options = Options(budget="fast", checks=CHECKS)
        report = verify(load_subject(HELDOUT / row["path"]), evidence, bindings, sandbox=sandbox, options=options)
    assert (report.verdict is Verdict.PASS) == (label == "good"), (what, report.why)

"""Skills written without looking at the checks: good ones in other styles pass, faulty ones do not (all of them: the study)."""

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
    ("family", "fault", "nth", "what"),
    [
        ("log_rotate", None, 0, "recovers from an interruption in a branch of its own"),
        ("git_commit", None, 0, "leaves it to git to keep its locks"),
        ("split_by_key", None, 0, "writes beside and renames, under any umask"),
        ("symlink_farm", None, 0, "links nothing where there is nothing to link"),
        ("flatten_copy", None, 1, "makes its target where the recording found one"),
        ("managed_block", None, 0, "ends a last line that has no end"),
        ("release", None, 0, "clears a file out of its way"),
        ("scaffold", None, 0, "has its arguments in here-documents, one with an apostrophe"),
        ("symlink_farm", "sweeps_when_empty", 0, "removes every link where there is nothing to link"),
        ("top_clients", "sampled", 0, "reads only so many lines"),
        ("join_parts", "name_order", 0, "puts part10 before part2"),
        ("flatten_copy", "skips_hidden", 0, "misses hidden files that the commands take"),
        ("no_blanks", "runs_squeezed", 0, "makes one mark of two blanks"),
    ],
)
def test_a_skill_that_somebody_else_labelled(family: str, fault: str | None, nth: int, what: str) -> None:
    """The verdict is the label's."""
    row = [x for x in LABELS if (x["family"], x["fault"]) == (family, fault)][nth]
    bindings = {b["task_id"]: Binding(b["task_id"], b["args"]) for b in row["bindings"]}
    evidence = [e for e in load_evidence(HELDOUT / "traces.jsonl") if e.task_id in bindings]
    with open_sandbox() as sandbox:
        options = Options(budget="fast", checks=CHECKS)
        report = verify(load_subject(HELDOUT / row["path"]), evidence, bindings, sandbox=sandbox, options=options)
    assert (report.verdict is Verdict.PASS) == (fault is None), (what, report.why)

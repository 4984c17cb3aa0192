"""How the judge does on work that nobody who wrote it had seen: correct skills that pass, wrong ones that are refused.

    python tests/study/first_contact.py ROUND_DIR [--jobs 2] [--task NAME] [--expect PASS|REFUSE] [--every N] [--json FILE]

Prints every skill that was judged otherwise than its label says, then the figures of the round. Exits 1 when nothing ran.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from figures import quantile, wilson

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.evidence import load_evidence
from verifiers.expectation.sessions import Memory
from verifiers.interface import Binding, Report, Verdict
from verifiers.subject import load_subject
from verifiers.verify import Options, verify


@dataclass(frozen=True, slots=True)
class Candidate:
    """One skill of a round, with its label."""

    folder: Path
    good: bool
    kind: str

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"


@dataclass(frozen=True, slots=True)
class Row:
    candidate: Candidate
    report: Report
    seconds: float

    @property
    def passed(self) -> bool:
        return self.report.verdict is Verdict.PASS


def candidates(root: Path, task: str | None = None) -> list[Candidate]:
    """Every labelled skill below a round, or of one of its tasks."""
    out = []
    for label in sorted(root.glob("*/*/label.json")):
        if task is None or label.parent.parent.name == task:
            known = json.loads(label.read_text(encoding="utf-8"))
            out.append(Candidate(label.parent, known["expect"] == "PASS", known["kind"]))
    return out


def judge(candidate: Candidate, sandbox: Sandbox, memory: Memory, checks: frozenset[str] | None = None) -> Row:
    began = time.monotonic()
    folder = candidate.folder
    beside = folder / "evidence.jsonl"
    evidence = load_evidence(beside if beside.exists() else folder.parent / "evidence.jsonl")
    rows = json.loads((folder / "bindings.json").read_text(encoding="utf-8"))
    bindings = {task_id: Binding(task_id, row["args"]) for task_id, row in rows.items()}
    report = verify(
        load_subject(folder / "skill.py"), evidence, bindings, sandbox=sandbox, options=Options(memory=memory, checks=checks)
    )
    return Row(candidate, report, time.monotonic() - began)


def shown(row: Row) -> str:
    expected = "PASS" if row.candidate.good else "REFUSE"
    asked = f" {len(row.report.questions)} questions" if row.report.questions else ""
    why = row.report.why.replace("\n", " ")[:260]
    head = f"  {row.candidate.name} ({row.candidate.kind}): expected {expected}, got {row.report.verdict}"
    return f"{head}{asked} {row.seconds:.0f} s {why}"


def summary(rows: Sequence[Row]) -> str:
    good, bad = [r for r in rows if r.candidate.good], [r for r in rows if not r.candidate.good]
    passed, refused = sum(r.passed for r in good), sum(not r.passed for r in bad)
    asked = sum(r.passed and bool(r.report.questions) for r in bad)
    questions = quantile([float(len(r.report.questions)) for r in good if r.passed] or [0.0], 0.5)
    low, high = wilson(passed, len(good))
    low2, high2 = wilson(refused, len(bad))
    seconds = quantile([r.seconds for r in good] or [0.0], 0.5)
    return (
        f"correct passed {passed}/{len(good)} ({low:.2f}..{high:.2f}), median {questions:.0f} questions; "
        f"wrong refused {refused}/{len(bad)} ({low2:.2f}..{high2:.2f}), {asked} more passed with a question; "
        f"median of a correct one {seconds:.1f} s"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--task")
    parser.add_argument("--expect", choices=("PASS", "REFUSE"))
    parser.add_argument("--every", type=int, default=1, help="Of the chosen ones, each so many-th.")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(argv)
    memory: Memory = {}
    chosen = [c for c in candidates(given.root, given.task) if given.expect is None or c.good == (given.expect == "PASS")]
    chosen = chosen[:: given.every]
    with open_sandbox() as sandbox, ThreadPoolExecutor(given.jobs) as pool:
        rows = []
        for row in pool.map(lambda c: judge(c, sandbox, memory), chosen):
            rows.append(row)
            if row.passed != row.candidate.good:
                print(shown(row), flush=True)
    if given.json:
        plain = [{"skill": r.candidate.name, "good": r.candidate.good, "kind": r.candidate.kind, "verdict": str(r.report.verdict),
                  "score": r.report.score.value if r.report.score else None, "why": r.report.why,
                  "questions": [q.invariant for q in r.report.questions]} for r in rows]  # fmt: skip
        given.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")
    print(summary(rows))
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())

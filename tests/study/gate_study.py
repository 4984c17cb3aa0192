"""The gate measures itself: catch rate and false-reject rate on the labelled skills of ``fixtures/gate`` (``nox -s study``).

Prints a table with Wilson intervals per fault kind and the skills that the gate got wrong. Exits 1 when nothing ran or when a
bar is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.catalog import CATALOG
from verifiers.evidence import load_evidence
from verifiers.expectation.sessions import Memory
from verifiers.interface import Binding, Evidence, Report, Verdict
from verifiers.subject import load_subject
from verifiers.verify import Options, verify

FIXTURES = Path(__file__).parents[2] / "fixtures"
DYNAMIC = frozenset(c.id for c in CATALOG if c.stage == "dynamic")


@dataclass(frozen=True, slots=True)
class Row:
    """One judged skill."""

    path: str
    good: bool
    fault: str
    report: Report

    @property
    def right(self) -> bool:
        return (self.report.verdict is Verdict.PASS) == self.good


def wilson(k: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a proportion."""
    if n == 0:
        return 0.0, 1.0
    p = k / n
    mid, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (mid - half) / (1 + z * z / n)), min(1.0, (mid + half) / (1 + z * z / n))


def judge(label: dict[str, object], traces: dict[str, Evidence], sandbox: Sandbox, options: Options) -> Row:
    path = FIXTURES / "gate" / str(label["path"])
    subject = load_subject(path)
    bindings = {b["task_id"]: Binding(b["task_id"], b["args"]) for b in label["bindings"]}  # type: ignore[attr-defined]  # a label's JSON
    evidence = [traces[t] for t in bindings]
    return Row(
        str(label["path"]),
        label["label"] == "good",
        str(label["fault"] or "good"),
        verify(subject, evidence, bindings, sandbox=sandbox, options=options),
    )


def table(rows: list[Row]) -> str:
    kinds: dict[str, list[Row]] = defaultdict(list)
    for r in rows:
        kinds[r.fault].append(r)
    lines = ["| kind | skills | right | 95 % interval | median s |", "|---|---|---|---|---|"]
    for kind, found in sorted(kinds.items(), key=lambda kv: (kv[0] != "good", kv[0])):
        k, n = sum(r.right for r in found), len(found)
        low, high = wilson(k, n)
        seconds = sorted(r.report.seconds for r in found)[n // 2]
        lines.append(f"| {kind} | {n} | {k} | {low:.2f}..{high:.2f} | {seconds:.1f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="part of the path or fault")
    parser.add_argument("--good", action="store_true")
    parser.add_argument("--budget", default="standard")
    parser.add_argument("--all", action="store_true", help="do not stop at the first FAIL")
    parser.add_argument("--image", default=None)
    parser.add_argument("--without", type=Path, default=None, help="log of an earlier run: skills that it got right are left out")
    parser.add_argument("--checks", default=None)
    a = parser.parse_args()
    labels = [json.loads(line) for line in (FIXTURES / "gate" / "labels.jsonl").read_text().splitlines()]
    done = {line.split()[1] for line in a.without.read_text().splitlines() if line.startswith("ok")} if a.without else set()
    labels = [x for x in labels if x["path"] not in done]
    labels = [x for x in labels if a.only in f"{x['path']} {x['fault']}" and (not a.good or x["label"] == "good")]
    traces = {e.task_id: e for e in load_evidence(FIXTURES / "traces" / "traces.jsonl")}
    memory: Memory = {}
    checks = frozenset(a.checks.split(",")) if a.checks else DYNAMIC
    options = Options(budget=a.budget, checks=checks, stop_early=not a.all, memory=memory)
    rows = []
    began = time.monotonic()
    with open_sandbox(image=a.image) as sandbox:
        for label in labels:
            row = judge(label, traces, sandbox, options)
            rows.append(row)
            mark = "ok   " if row.right else "WRONG"
            shown = f"{row.fault} {row.report.verdict} {row.report.seconds:.1f}s {row.report.why[:230]}"
            print(f"{mark} {row.path} {shown}", flush=True)
    print(table(rows))
    good, bad = [r for r in rows if r.good], [r for r in rows if not r.good]
    seconds = sorted(r.report.seconds for r in good)
    if good:
        print(f"a good skill: median {seconds[len(seconds) // 2]:.1f} s, p90 {seconds[int(len(seconds) * 0.9)]:.1f} s")
    print(
        f"{sum(r.right for r in good)}/{len(good)} good pass, {sum(r.right for r in bad)}/{len(bad)} faulty do not, "
        f"{time.monotonic() - began:.0f} s"
    )
    return 0 if rows and all(r.right for r in good) else 1


if __name__ == "__main__":
    sys.exit(main())

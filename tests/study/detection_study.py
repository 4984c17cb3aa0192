"""How well traces are grouped: pairwise precision and recall against the labels of the corpus.

    python tests/study/detection_study.py

A kind of task with three successes or more should be one pattern, and no pattern should hold two kinds. Exits 1 otherwise.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

from synth.detect import detect
from synth.tracing.traces import load_traces

TRACES = Path(__file__).parents[2] / "fixtures" / "traces"


def main() -> int:
    labels = {r["task_id"]: r for r in map(json.loads, (TRACES / "labels.jsonl").read_text("utf-8").splitlines())}
    traces = load_traces(TRACES / "traces.jsonl")
    family = {t.task_id: str(labels[t.task_id]["task_family"]) for t in traces}
    patterns = detect(traces)
    together = {frozenset((a.task_id, b.task_id)) for p in patterns for a, b in combinations(p.traces, 2)}
    good = [t.task_id for t in traces if t.success]
    alike = {frozenset(pair) for pair in combinations(good, 2) if family[pair[0]] == family[pair[1]]}
    frequent = {f for f, n in Counter(family[i] for i in good).items() if n >= 3}
    held = [Counter(family[t.task_id] for t in p.traces) for p in patterns]
    whole = [f for f in frequent if sum(c[f] >= 3 for c in held) == 1]
    mixed = [dict(c) for c in held if len(c) > 1]
    both = len(together & alike)
    say(f"patterns: {len(patterns)}")
    say(f"kinds of task with three successes or more: {len(frequent)}, as one pattern each: {len(whole)}")
    say(f"pairs in patterns: precision {both / len(together):.3f}, recall {both / len(alike):.3f}")
    for c in mixed:
        say(f"mixed: {c}")
    for f in sorted(frequent - set(whole)):
        say(f"not one pattern: {f}")
    return 0 if not mixed and len(whole) == len(frequent) else 1


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    raise SystemExit(main())

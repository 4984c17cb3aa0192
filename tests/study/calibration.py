"""Does the score mean what it says? Evidence split in two: the score from one half against what the skill does on the other.

Writes a table and, with matplotlib, a reliability plot (PNG). Over skills with score >= s, the share that does the right
thing on traces they
were not scored on must be >= s; ``estimate`` must beat a constant 0.7 on Brier score and AUC. Exits 1 when nothing ran or a
claim fails.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gate_study import DYNAMIC, FIXTURES, judge  # the sibling script: both are run from this folder

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.evidence import load_evidence
from verifiers.expectation.sessions import Memory
from verifiers.interface import Evidence, Report, Score, Verdict
from verifiers.score import ScoreInputs, Trial, score
from verifiers.verify import Options

BEHAVIOUR = frozenset({"evidence-reproduces", "effect-equivalent", "answer-equivalent", "idempotent-replay"})


@dataclass(frozen=True, slots=True)
class Point:
    """One skill, scored on one half of its evidence and tried on the other."""

    path: str
    passed: bool
    score: float
    estimate: float
    held: bool
    """It did the right thing on every trace of the other half."""


def halves(label: dict[str, object], salt: int) -> tuple[list[object], list[object]]:
    rows = list(label["bindings"])  # type: ignore[call-overload]  # a label's JSON
    random.Random(f"{label['family']}:{salt}").shuffle(rows)
    cut = max(2, len(rows) // 2)
    return rows[:cut], rows[cut:]


def trial(label: dict[str, object], salt: int, traces: dict[str, Evidence], sandbox: Sandbox, memory: Memory) -> Point | None:
    """Scores a skill on one half and tries it on the other; None where there is no other half."""
    seen, unseen = halves(label, salt)
    if not unseen:
        return None
    options = Options(budget="fast", checks=DYNAMIC, stop_early=True, min_usable=len(seen), memory=memory)
    scored = judge({**label, "bindings": seen}, traces, sandbox, options)
    tried = judge({**label, "bindings": unseen}, traces, sandbox, Options(checks=BEHAVIOUR, min_usable=1, memory=memory))
    passed = scored.report.verdict is Verdict.PASS
    value = score_of(scored.report) if passed else None
    return Point(
        str(label["path"]),
        passed,
        value.value if value else 0.0,
        value.estimate if value else 0.0,
        tried.report.verdict is Verdict.PASS,
    )


def score_of(report: Report) -> Score | None:
    """The score that a report on the dynamic checks alone would have (its skills are short of the conventions on purpose)."""
    measured = {c.id: c.measured for c in report.checks}
    blind = measured["controls-fail"]["not_discriminating"]
    crash = measured.get("crash-convergent", {})
    adequacy = measured.get("mutants-killed", {}).get("adequacy")
    trials = tuple(Trial(t, unseen=False) for t in report.bindings if f"trace {t}" not in blind)  # type: ignore[operator]  # a list of labels
    return score(
        ScoreInputs(
            trials,
            generated=int(str(measured["generalises"]["judged_nonempty"])),
            adequacy=float(str(adequacy)) if adequacy is not None else None,
            torn=bool(crash.get("torn")),
            residue=bool(crash.get("residue")),
        )
    )


def brier(pairs: Sequence[tuple[float, bool]]) -> float:
    return sum((p - y) ** 2 for p, y in pairs) / len(pairs)


def auc(pairs: Sequence[tuple[float, bool]]) -> float:
    """Probability that a skill that held is ranked above one that did not; ties count half."""
    good, bad = [p for p, y in pairs if y], [p for p, y in pairs if not y]
    wins = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
    return wins / (len(good) * len(bad)) if good and bad else 0.5


def table(points: Sequence[Point]) -> tuple[str, bool]:
    """Observed success over skills with score >= s, and whether it is never below s."""
    lines, honest = ["| score >= | skills | held | share |", "|---|---|---|---|"], True
    for s in (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        chosen = [p for p in points if p.score >= s]
        if chosen:
            share = sum(p.held for p in chosen) / len(chosen)
            honest = honest and share >= s
            lines.append(f"| {s:.2f} | {len(chosen)} | {sum(p.held for p in chosen)} | {share:.3f} |")
    return "\n".join(lines), honest


def plot(points: Sequence[Point], where: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    scored = sorted({round(p.score, 2) for p in points if p.score > 0})
    share = [sum(p.held for p in points if p.score >= s) / max(1, sum(p.score >= s for p in points)) for s in scored]
    figure, axes = plt.subplots(figsize=(5, 5))
    axes.plot([0, 1], [0, 1], "--", color="grey", label="claimed: share >= score")
    axes.plot(scored, share, "o-", label="observed")
    axes.set(xlabel="score at least", ylabel="share that held on traces not scored on", xlim=(0, 1), ylim=(0, 1.05))
    axes.legend(loc="lower right")
    figure.savefig(where, dpi=120, bbox_inches="tight")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="take every n-th faulty skill")
    parser.add_argument("--plot", type=Path, default=None)
    a = parser.parse_args()
    labels = [json.loads(line) for line in (FIXTURES / "gate" / "labels.jsonl").read_text().splitlines()]
    bad = [x for x in labels if x["label"] == "bad"][:: a.every]
    chosen = [x for x in labels if (x["label"] == "good" or x in bad) and a.only in x["path"]]
    traces = {e.task_id: e for e in load_evidence(FIXTURES / "traces" / "traces.jsonl")}
    memory: Memory = {}
    points = []
    with open_sandbox() as sandbox:
        for label in chosen:
            for salt in range(a.splits):
                point = trial(label, salt, traces, sandbox, memory)
                if point is not None:
                    points.append(point)
                    print(f"{point.path} passed={point.passed} score={point.score:.3f} held={point.held}", flush=True)
    if not points:
        print("nothing ran")
        return 1
    text, honest = table(points)
    pairs = [(p.estimate, p.held) for p in points]
    constant = [(0.7, p.held) for p in points]
    print(text)
    ours, flat = brier(pairs), brier(constant)
    print(f"Brier {ours:.3f} (constant 0.7: {flat:.3f}), AUC {auc(pairs):.3f} (constant: 0.500), {len(points)} points")
    if a.plot:
        plot(points, a.plot)
    return 0 if honest and brier(pairs) < brier(constant) and auc(pairs) > 0.5 else 1


if __name__ == "__main__":
    sys.exit(main())

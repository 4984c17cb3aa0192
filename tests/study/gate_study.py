"""The gate measures itself: catch rate and false-reject rate on the labelled skills of ``fixtures/gate`` (``nox -s study``), and
on those of ``fixtures/heldout``, which were written without looking at the checks.

    python tests/study/gate_study.py [--set heldout] [--good] [--only PART] [--quick]

Prints a table with Wilson intervals per fault kind, the skills that the gate got wrong, and what a verification takes. Exits 1
when nothing ran or when a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from figures import Part, quantile, table, wilson
from labelled import DYNAMIC, Bench, Label, Row, load_labels, open_bench, spread

from verifiers.verify import Options

QUICK = 4
"""A quick study takes every so many-th skill of each kind."""
CAUGHT = 188 / 192
"""Share of the faulty skills that must not pass. Of the good ones, all must."""


SETS = {"gate": "The gate on labelled skills", "heldout": "The gate on skills written without looking at the checks"}


def judged(bench: Bench, labels: Sequence[Label], options: Options) -> Iterator[Row]:
    """Judges one after the other and says how it went."""
    for label in labels:
        row = bench.judge(label, options)
        mark = "ok   " if row.right else "WRONG"
        report = row.report
        print(f"{mark} {label.path} {label.fault} {report.verdict} {report.seconds:.1f}s {report.why[:230]}", flush=True)
        yield row


def kinds(rows: Sequence[Row]) -> str:
    """A line for each kind of skill."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.label.fault].append(row)
    lines = []
    for kind, of_kind in sorted(found.items(), key=lambda kv: (kv[0] != "good", kv[0])):
        k, n = sum(r.right for r in of_kind), len(of_kind)
        low, high = wilson(k, n)
        lines.append((kind, n, k, f"{low:.2f}..{high:.2f}", f"{quantile([r.report.seconds for r in of_kind], 0.5):.1f}"))
    return table(("kind", "skills", "right", "95 % interval", "median s"), lines)


def times(rows: Sequence[Row]) -> str:
    """Seconds of the checks of the good skills: where a verification's time goes."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for check in row.report.checks:
            seconds[check.id].append(check.seconds)
        rest = (row.report.sandbox.seconds if row.report.sandbox else 0.0) - sum(c.seconds for c in row.report.checks)
        seconds["(evidence replayed, containers started and stopped)"].append(max(0.0, rest))
    whole = sum(sum(v) for v in seconds.values()) or 1.0
    ranked = sorted(seconds.items(), key=lambda kv: -sum(kv[1]))
    lines = [
        (name, f"{quantile(v, 0.5):.2f}", f"{quantile(v, 0.9):.2f}", f"{sum(v) / whole:.0%}") for name, v in ranked if sum(v) > 0
    ]
    return table(("check", "median s", "p90 s", "share of the time"), lines)


def missed(rows: Sequence[Row]) -> tuple[str, ...]:
    """The bars that these rows miss."""
    good, bad = [r for r in rows if r.label.good], [r for r in rows if not r.label.good]
    out = [] if rows else ["no skill was judged"]
    refused = [r.label.path for r in good if not r.right]
    out += [f"good skills refused: {', '.join(refused)}"] if refused else []
    let_in = [f"{r.label.path} ({r.label.fault})" for r in bad if not r.right]
    if bad and 1 - len(let_in) / len(bad) < CAUGHT:
        out.append(f"faulty skills let in: {', '.join(let_in)}")
    return tuple(out)


def summary(rows: Sequence[Row], seconds: float) -> str:
    good, bad = [r for r in rows if r.label.good], [r for r in rows if not r.label.good]
    lines = []
    if good:
        spent = [r.report.seconds for r in good]
        lines.append(f"a good skill: median {quantile(spent, 0.5):.1f} s, p90 {quantile(spent, 0.9):.1f} s")
    passed, caught = sum(r.right for r in good), sum(r.right for r in bad)
    lines.append(f"{passed}/{len(good)} good pass, {caught}/{len(bad)} faulty do not, {seconds:.0f} s")
    lines += [f"let in: {r.label.path} ({r.label.fault})" for r in bad if not r.right]
    return "\n".join(lines)


def parts(bench: Bench, quick: bool, folder: str) -> Iterator[Part]:
    """The table of one set of labelled skills, and the times."""
    labels = spread(load_labels(folder), QUICK) if quick else load_labels(folder)
    began = time.monotonic()
    found = list(judged(bench, labels, Options(checks=DYNAMIC, memory=bench.memory)))
    yield Part(SETS[folder], f"{kinds(found)}\n\n{summary(found, time.monotonic() - began)}", missed(found))
    if folder == "gate":
        title = "Where the time of a verification goes (good skills, no check left out)"
        yield Part(title, times([r for r in found if r.label.good]))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", default="gate", choices=sorted(SETS), help="which labelled skills")
    parser.add_argument("--only", default="", help="part of the path or fault")
    parser.add_argument("--good", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a fourth of the good skills and of each fault")
    parser.add_argument("--budget", default="standard")
    parser.add_argument("--all", action="store_true", help="do not stop at the first FAIL")
    parser.add_argument("--image", default=None)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--without", type=Path, default=None, help="log of an earlier run: skills that it got right are left out")
    parser.add_argument("--checks", default=None)
    a = parser.parse_args()
    done = {line.split()[1] for line in a.without.read_text().splitlines() if line.startswith("ok")} if a.without else set()
    labels = spread(load_labels(a.set), QUICK) if a.quick else load_labels(a.set)
    chosen = [x for x in labels if x.path not in done and a.only in f"{x.path} {x.fault}" and (not a.good or x.good)]
    checks = frozenset(a.checks.split(",")) if a.checks else DYNAMIC
    began = time.monotonic()
    with open_bench(image=a.image, workers=a.workers) as bench:
        options = Options(budget=a.budget, checks=checks, stop_early=not a.all, memory=bench.memory)
        rows = list(judged(bench, chosen, options))
    print(kinds(rows))
    print(times([r for r in rows if r.label.good]))
    print(summary(rows, time.monotonic() - began))
    for sentence in missed(rows):
        print(f"missed: {sentence}")
    return 1 if missed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())

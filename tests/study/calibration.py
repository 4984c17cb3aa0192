"""Does the score mean what it says? Evidence split in two: the score from one half against what the skill does on the other.

    python tests/study/calibration.py [--quick] [--families N] [--faulty N] [--mutants N] [--write docs] [--points FILE]

In every bin the share that does the right thing on traces it was not scored on must be at least the score, and ``estimate`` must
beat a constant 0.7 on Brier score and AUC. Exits 1 when nothing ran or a claim fails. ``--points`` keeps what was measured, and
reads it again where it is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from figures import Part, auc, auc_interval, brier, share, table
from halves import Point, families, of_labels, of_mutants, of_synthesis
from labelled import Bench, load_labels, open_bench, spread
from page import PICTURE, keep

from verifiers.interface import Verdict

CONSTANT = 0.7
TASKS = {"gate": "fixtures/traces", "heldout": "fixtures/heldout"}
BIN = 0.1
HOW = """\
The evidence of each skill is split at random; the skill is scored on one part (budget fast, dynamic checks, as many usable
traces as the part has: two or three) and tried on the rest. It held if it did what the trace did on every trace of the rest: a
second time too, under other surroundings, interrupted, and with failing calls. INCONCLUSIVE is no claim and leaves the figures
below."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much to try."""

    families: int = 1
    """Every so many-th kind of task is synthesised,"""
    larger: int = 1
    """and every so many-th of those with more than three traces."""
    good: int = 1
    """Every so many-th good skill,"""
    mutants: int = 4
    """with so many mutants of each,"""
    faulty: int = 4
    """and every so many-th faulty skill of each fault."""
    heldout: bool = True
    """The tasks that were written without looking at judge and generator, too: synthesised and good ones."""


QUICK = Size(families=8, larger=8, good=4, mutants=1, faulty=16, heldout=False)


def points(bench: Bench, size: Size) -> Iterator[Point]:
    """All kinds of skills."""
    labels = load_labels()
    good = [x for x in labels if x.good][:: size.good]
    known = list(enumerate(families().items()))
    chosen = [kind for n, kind in known if n % size.families == 0 or (len(kind[1]) > 3 and n % size.larger == 0)]
    yield from of_synthesis(bench, dict(chosen))
    yield from of_labels(bench, good)
    yield from of_mutants(bench, good, size.mutants)
    yield from of_labels(bench, [x for x in spread(labels, size.faulty) if not x.good])
    if size.heldout:
        yield from (replace(p, folder="heldout") for p in of_synthesis(bench, families("heldout")))
        yield from of_labels(bench, [x for x in load_labels("heldout") if x.good])


def kinds(found: Sequence[Point]) -> str:
    """What became of each kind of skill on the first part, and how many of those did the right thing on the rest."""
    rows = []
    for kind in ("labelled good", "synthesised", "mutant", "labelled faulty"):
        of_kind = [p for p in found if p.kind == kind]
        cells = []
        for verdict in (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL):
            those = [p for p in of_kind if p.verdict is verdict]
            cells.append(f"{sum(p.held for p in those)} of {len(those)}" if those else "-")
        rows.append((kind, len(of_kind), *cells))
    head = ("skills", "tried", "scored: held of", "INCONCLUSIVE: held of", "FAIL: held of")
    return table(head, rows)


def names(found: Sequence[Point]) -> str:
    """What V of the formula is for: how many held of those with a name that nothing varied, and of the others."""
    rows = []
    for folder in ("gate", "heldout"):
        for fixed, what in ((True, "yes"), (False, "no")):
            those = [p for p in found if p.fixed == fixed and p.folder == folder]
            held = sum(p.held for p in those)
            rows += [(TASKS[folder], what, len(those), share(held, len(those)))] if those else []
    return table(("tasks", "a name that no trace varies", "scored skills", "share that held"), rows)


def bins(found: Sequence[Point]) -> tuple[str, list[str]]:
    """A row for each tenth of the score, and the bins in which fewer held than the score says."""
    rows, low = [], []
    for n in range(10):
        chosen = [p for p in found if int(p.score / BIN) == n]
        if not chosen:
            continue
        held, mean = sum(p.held for p in chosen), sum(p.score for p in chosen) / len(chosen)
        name = f"{n * BIN:.1f}..{(n + 1) * BIN:.1f}"
        estimate = sum(p.estimate for p in chosen) / len(chosen)
        rows.append((name, len(chosen), f"{mean:.3f}", f"{estimate:.3f}", f"{held / len(chosen):.3f}", share(held, len(chosen))))
        if held / len(chosen) < mean:
            low.append(f"score {name}: {held} of {len(chosen)} held, {mean:.3f} was promised")
    return table(("score", "skills", "mean score", "mean estimate", "share that held", "95 % interval"), rows), low


def cumulative(found: Sequence[Point]) -> tuple[str, list[str]]:
    """Over skills with score at least s, the share that held must be at least s."""
    rows, low = [], []
    for s in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        chosen = [p for p in found if p.score >= s]
        if chosen:
            held = sum(p.held for p in chosen)
            rows.append((f"{s:.2f}", len(chosen), held, f"{held / len(chosen):.3f}"))
            low += [f"score >= {s}: {held} of {len(chosen)} held"] if held / len(chosen) < s else []
    return table(("score at least", "skills", "held", "share"), rows), low


def contest(found: Sequence[Point], what: str) -> tuple[list[object], list[str]]:
    """``estimate`` against the constant, whose AUC is 0.5: a row of the table, and where it loses."""
    pairs, flat = [(p.estimate, p.held) for p in found], [(CONSTANT, p.held) for p in found]
    ours, theirs, area = brier(pairs), brier(flat), auc(pairs)
    lost = [f"Brier {ours:.3f} is not below {theirs:.3f} ({what})"] if ours >= theirs else []
    shown = "nothing to rank"
    if area is not None:
        held = sum(p.held for p in found)
        low, high = auc_interval(area, held, len(found) - held)
        shown = f"{area:.3f} ({low:.2f}..{high:.2f})"
        lost += [f"AUC {shown} is not above 0.5 ({what})"] if area <= 0.5 else []
    return [what, len(found), f"{ours:.3f}", f"{theirs:.3f}", shown], lost


def part(found: Sequence[Point], picture: str = "") -> Part:
    """The whole text, and the claims that fail."""
    scored = [p for p in found if p.verdict is Verdict.PASS and p.score > 0]
    if not scored:
        return Part("Calibration", "nothing was scored", ("nothing was scored",))
    decided = [p for p in found if p.verdict is not Verdict.INCONCLUSIVE]
    in_bins, low = bins(scored)
    at_least, below = cumulative(scored)
    unseen = [p for p in scored if p.folder == "heldout"]
    contests = [contest(scored, "scored skills"), contest(decided, "scored skills, and refused ones with estimate 0")]
    contests += [contest(unseen, "scored skills of the held-out tasks alone")] if unseen else []
    lost = [sentence for _, sentences in contests for sentence in sentences]
    if auc([(p.estimate, p.held) for p in decided]) is None:
        lost.append("either every skill held or none: nothing was ranked")
    head = ("over", "skills", "Brier of estimate", f"Brier of {CONSTANT}", f"AUC (of {CONSTANT}: 0.500)")
    wrong = [f"scored {p.score:.3f} and wrong on the rest: {p.name} ({p.kind}): {p.why[:160]}" for p in scored if not p.held]
    lines = [HOW, kinds(found), names(scored), in_bins, at_least, table(head, [row for row, _ in contests])]
    lines.append("\n".join(f"* {w}" for w in wrong))
    lines += [f"![Reliability: observed share against score]({picture})"] if picture else []
    return Part("Calibration", "\n\n".join(line for line in lines if line), tuple(low + below + lost))


def plot(found: Sequence[Point], where: Path) -> None:
    """The reliability plot: share that held (with its 95 % interval) against the mean score of each bin."""
    import matplotlib as mpl

    mpl.use("Agg")
    from figures import wilson
    from matplotlib import pyplot as plt

    scored = [p for p in found if p.verdict is Verdict.PASS and p.score > 0]
    groups = [g for n in range(10) if (g := [p for p in scored if int(p.score / BIN) == n])]
    x = [sum(p.score for p in g) / len(g) for g in groups]
    y = [sum(p.held for p in g) / len(g) for g in groups]
    ends = [wilson(sum(p.held for p in g), len(g)) for g in groups]
    away = [[v - low for v, (low, _) in zip(y, ends, strict=True)], [high - v for v, (_, high) in zip(y, ends, strict=True)]]
    figure, axes = plt.subplots(figsize=(5.5, 5.5))
    axes.plot([0, 1], [0, 1], "--", color="grey", label="claimed: share >= score")
    axes.errorbar(x, y, yerr=[[max(0.0, v) for v in side] for side in away], fmt="o", capsize=3, label="observed, 95 % interval")
    for g, a, b in zip(groups, x, y, strict=True):
        axes.annotate(str(len(g)), (a, b), textcoords="offset points", xytext=(6, -12))
    axes.set(xlabel="score (mean of the bin)", ylabel="share that held on traces not scored on", xlim=(0, 1), ylim=(0, 1.05))
    axes.legend(loc="lower right")
    figure.savefig(where, dpi=100, bbox_inches="tight", metadata={"Software": None})


def measured(found: Iterable[Point], file: Path | None) -> list[Point]:
    """The points, kept in a file as they come, each with the seconds that it took."""
    out = []
    began = time.monotonic()
    for p in found:
        out.append(p)
        print(f"{p.kind}: {p.name} {p.verdict} score={p.score:.3f} held={p.held} {p.why[:100]}", flush=True)
        if file is not None:
            row = {**asdict(p), "verdict": p.verdict.name, "seconds": round(time.monotonic() - began, 1)}
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
        began = time.monotonic()
    return out


def read(file: Path) -> tuple[list[Point], float]:
    """The points of an earlier run, and the seconds that it took."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    seconds = sum(row.pop("seconds", 0.0) for row in rows)
    return [Point(**{**row, "verdict": Verdict[row["verdict"]]}) for row in rows], seconds


def parts(bench: Bench, quick: bool, picture: Path | None = None) -> Iterator[Part]:
    found = measured(points(bench, QUICK if quick else Size()), None)
    if picture is not None and found:
        plot(found, picture)
    yield part(found, picture.name if picture is not None else "")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--families", type=int, default=Size().families, help="synthesise every n-th kind of task")
    parser.add_argument("--good", type=int, default=Size().good, help="take every n-th good skill")
    parser.add_argument("--mutants", type=int, default=Size().mutants, help="of each good skill")
    parser.add_argument("--faulty", type=int, default=Size().faulty, help="take every n-th faulty skill of each fault")
    parser.add_argument("--write", type=Path, default=None, metavar="DIR", help="keep table and plot there")
    parser.add_argument("--points", type=Path, default=None)
    a = parser.parse_args()
    began = time.monotonic()
    if a.points is not None and a.points.exists():
        found, earlier = read(a.points)
        began -= earlier
    else:
        with open_bench(workers=1) as bench:
            size = QUICK if a.quick else Size(a.families, 1, a.good, a.mutants, a.faulty)
            found = measured(points(bench, size), a.points)
    if a.write and found:
        plot(found, a.write / PICTURE)
    result = part(found, PICTURE if a.write else "")
    if a.write:
        keep(a.write, result, time.monotonic() - began)
    print(result.text)
    for sentence in result.missed:
        print(f"missed: {sentence}")
    return 1 if result.missed else 0


if __name__ == "__main__":
    sys.exit(main())

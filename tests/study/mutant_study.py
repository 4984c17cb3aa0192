"""Mutants of the good skills as extra faulty ones: does the gate refuse those that behave differently?

    python tests/study/mutant_study.py [--each N] [--quick]

Equivalent mutants are left out by measurement: a mutant counts as faulty only if it is seen to be wrong where its parent is
right, on a recorded base, on a generated case (drawn from another seed than the gate's, and four times as many), or on its own
result (a second run). How it was seen is a line of the table: what the recordings show is easily caught, the rest is the test.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from figures import Part, table, wilson
from labelled import DYNAMIC, Bench, Label, load_labels, open_bench

from sandbox.interface import RunRequest, SkillJob
from verifiers.binding.cases import bind
from verifiers.checks.generalises import Generalises
from verifiers.checks.idempotent_replay import second_effect
from verifiers.context import Case, Context, Judge
from verifiers.expectation.oracle import replay
from verifiers.expectation.sessions import RememberingSession
from verifiers.interface import Binding, Budget, Verdict
from verifiers.mutation.mutants import Mutant, mutants
from verifiers.subject import parse_subject
from verifiers.verify import Options

SEED = 20250607
"""Of the choice of mutants and of the cases that tell them from their parents. The gate draws from other seeds."""
BATCH = 16
BAR = 0.95
"""Share of the mutants seen to be wrong that must not pass."""

Seen = Literal["on a recorded base", "on a generated case", "on its own result"]


@dataclass(frozen=True, slots=True)
class Judged:
    """One mutant that is wrong somewhere, and what the gate said."""

    parent: Label
    mutant: Mutant
    seen: Seen
    where: str
    """The case that shows it."""
    verdict: Verdict
    why: str


@contextmanager
def parent_of(bench: Bench, label: Label, budget: Budget) -> Iterator[Context]:
    """The good skill with everything that it was seen to do right: recorded cases and generated ones."""
    subject = label.subject
    bindings = {task_id: Binding(task_id, args) for task_id, args in label.bindings}
    with bench.sandbox.session("parent") as skill, RememberingSession(bench.sandbox, "traces", bench.memory) as traces:
        replayed = replay([bench.traces[t] for t in bindings], traces, {})
        cases = bind(subject, replayed, bindings, skill).cases
        context = Context(
            subject, replayed, cases, skill, traces, bench.sandbox.info, budget, SEED, Judge(replayed.read_only, None)
        )
        Generalises().run(context)
        yield context


def wrong(context: Context, mutant: Mutant) -> tuple[Seen, str] | None:
    """Where a mutant is wrong and its parent is not; None for one that no run tells from it."""
    recorded = [(c, False) for c in context.cases]
    generated = [(g.case, True) for g in context.generated]
    for start in range(0, len(recorded) + len(generated), BATCH):
        batch = [*recorded, *generated][start : start + BATCH]
        records = context.skill.map([_request(context, mutant, case) for case, _ in batch])
        for (case, made), record in zip(batch, records, strict=True):
            if context.judge.wrong(record, case.expectation) is not None:
                return ("on a generated case" if made else "on a recorded base"), case.label
    for case, _ in recorded:
        first, own = context.skill.run(_request(context, mutant, case)), context.first[case.label]
        again = context.skill.run(replace(_request(context, mutant, case), base=first.post))
        fine = context.skill.run(context.request(own.post, case.args))
        if second_effect(context, case, own.post, fine) is None and second_effect(context, case, first.post, again) is not None:
            return "on its own result", case.label
    return None


def _request(context: Context, mutant: Mutant, case: Case) -> RunRequest:
    request = context.request(case.base, case.args)
    return replace(request, job=SkillJob(mutant.source, dict(case.args)), limits=replace(request.limits, wall_s=3.0))


def study(bench: Bench, labels: list[Label], each: int, budget: Budget) -> tuple[list[Judged], int]:
    """Judges up to ``each`` wrong mutants of every skill; also says how many were never told from their parents."""
    out: list[Judged] = []
    same = 0
    for label in labels:
        literals = [dict(args) for _, args in label.bindings]
        with parent_of(bench, label, budget) as context:
            found = []
            for mutant in mutants(label.subject.source, literals=literals, limit=each, seed=SEED):
                at = wrong(context, mutant)
                same += at is None
                found += [(mutant, *at)] if at is not None else []
        for mutant, seen, where in found:
            subject = parse_subject(mutant.source, f"{label.family}/mutant.py")
            report = bench.verify(subject, label.bindings, Options(checks=DYNAMIC, memory=bench.memory))
            out.append(Judged(label, mutant, seen, where, report.verdict, report.why))
            mark = "ok   " if report.verdict is not Verdict.PASS else "PASS "
            print(f"{mark} {label.family}:{mutant.line} {mutant.description} (wrong {seen}) {report.why[:150]}", flush=True)
    return out, same


def part(bench: Bench, labels: list[Label], each: int, budget: Budget) -> Part:
    """The table, a line for how the mutants were seen to be wrong."""
    judged, same = study(bench, labels, each, budget)
    caught = [j for j in judged if j.verdict is not Verdict.PASS]
    rows = []
    for name in ("on a recorded base", "on a generated case", "on its own result", "all"):
        of_kind = [j for j in judged if name in (j.seen, "all")]
        k, n = sum(j in caught for j in of_kind), len(of_kind)
        interval = "{:.2f}..{:.2f}".format(*wilson(k, n)) if n else "-"
        rows.append((f"wrong {name}" if name != "all" else name, n, k, interval))
    lines = [table(("mutants", "tried", "refused", "95 % interval"), rows), ""]
    lines.append(f"{same} more were never told from their parents and are left out.")
    lines += [
        f"let in: {j.parent.family} line {j.mutant.line}, {j.mutant.description}: wrong {j.seen} ({j.where})"
        for j in judged
        if j.verdict is Verdict.PASS
    ]
    few = ("no mutant was seen to be wrong",) if not judged else ()
    low = (f"{len(caught)} of {len(judged)} wrong mutants are refused",) if judged and len(caught) < BAR * len(judged) else ()
    return Part("Mutants of the good skills", "\n".join(lines), few + low)


def parts(bench: Bench, quick: bool) -> Iterator[Part]:
    good = [x for x in load_labels() if x.good]
    yield part(bench, good[1::2], 4, "standard") if quick else part(bench, good, 12, "thorough")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--only", default="")
    parser.add_argument("--budget", default="thorough")
    a = parser.parse_args()
    with open_bench() as bench:
        found = part(bench, [x for x in load_labels() if x.good and a.only in x.path], a.each, a.budget)
    print(found.text)
    for sentence in found.missed:
        print(f"missed: {sentence}")
    return 1 if found.missed else 0


if __name__ == "__main__":
    sys.exit(main())

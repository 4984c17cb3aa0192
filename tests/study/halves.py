"""Skills scored on one part of their evidence and tried on the rest: the points of the calibration study.

Three kinds of skills. *Labelled*: the good and the faulty ones of ``fixtures/gate``. *Mutants* of the good ones, equivalent ones
included: skills that are nearly right. *Synthesised*: what the embedded generator makes of the scored part alone, every
candidate that the crystallizer judged, taken or not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from labelled import DYNAMIC, FIXTURES, Bench, Label, load_labels

from synth.crystallization.judge import SandboxJudge
from synth.crystallization.search import Search, SearchSettings
from synth.embedded import EmbeddedGenerator
from synth.interface import Candidate, ExecutionTrace, TracePattern
from synth.tracing.traces import load_traces, to_evidence
from verifiers.binding.fixed import fixed_names
from verifiers.interface import Args, Evidence, Report, Score, Subject, Verdict
from verifiers.mutation.mutants import mutants
from verifiers.score import ScoreInputs, Trial, score
from verifiers.subject import parse_subject
from verifiers.verify import Options

PER_TRACE = frozenset({
    "evidence-reproduces", "effect-equivalent", "answer-equivalent", "idempotent-replay", "deterministic-replay",
    "crash-convergent", "fault-honest", "contained",
})  # fmt: skip
"""What the right thing on a trace is. The other checks ask about the evidence as a whole."""
SEED = 20250607

Bindings = Sequence[tuple[str, Args]]


@dataclass(frozen=True, slots=True)
class Point:
    """One skill on one split."""

    kind: str
    """labelled good, labelled faulty, mutant or synthesised."""
    name: str
    seen: int
    """Traces that it was scored on."""
    verdict: Verdict
    """On them."""
    score: float
    """0 where there is none."""
    estimate: float
    held: bool
    """It did the right thing on every other trace."""
    why: str = ""
    """Why it did not."""
    fixed: bool = False
    """It has a name fixed that no trace of the scored part varies."""
    folder: str = "gate"
    """``heldout``: of the tasks that were written without looking at judge and generator."""


def cuts(rows: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Random splits of task_ids: about half against the rest; where there are four or more, all but one against one too."""
    shuffled = list(rows)
    random.Random(f"{sorted(rows)}:{SEED}").shuffle(shuffled)
    sizes = dict.fromkeys((max(2, len(rows) // 2), max(2, len(rows) - 1)))
    return [(shuffled[:n], shuffled[n:]) for n in sizes if n < len(rows)]


def tried(bench: Bench, subject: Subject, rest: Bindings) -> Report:
    return bench.verify(subject, rest, Options(budget="fast", checks=PER_TRACE, min_usable=1, memory=bench.memory, workers=1))


def point(bench: Bench, kind: str, subject: Subject, bindings: Mapping[str, Args], seen: list[str], rest: list[str]) -> Point:
    """Scores on ``seen``, tries on ``rest``. Static checks are left out: labelled skills are short of the conventions on
    purpose."""
    options = Options(budget="fast", checks=DYNAMIC, min_usable=len(seen), memory=bench.memory, workers=1)
    report = bench.verify(subject, [(t, bindings[t]) for t in seen], options)
    value = score_of(subject, report, bench.traces) if report.verdict is Verdict.PASS else None
    after = tried(bench, subject, [(t, bindings[t]) for t in rest])
    return made(kind, f"{subject.path}", len(seen), report, value, after)


def made(kind: str, name: str, seen: int, report: Report, value: Score | None, after: Report) -> Point:
    held = after.verdict is Verdict.PASS
    if value is None:
        return Point(kind, name, seen, report.verdict, 0.0, 0.0, held, after.why)
    return Point(kind, name, seen, report.verdict, value.value, value.estimate, held, after.why, bool(value.inputs["fixed"]))


def score_of(subject: Subject, report: Report, traces: Mapping[str, Evidence]) -> Score | None:
    """The score that a report on the dynamic checks alone would have; every trace counts as seen."""
    measured = {c.id: c.measured for c in report.checks}
    blind = measured["controls-fail"]["not_discriminating"]
    crash = measured.get("crash-convergent", {})
    adequacy = measured.get("mutants-killed", {}).get("adequacy")
    generated = measured["generalises"]["judged_nonempty"]
    distinct: dict[str, str] = {}
    for task_id, args in sorted(report.bindings.items()):
        base = traces[task_id].base
        if not (isinstance(blind, list) and f"trace {task_id}" in blind):
            distinct.setdefault(f"{sorted(args.items())!r} {base.digest if base is not None else ''}", task_id)
    return score(
        ScoreInputs(
            tuple(Trial(t, unseen=False) for t in distinct.values()),
            generated=generated if isinstance(generated, int) else 0,
            adequacy=float(adequacy) if isinstance(adequacy, int | float) else None,
            torn=bool(crash.get("torn")),
            residue=bool(crash.get("residue")),
            fixed=fixed_names(subject.source, [(traces[t], args) for t, args in sorted(report.bindings.items())]),
        )
    )


def of_labels(bench: Bench, labels: Sequence[Label]) -> Iterator[Point]:
    """Good ones on every split, faulty ones on the first."""
    for label in labels:
        bindings = dict(label.bindings)
        kind = "labelled good" if label.good else "labelled faulty"
        for seen, rest in cuts(list(bindings))[: None if label.good else 1]:
            yield replace(point(bench, kind, label.subject, bindings, seen, rest), folder=label.folder)


def of_mutants(bench: Bench, labels: Sequence[Label], each: int) -> Iterator[Point]:
    """Nearly right skills, on one split each."""
    for label in labels:
        bindings = dict(label.bindings)
        seen, rest = cuts(list(bindings))[0]
        literals = [dict(bindings[t]) for t in seen]
        for mutant in mutants(label.subject.source, literals=literals, limit=each, seed=SEED):
            subject = parse_subject(mutant.source, f"{label.family}: {mutant.description}")
            yield point(bench, "mutant", subject, bindings, seen, rest)


# ---------------------------------------------------------------- synthesised


@dataclass
class Watching(SandboxJudge):
    """Keeps every candidate that was judged, with its report."""

    judged: list[tuple[Candidate, Report]] = field(default_factory=list)

    def verify(
        self,
        candidate: Candidate,
        evidence: Sequence[Evidence],
        bindings: Mapping[str, Args],
        unseen: frozenset[str],
        failures: int,
    ) -> Report:
        report = super().verify(candidate, evidence, bindings, unseen, failures)
        self.judged.append((candidate, report))
        return report


def families(folder: str = "gate") -> dict[str, list[ExecutionTrace]]:
    """Successful traces of each kind of task, three or more."""
    lines = (FIXTURES / "traces" / "labels.jsonl").read_text("utf-8").splitlines()
    kinds = {r["task_id"]: r["task_family"] for r in map(json.loads, lines) if not r["labels"]["is_noise"]}
    if folder == "heldout":
        kinds = {task_id: label.family for label in load_labels(folder) for task_id, _ in label.bindings}
    out: dict[str, list[ExecutionTrace]] = {}
    for trace in load_traces(FIXTURES / ("traces" if folder == "gate" else folder) / "traces.jsonl"):
        if trace.success and trace.task_id in kinds:
            out.setdefault(kinds[trace.task_id], []).append(trace)
    return {family: traces for family, traces in sorted(out.items()) if len(traces) >= 3}


def of_synthesis(bench: Bench, chosen: Mapping[str, list[ExecutionTrace]]) -> Iterator[Point]:
    """What is made of one part of the traces, tried on the rest with arguments that are inferred there."""
    for family, traces in chosen.items():
        by_id = {t.task_id: t for t in traces}
        for seen, rest in cuts(sorted(by_id)):
            yield from _made_of(bench, family, [by_id[t] for t in seen], [to_evidence(by_id[t]) for t in rest])


def _made_of(bench: Bench, family: str, traces: Sequence[ExecutionTrace], rest: Sequence[Evidence]) -> Iterator[Point]:
    commands = tuple(dict.fromkeys(c for t in traces for c in t.commands))
    pattern = TracePattern("repetitive", commands, len(traces), 1.0, "task", "", tuple(traces))
    evidence = [to_evidence(t) for t in traces]
    judge = Watching(bench.sandbox, budget="fast", min_usable=len(traces), _memory=bench.memory)
    Search(pattern, evidence, EmbeddedGenerator(), judge, SearchSettings(min_usable=len(traces), refits=True)).run()
    usable = [e for e in rest if e.task_id not in judge.unusable(rest)]
    for candidate, report in judge.judged:
        bindings = judge.bind(candidate, evidence, usable)
        bound = [(e.task_id, bindings[e.task_id]) for e in usable if e.task_id in bindings]
        if bound:  # nothing can be tried where no arguments can be inferred
            subject = parse_subject(candidate.source, f"{family} from {len(traces)}", name=candidate.name)
            yield made("synthesised", subject.path, len(traces), report, report.score, tried(bench, subject, bound))

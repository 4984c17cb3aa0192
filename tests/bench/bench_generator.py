"""What the embedded generator makes of a corpus: family -> outcome -> why -> seconds.

    python tests/bench/bench_generator.py TRACES LABELS [--full [--fast]] [FAMILY…]

Labels only sort traces into families (evaluation); the generator never sees them. Without ``--full`` a candidate counts when it
has the effect or answer of every trace and a second run changes nothing; with it, when the whole verification passes.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from synth.embedded import EmbeddedGenerator
from synth.embedded.steps import changes_something
from synth.embedded.trial import trial
from synth.interface import Candidate, TracePattern
from synth.tracing.traces import load_traces, to_evidence
from verifiers.interface import Binding, Budget, Evidence, Verdict
from verifiers.source.static import run_static
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

BUDGET: Budget = "fast" if "--fast" in sys.argv else "standard"


@dataclass(frozen=True, slots=True)
class Row:
    family: str
    outcome: str
    why: str
    seconds: float


def families(traces: Path, labels: Path) -> Mapping[str, list[Evidence]]:
    """Successful traces by labelled family."""
    family = {r["task_id"]: r["task_family"] for r in map(json.loads, labels.read_text().splitlines())}
    out: dict[str, list[Evidence]] = {}
    for trace in load_traces(traces):
        if trace.success:
            out.setdefault(family[trace.task_id], []).append(to_evidence(trace))
    return out


def pattern(name: str, evidence: Sequence[Evidence]) -> TracePattern:
    return TracePattern("repetitive", evidence[0].commands, len(evidence), 1.0, name, name, ())


def quick(sandbox: Sandbox, candidate: Candidate, evidence: Sequence[Evidence]) -> str:
    """Why the candidate is not good ("" where it is): static checks, effects, second runs."""
    unbound = [e.task_id for e in evidence if e.task_id not in candidate.bindings]
    for result in run_static([parse_subject(candidate.source, "skill.py")])[0]:
        if result.verdict is not Verdict.PASS:
            return f"{result.id}: {result.findings[0].message if result.findings else result.why}"
    writes = sum(changes_something(e) for e in evidence) * 3 > len(evidence)
    with sandbox.session("bench", 1) as session:
        wrong = trial(session, candidate, evidence, writes)
    return "; ".join([*(f"{k}: {v}" for k, v in wrong.items()), *(f"{t}: no binding" for t in unbound)])


def full(sandbox: Sandbox, candidate: Candidate, evidence: Sequence[Evidence]) -> str:
    subject = parse_subject(candidate.source, "skill.py")
    bindings = {k: Binding(k, v) for k, v in candidate.bindings.items()}
    report = verify(subject, evidence, bindings, sandbox=sandbox, options=Options(budget=BUDGET))
    return report.why if report.verdict is not Verdict.PASS else ""


def rows(sandbox: Sandbox, corpus: Mapping[str, list[Evidence]], names: Sequence[str], whole: bool) -> Iterator[Row]:
    judge = full if whole else quick
    for name in names or corpus:
        began, generator = time.monotonic(), EmbeddedGenerator()
        why, outcome = "", "no candidate"
        for k, candidate in enumerate(generator.generate(pattern(name, corpus[name]), corpus[name])):
            got = judge(sandbox, candidate, corpus[name])
            why, outcome = (why or got, "refused") if got else ("", f"candidate {k + 1}")
            if not got:
                break
        yield Row(name, outcome, why or (generator.why_none() if outcome == "no candidate" else ""), time.monotonic() - began)


def main(argv: Sequence[str]) -> int:
    plain = [a for a in argv if not a.startswith("--")]
    corpus = families(Path(plain[0]), Path(plain[1]))
    good = 0
    with open_sandbox(workers=1, image=next((a[8:] for a in argv if a.startswith("--image=")), None)) as sandbox:
        for row in rows(sandbox, corpus, plain[2:], "--full" in argv):
            good += row.outcome.startswith("candidate")
            sys.stdout.write(f"{row.family:32} {row.outcome:14} {row.seconds:6.1f} s  {row.why[:300]}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{good} good\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

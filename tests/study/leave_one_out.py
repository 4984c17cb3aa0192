"""Skills made without one trace, tried on it: a table of every pattern's traces.

    python tests/study/leave_one_out.py [TRACES …] [--only PART_OF_TASK_ID …]

For each usable trace the embedded generator is asked again with the others alone. What it proposes first that holds on them
gets its arguments for the trace left out by inference, and must do there what the trace did. Without files: the traces of the
demonstration and of the corpus. Exits 1 if a skill was wrong on a trace that it had not seen.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sandbox import open_sandbox
from synth.crystallization.holdout import case_key
from synth.crystallization.judge import SandboxJudge
from synth.detect import detect
from synth.embedded import EmbeddedGenerator
from synth.interface import Candidate, TracePattern
from synth.tracing.traces import load_traces, to_evidence
from verifiers.interface import Evidence

FIXTURES = Path(__file__).parents[2] / "fixtures"
TRACES = (FIXTURES / "demo" / "rename.jsonl", FIXTURES / "traces" / "traces.jsonl")
LEAST = 3
"""Usable traces below which a pattern is left out."""


def main(arguments: list[str]) -> int:
    cut = arguments.index("--only") if "--only" in arguments else len(arguments)
    files, wanted = [Path(a) for a in arguments[:cut]] or list(TRACES), arguments[cut + 1 :]
    counts: Counter[str] = Counter()
    with open_sandbox(workers=1) as sandbox:
        judge = SandboxJudge(sandbox, "fast")
        for file in files:
            for pattern in detect(load_traces(file)):
                if not wanted or any(w in t.task_id for t in pattern.traces for w in wanted):
                    counts += study(pattern, judge)
    say("  ".join(f"{ending}: {n}" for ending, n in sorted(counts.items())))
    return 1 if counts["wrong"] else 0


def study(pattern: TracePattern, judge: SandboxJudge) -> Counter[str]:
    """One line a trace; how often each ending came."""
    evidence = [to_evidence(t) for t in pattern.traces]
    unusable = judge.unusable(evidence)
    usable = [e for e in evidence if e.task_id not in unusable]
    counts: Counter[str] = Counter()
    if len({case_key(e) for e in usable}) < LEAST:
        say(f"{pattern.task_category}: fewer than {LEAST} usable traces")
        return counts
    for out in usable:
        rest = [e for e in usable if case_key(e) != case_key(out)]
        ending = left_out(pattern, judge, rest, out)
        counts[ending] += 1
        say(f"{pattern.task_category:36} {out.task_id:32} {ending}")
    return counts


def left_out(pattern: TracePattern, judge: SandboxJudge, rest: Sequence[Evidence], out: Evidence) -> str:
    """``holds``, ``wrong``, or why nothing could be said."""
    made = first(pattern, judge, rest)
    if made is None:
        return "no skill without it"
    bindings = judge.bind(made, rest, [out])
    if out.task_id not in bindings:
        return "arguments not inferred"
    return "holds" if judge.holds(made, [out], bindings) else "wrong"


def first(pattern: TracePattern, judge: SandboxJudge, rest: Sequence[Evidence]) -> Candidate | None:
    """The first proposal that holds on all the traces that it was made from."""
    generator = EmbeddedGenerator()
    generator.replays = judge.replays
    known = {e.task_id for e in rest}
    shown = replace(pattern, traces=tuple(t for t in pattern.traces if t.task_id in known))
    for candidate in generator.generate(shown, rest):
        seen = [e for e in rest if e.task_id in candidate.bindings]
        if len(seen) * 2 > len(rest) and judge.holds(candidate, seen, candidate.bindings):
            return candidate
    return None


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

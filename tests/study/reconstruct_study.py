"""How much evidence survives without ``workspace``, ``post_workspace`` and ``exit_codes``, on the corpus.

    python tests/study/reconstruct_study.py [PART_OF_TASK_ID …]
    python tests/study/reconstruct_study.py --strip FILE      # writes the bare traces, for 'assay crystallize FILE'

Prints one line a trace and the shares. A kind of task counts when most of its successful traces are reconstructed. Exits 1
below the bar.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from sandbox import open_sandbox
from synth.interface import ExecutionTrace
from synth.tracing.traces import dump_traces, load_traces, to_evidence
from verifiers.reconstruction.reconstruct import rebuild

TRACES = Path(__file__).parents[2] / "fixtures" / "traces"
BAR = 0.60


def bare(trace: ExecutionTrace) -> ExecutionTrace:
    """A trace as a recorder without snapshots would have kept it."""
    return replace(trace, workspace=None, post_workspace=None, exit_codes=None)


def strip(target: Path) -> int:
    target.write_text(dump_traces(map(bare, load_traces(TRACES / "traces.jsonl"))), "utf-8")
    return 0


def main(wanted: list[str]) -> int:
    labels = {r["task_id"]: r for r in map(json.loads, (TRACES / "labels.jsonl").read_text("utf-8").splitlines())}
    done: dict[str, list[bool]] = defaultdict(list)
    with open_sandbox() as sandbox, sandbox.session("reconstruct") as session:
        for trace in load_traces(TRACES / "traces.jsonl"):
            label = labels[trace.task_id]
            skipped = wanted and not any(w in trace.task_id for w in wanted)
            if skipped or not trace.success or label["labels"]["is_noise"]:
                continue
            began, runs = time.monotonic(), session.runs
            found = rebuild(to_evidence(bare(trace)), session)
            ok = not isinstance(found, str)
            done[label["task_family"]].append(ok)
            what = found if isinstance(found, str) else "; ".join(found.metadata["reconstruction"])
            cost = f"{time.monotonic() - began:5.1f} s {session.runs - runs:4} runs"
            say(f"{'yes' if ok else 'no ':3} {trace.task_id:32} {cost}  {what[:110]}")
    return report(done)


def report(done: dict[str, list[bool]]) -> int:
    traces, kept = sum(map(len, done.values())), sum(map(sum, done.values()))
    families = sum(2 * sum(v) > len(v) for v in done.values())
    due = sum(sum(v) >= 3 for v in done.values())
    say(f"traces reconstructed: {kept} of {traces} ({kept / max(traces, 1):.0%})")
    say(f"kinds of task with most of their traces reconstructed: {families} of {len(done)} ({families / max(len(done), 1):.0%})")
    say(f"kinds of task with three or more reconstructed: {due}")
    return 0 if done and families >= BAR * len(done) else 1


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    raise SystemExit(strip(Path(arguments[1])) if arguments[:1] == ["--strip"] and len(arguments) == 2 else main(arguments))

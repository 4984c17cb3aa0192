"""Tasks in mixed wordings, grouped by what a reader of the grouping prompt answered, and what becomes of each group.

    python tests/study/mixed_study.py [--answer reader|careless] [--budget fast] [--kind KIND …] [--only-groups]

``fixtures/mixed`` holds five tasks in wordings and commands that detection leaves alone, beside twenty recordings of other
tasks. The answers are kept in ``answers.json``: the first one of a reader, and one of somebody careless who merges what merely
looks alike. The groups go to the embedded generator and the judge. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from sandbox import open_sandbox
from synth.crystallization.judge import SandboxJudge
from synth.crystallization.outcome import PatternOutcome
from synth.crystallization.promotion import Crystallization
from synth.crystallization.search import SearchSettings
from synth.detect import detect
from synth.embedded import EmbeddedGenerator
from synth.interface import ExecutionTrace, TracePattern
from synth.llm import Connection, MessagesClient, ModelGenerator, Settings
from synth.registry import Registry
from synth.tracing.traces import load_traces

sys.path.insert(0, str(Path(__file__).parents[1] / "synth"))

from messages_server import MessagesServer, message, tool_use

MIXED = Path(__file__).parents[2] / "fixtures" / "mixed"
LEAST = 3


def labels() -> dict[str, str]:
    """task_id -> kind of task; a decoy's kind is its own."""
    rows = map(json.loads, (MIXED / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["task_id"]: row["task_family"] for row in rows}


def families() -> dict[str, frozenset[str]]:
    """The kinds of task that are there often enough, with their recordings."""
    out: dict[str, set[str]] = defaultdict(set)
    for task_id, kind in labels().items():
        out[kind].add(task_id)
    return {kind: frozenset(ids) for kind, ids in out.items() if len(ids) >= LEAST}


def suggested(traces: Sequence[ExecutionTrace], answer: str) -> list[frozenset[str]]:
    """The groups that the product takes from a kept answer."""
    os.environ.setdefault("ANTHROPIC_API_KEY", "test-key")
    groups = json.loads((MIXED / "answers.json").read_text(encoding="utf-8"))[answer]
    with MessagesServer(message([tool_use("group_recordings", {"groups": groups})])) as server:
        client = MessagesClient(Connection(server.url, 10.0, 0, 0))
        return ModelGenerator(Settings(model="m"), client).together(traces, LEAST)


def settled(patterns: Sequence[TracePattern], budget: str) -> list[PatternOutcome]:
    """What becomes of the patterns, with the embedded generator."""
    out = []
    with tempfile.TemporaryDirectory() as folder, open_sandbox() as box, Registry(Path(folder)) as registry:
        judge = SandboxJudge(box, budget=budget)
        for pattern in patterns:
            generator = EmbeddedGenerator()
            generator.replays = judge.replays
            out.append(Crystallization(generator, judge, registry, SearchSettings(refits=True)).run(pattern))
            print(shown(out[-1]), flush=True)
    return out


def shown(outcome: PatternOutcome) -> str:
    kind = labels()
    held = dict(Counter(kind[i] for i in outcome.task_ids))
    why = " ".join(outcome.why.split())[:300]
    unused = "".join(f"\n    unused {i} ({kind[i]}): {' '.join(w.split())[:160]}" for i, w in outcome.unused.items())
    return f"{outcome.ending:12} {held} {outcome.skill or ''} {outcome.seconds:.0f} s {why}{unused}"


def merged(outcome: PatternOutcome) -> bool:
    """Whether a skill was registered that is said to do recordings of two kinds."""
    kind = labels()
    return outcome.ending == "registered" and len({kind[i] for i in outcome.bindings}) > 1


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--answer", choices=("reader", "careless"), default="reader")
    parser.add_argument("--budget", choices=("fast", "standard", "thorough"), default="fast")
    parser.add_argument("--only-groups", action="store_true", help="no sandbox: only what is grouped")
    parser.add_argument("--kind", action="append", help="only groups that hold a recording of this kind")
    given = parser.parse_args(argv)
    traces = load_traces(MIXED / "evidence.jsonl")
    alone = detect(traces)
    groups = suggested(traces, given.answer)
    whole = [kind for kind, ids in families().items() if ids in groups]
    kind = labels()
    patterns = detect(traces, together=groups)
    patterns = [p for p in patterns if not given.kind or {kind[t.task_id] for t in p.traces} & set(given.kind)]
    print(f"{len(traces)} recordings; by itself detection finds {len(alone)} patterns; {len(groups)} groups suggested")
    print(f"grouped whole and alone: {len(whole)} of {len(families())} ({', '.join(sorted(whole))})")
    outcomes = [] if given.only_groups else settled(patterns, given.budget)
    wrong = sum(map(merged, outcomes))
    if not given.only_groups:
        done = sum(o.ending == "registered" for o in outcomes)
        print(f"registered: {done} of {len(outcomes)} groups; wrong merges registered: {wrong}")
    return 1 if wrong or (given.answer == "reader" and len(whole) < len(families())) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Tasks that the embedded generator fails, answered by a reader who saw only what the prompts show: share, repairs, tokens.

    python tests/study/answers_study.py [--budget fast] [--embedded] [--only NAME …] [--prompts DIR]

The answers are kept in ``fixtures/model`` (the tests play them too) and ``fixtures/model/study``: the first answer and at most
one repair. ``--embedded`` tries the embedded generator too, which ought to register none. Tokens are counted by characters
(3.2 a token), all requests of a pattern summed. Cached is what the service may take from its cache: the marked beginning that an
earlier request of the run had word for word. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from figures import share

from sandbox import open_sandbox
from synth.crystallization.judge import SandboxJudge
from synth.crystallization.outcome import PatternOutcome
from synth.crystallization.promotion import Crystallization
from synth.crystallization.search import SearchSettings
from synth.detect import detect
from synth.embedded import EmbeddedGenerator
from synth.interface import TracePattern
from synth.llm import Connection, MessagesClient, ModelGenerator, Settings
from synth.registry import Registry
from synth.tracing.traces import load_traces

sys.path.insert(0, str(Path(__file__).parents[1] / "synth"))

from messages_server import MessagesServer, message, tool_use

FIXTURES = Path(__file__).parents[2] / "fixtures"
CHARACTERS_A_TOKEN = 3.2
MOST_TOKENS = 5_000
LEAST_REGISTERED = 0.8


@dataclass(frozen=True, slots=True)
class Row:
    task: str
    registered: bool
    repairs: int
    sent: float
    """Tokens of all requests."""
    cached: float
    """Of these, what the service had seen before."""
    why: str


def pattern_of(said: Mapping[str, Any]) -> TracePattern:
    """All recordings of the file's task as detection has them, else as one task because it is one."""
    traces = load_traces(FIXTURES / said["traces"])
    found = [p for p in detect(traces) if p.traces[0].task_id == said["first"]]
    whole = [] if found else detect(traces, together=[{t.task_id for t in traces}])
    return [*found, *whole][0]


def pieces(body: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """What is sent, in the order in which the service caches it; whether a piece ends a part that is marked for its cache."""
    out = [(json.dumps(body["tools"], ensure_ascii=False), False)]
    blocks = [*body["system"], *(b for m in body["messages"] for b in m["content"])]
    return out + [(json.dumps(b, ensure_ascii=False), "cache_control" in b) for b in blocks]


def weighed(bodies: Sequence[Mapping[str, Any]], seen: set[str]) -> tuple[float, float]:
    """Tokens sent, and those of them that were cached; ``seen`` are the beginnings that the service keeps."""
    sent = cached = 0.0
    for body in bodies:
        begun, known, marks = "", 0, set()
        for text, mark in pieces(body):
            begun += text
            known = len(begun) if mark and begun in seen else known
            marks |= {begun} if mark else set()
        seen |= marks
        sent += len(begun) / CHARACTERS_A_TOKEN
        cached += known / CHARACTERS_A_TOKEN
    return sent, cached


def answered(file: Path, judge: SandboxJudge, seen: set[str], prompts: Path | None) -> Row:
    """What becomes of a task with its kept answers. A request for which there is no answer is no repair of ours."""
    said = json.loads(file.read_text(encoding="utf-8"))
    script = [message([tool_use("propose_skill", a)]) for a in said["answers"]]
    script.append(message([tool_use("decline_task", {"why": "there is no further answer"})]))
    with tempfile.TemporaryDirectory() as folder, MessagesServer(*script) as server, Registry(Path(folder)) as registry:
        generator = ModelGenerator(Settings(candidates=1, rounds=1), MessagesClient(Connection(server.url, 10.0, 0)))
        outcome = Crystallization(generator, judge, registry, SearchSettings(sealed=True)).run(pattern_of(said))
    for n in range(len(server.requests) if prompts is not None else 0):
        assert prompts is not None
        (prompts / f"{file.stem}-{n}.txt").write_text("\n".join(server.told(n)), encoding="utf-8")
    sent, cached = weighed([r["body"] for r in server.requests], seen)
    return Row(file.stem, outcome.ending == "registered", max(len(server.requests) - 1, 0), sent, cached, outcome.why)


def embedded(file: Path, judge: SandboxJudge) -> PatternOutcome:
    """What the embedded generator makes of the task."""
    pattern = pattern_of(json.loads(file.read_text(encoding="utf-8")))
    generator = EmbeddedGenerator()
    generator.replays = judge.replays
    with tempfile.TemporaryDirectory() as folder, Registry(Path(folder)) as registry:
        return Crystallization(generator, judge, registry, SearchSettings(refits=True)).run(pattern)


def missed(rows: Sequence[Row]) -> list[str]:
    """The bars that were missed, a sentence each."""
    if not rows:
        return ["nothing ran"]
    out = []
    if sum(r.registered for r in rows) < LEAST_REGISTERED * len(rows):
        out.append(f"fewer than {LEAST_REGISTERED:.0%} are registered")
    if median(r.repairs for r in rows) > 1:
        out.append("more than one repair in the median")
    return out + [f"{r.task}: {r.sent:.0f} tokens" for r in rows if r.sent > MOST_TOKENS]


def summary(rows: Sequence[Row]) -> str:
    sent = [r.sent for r in rows]
    return (
        f"registered {share(sum(r.registered for r in rows), len(rows))}; repairs: median {median(r.repairs for r in rows):g}; "
        f"tokens in a pattern: median {median(sent):.0f}, most {max(sent):.0f}; "
        f"cached {sum(r.cached for r in rows) / sum(sent):.0%}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", choices=("fast", "standard", "thorough"), default="fast")
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--prompts", type=Path, help="an existing directory, for what was sent of each task")
    given = parser.parse_args(argv)
    os.environ.setdefault("ANTHROPIC_API_KEY", "test-key")
    seen: set[str] = set()
    rows = []
    with open_sandbox() as box:
        judge = SandboxJudge(box, budget=given.budget)
        for file in sorted((FIXTURES / "model").rglob("*.json")):
            if given.only and file.stem not in given.only:
                continue
            row = answered(file, judge, seen, given.prompts)
            rows.append(row)
            end = "registered" if row.registered else "NOT"
            why = " ".join(row.why.split())[:300]
            print(f"{end:10} {row.task} {row.repairs} repairs, {row.sent:.0f} tokens, {row.cached:.0f} cached {why}", flush=True)
            if given.embedded:
                other = embedded(file, judge)
                print(f"    embedded: {other.ending}: {' '.join(other.why.split())[:200]}", flush=True)
    print(summary(rows) if rows else "")
    print("\n".join(f"missed: {m}" for m in missed(rows)) or "every bar is met")
    return 1 if missed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())

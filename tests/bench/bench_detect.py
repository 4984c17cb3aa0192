"""Detection over a large trace directory: time, memory, and the cost of one more trace.

python tests/bench/bench_detect.py [TRACES]        # 100000 without a number
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from synth.config import Config
from synth.crystallizer import SkillCrystallizer
from synth.detect.cache import PatternIndex
from synth.interface import ExecutionTrace
from synth.tracing.collector import TraceCollector
from synth.tracing.traces import dump_trace, load_traces

CORPUS = Path(__file__).parents[2] / "fixtures" / "traces" / "traces.jsonl"
START = datetime(2026, 1, 1, tzinfo=UTC)


def varied(number: int, corpus: list[ExecutionTrace], rng: random.Random) -> ExecutionTrace:
    """A corpus trace under another name, with other literals, so that texts differ as they do in a real store."""
    source = rng.choice(corpus)
    mark = str(number % 997)
    commands = tuple(c.replace(".txt", f".t{mark}").replace("testbed", f"bed{mark}") for c in source.commands)
    description = source.task_description.replace(".txt", f".t{mark}").replace("testbed", f"bed{mark}")
    when = START + timedelta(seconds=number)
    return ExecutionTrace(
        f"b{number}", description, commands, source.outputs, source.success, source.duration_ms, when, {},
        exit_codes=source.exit_codes, workspace=source.workspace, post_workspace=source.post_workspace,
    )  # fmt: skip


def fill(directory: Path, count: int) -> None:
    corpus, rng = load_traces(CORPUS), random.Random(1)
    directory.mkdir(parents=True)
    for n in range(count):
        trace = varied(n, corpus, rng)
        (directory / f"{trace.timestamp:%Y%m%d_%H%M%S}_{trace.task_id}_0.json").write_text(dump_trace(trace), "utf-8")


async def recording(crystallizer: SkillCrystallizer) -> list[float]:
    """Milliseconds of each of some executions recorded; failed ones, so that none is crystallized."""
    times = []
    for n in range(21):
        trace = varied(n, load_traces(CORPUS)[:20], random.Random(n))
        began = time.monotonic()
        await crystallizer.record_execution(
            trace.task_description, trace.commands, trace.outputs, False, 1.0,
            workspace=trace.workspace, exit_codes=list(trace.exit_codes or ()),
        )  # fmt: skip
        times.append((time.monotonic() - began) * 1000)
    return times


def roomy() -> Config:
    """The defaults, with room for any number of traces."""
    made = Config.default()
    return replace(made, evolution=made.evolution.model_copy(update={"max_traces_stored": 10**9}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", type=int, nargs="?", default=100_000)
    count = parser.parse_args().traces
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "traces"
        began = time.monotonic()
        fill(directory, count)
        say(f"made {count} traces in {time.monotonic() - began:.1f} s")
        index = PatternIndex(directory, Path(name) / "patterns.json")
        began, cpu = time.monotonic(), time.process_time()
        due = index.due()
        spent = f"{time.monotonic() - began:.1f} s ({time.process_time() - cpu:.1f} s of CPU)"
        say(f"first detection: {spent}, {len(due)} patterns")
        began = time.monotonic()
        loaded = [index.load(d) for d in due]
        say(f"traces of the patterns loaded: {time.monotonic() - began:.1f} s, {sum(len(p.traces) for p in loaded if p)} traces")
        began = time.monotonic()
        index.due()
        say(f"again, nothing new: {time.monotonic() - began:.1f} s")
        store = TraceCollector(directory, max_traces_stored=10**9)
        times, cpus = [], []
        for n in range(20):
            trace = varied(count + n, load_traces(CORPUS)[:20], random.Random(n))
            path = store.store(trace)
            began, cpu = time.monotonic(), time.process_time()
            index.add(path, trace)
            times.append((time.monotonic() - began) * 1000)
            cpus.append((time.process_time() - cpu) * 1000)
        say(f"one new trace: median {sorted(times)[10]:.1f} ms, slowest {max(times):.1f} ms ({sorted(cpus)[10]:.1f} ms of CPU)")
        times = asyncio.run(recording(SkillCrystallizer(directory, Path(name) / "skills", config=roomy())))
        say(f"record_execution, stored and compared: median {sorted(times[1:])[10]:.1f} ms, first {times[0]:.1f} ms")
    say(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return 0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())

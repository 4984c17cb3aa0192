"""Speed of the sandbox, against the host and against other ways to use containers; all interleaved in one run.

``python tests/bench/bench_sandbox.py`` prints tables and whether each bar is held; ``--help`` says what else.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from designs import NOTHING, SKILL, floor, fresh_by_archive, fresh_container, image_for_others, other_tool, warm_exec
from floor import EMPTY, content

from sandbox import open_sandbox
from sandbox.engine import Engine
from sandbox.interface import CrashAt, Entry, ReplayRecord, RunRequest, Session, ShellJob, SkillJob, Snapshot
from sandbox.pool import DockerSandbox

RENAME = """from pathlib import Path
from skill_api import skill_command


@skill_command
def rename():
    for path in sorted(Path(".").glob("*.txt")):
        path.rename(path.with_suffix(".md"))
    return {"ok": True}
"""
MOVE = 'for f in *.txt; do mv "$f" "${f%.txt}.md"; done'


@lru_cache
def workspace(count: int, size: int) -> Snapshot:
    return Snapshot({f"f{i:04}.txt": Entry("file", 0o644, content(i, size)) for i in range(count)})


SIZES = {"50 x 400 B": (50, 400), "300 x 2 kB": (300, 2048), "1000 x 4 kB": (1000, 4096), "10 x 1 MiB": (10, 1 << 20)}


# ---------------------------------------------------------------- measuring


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Bars:
    """The bars, each with what was measured."""

    def __init__(self) -> None:
        self.missed = 0

    def check(self, what: str, value: float, bar: float, *, at_least: bool) -> None:
        held = value >= bar if at_least else value <= bar
        self.missed += not held
        say(f"  {'held  ' if held else 'MISSED'} {what}: {value:.2f} (bar: {'at least' if at_least else 'at most'} {bar:g})")


def in_a_fresh_container(sandbox: DockerSandbox, request: RunRequest) -> None:
    """The same run with the same hardening, in a container of its own: what keeping one warm saves."""
    with sandbox.session("bench fresh", 1) as once:
        once.run(request)


@dataclass(frozen=True)
class Design:
    """One way to run the empty skill, if its name says nothing else. ``run`` takes the number and the size of the files."""

    name: str
    run: Callable[[int, int], object]


def our_designs(engine: Engine, image: str, sandbox: DockerSandbox, session: Session, stack: ExitStack) -> list[Design]:
    """The host floor first, then ours, then the usual ways to use a container."""
    execs = stack.enter_context(warm_exec(engine, image, SKILL))
    prints = stack.enter_context(warm_exec(engine, image, NOTHING))
    fresh = stack.enter_context(fresh_container(engine, image))
    archive = stack.enter_context(fresh_by_archive(engine, image))
    return [
        Design("host floor", stack.enter_context(floor())),
        Design("assay", lambda *size: session.run(empty(*size))),
        Design("assay, supervised", lambda *size: session.run(replace(empty(*size), observe=True))),
        Design("warm docker exec, mounted", lambda *size: execs(workspace(*size))),
        Design("fresh container, mounted", lambda *size: fresh(workspace(*size))),
        Design("fresh container, by archive", lambda *size: archive(workspace(*size))),
        Design("fresh container, hardened", lambda *size: in_a_fresh_container(sandbox, empty(*size))),
        Design("warm docker exec of print()", lambda *size: prints(workspace(*size))),
    ]


def other_designs(engine: Engine, image: str, python: str, stack: ExitStack) -> list[Design]:
    """Tools of others, warm, where they install; where they do not, that is said."""
    try:
        prepared = stack.enter_context(image_for_others(engine, image, python))
    except subprocess.CalledProcessError as error:
        say(f"other tools are not measured: {error.stderr.decode(errors='replace').strip()[-300:]}")
        return []
    found = []
    for name in ("llm-sandbox", "swe-rex"):
        tool = stack.enter_context(other_tool(python, name, prepared))
        if isinstance(tool, str):
            say(f"{name} is not measured: {tool}")
        else:
            found.append(Design(f"{name}, warm, of print()", tool))
    return found


@lru_cache
def empty(count: int, size: int) -> RunRequest:
    return RunRequest(SkillJob(EMPTY, {}), workspace(count, size))


def latency(designs: Sequence[Design], rounds: int, bars: Bars) -> None:
    """Medians of one run, all designs in turn in every round."""
    medians = {name: interleaved([partial(d.run, *size) for d in designs], rounds) for name, size in SIZES.items()}
    say(f"\nOne run of an empty Python skill, median ms of {rounds} interleaved rounds (x host floor)")
    say(f"{'':<28}" + "".join(f"{name:>20}" for name in SIZES))
    for index, design in enumerate(designs):
        cells = [f"{m[index]:9.1f} ({m[index] / m[0]:6.1f}x)" for m in medians.values()]
        say(f"{design.name:<28}" + "".join(f"{c:>20}" for c in cells))
    for name, (host, ours, supervised, *_) in medians.items():
        bars.check(f"{name}: empty skill / host floor", ours / host, 1.5, at_least=False)
        bars.check(f"{name}: supervised / unsupervised", supervised / ours, 1.25, at_least=False)
    small = next(iter(medians.values()))
    bars.check("warm docker exec / assay", small[3] / small[1], 10, at_least=True)
    bars.check("the same run in a fresh container / assay", small[6] / small[1], 60, at_least=True)


def interleaved(actions: list[Callable[[], object]], rounds: int) -> list[float]:
    """Median of each action; the slow last ones are measured in every fourth round only."""
    times: list[list[float]] = [[] for _ in actions]
    for action in actions:
        action()
    for number in range(rounds):
        for index, action in enumerate(actions):
            if index < 3 or number % 4 == 0:
                times[index].append(timed(action))
    return [statistics.median(t) for t in times]


def shell_latency(session: Session, rounds: int, bars: Bars) -> None:
    """A job of 42 processes, supervised and not."""
    request = RunRequest(ShellJob((MOVE,)), workspace(42, 400))
    plain, watched = interleaved(
        [lambda: session.run(request), lambda: session.run(replace(request, observe=True))], max(5, rounds // 3)
    )
    say(f"\n42 x mv in Bash: {plain:.1f} ms, supervised {watched:.1f} ms")
    bars.check("42 x mv: supervised / unsupervised", watched / plain, 1.25, at_least=False)


def throughput(sandbox: DockerSandbox, bars: Bars) -> None:
    request = RunRequest(SkillJob(EMPTY, {}), workspace(50, 400))
    say("\nRuns a minute, empty Python skill on 50 files")
    for workers in (1, 2):
        with sandbox.session("bench", workers) as session:
            session.map([request] * 200)
            start = time.perf_counter()
            session.map([request] * 1000)
            rate = 60_000 / (time.perf_counter() - start)
            say(f"  {workers} worker{'s' if workers > 1 else ' '}: {rate:.0f}")
    bars.check("runs a minute with two workers", rate, 6000, at_least=True)


def crash_sweep(session: Session) -> None:
    request = RunRequest(SkillJob(RENAME, {}), workspace(40, 400))
    points, seconds = 0, 0.0
    while True:
        start = time.perf_counter()
        record = session.run(replace(request, fault=CrashAt(points)))
        seconds += time.perf_counter() - start
        if not record.fault_reached:
            break
        points += 1
    say(f"\nCrash sweep over {points} points of a 40-file rename: {seconds / points * 1000:.1f} ms a point")


def memory(engine: Engine, session: Session) -> None:
    session.run(RunRequest(SkillJob(EMPTY, {}), workspace(50, 400)))
    for found in engine.client.containers.list(filters={"label": "assay.subject=bench-memory"}):
        used = found.stats(stream=False)["memory_stats"].get("usage", 0)
        say(f"\nMemory of one worker's container: {used / (1 << 20):.0f} MB")


def soak(sandbox: DockerSandbox, count: int, bars: Bars) -> None:
    """Mixed runs; each kind must give the same record every time."""
    base = workspace(20, 300)
    kinds = [
        RunRequest(SkillJob(EMPTY, {}), base),
        RunRequest(SkillJob(RENAME, {}), base),
        RunRequest(ShellJob((MOVE, "ls | wc -l")), base),
        RunRequest(ShellJob(("touch /tmp/x ~/y; (sleep 100 &) ; exit 3",)), base),
        RunRequest(SkillJob(RENAME, {}), base, fault=CrashAt(5)),
    ]
    with sandbox.session("soak", 2) as session:
        records = session.map([kinds[i % len(kinds)] for i in range(count)])
        seen = [{_facts(r) for r in records[i :: len(kinds)]} for i in range(len(kinds))]
        audited, otherwise = session.audit
        say(f"\nSoak: {count} runs, containers replaced: {len(session.replaced)}, last runs repeated in the next: {audited}")
    bars.check("soak: runs that came out otherwise in a fresh container", len(otherwise), 0, at_least=False)
    bars.check("soak: kinds of run whose records disagree", sum(len(s) != 1 for s in seen), 0, at_least=False)


def _facts(record: ReplayRecord) -> tuple[object, ...]:
    steps = tuple((s.exit_code, s.signal, s.stdout, s.stderr) for s in record.steps)
    return (str(record.outcome), steps, record.post.digest, record.ended, len(record.leftovers))


def main() -> int:
    """Runs everything. 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image")
    parser.add_argument("--others", metavar="PYTHON", help="an interpreter that has llm-sandbox and swe-rex")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--soak", type=int, default=3000)
    options = parser.parse_args()
    bars, engine = Bars(), Engine()
    with open_sandbox(image=options.image) as sandbox:
        say(f"{sandbox.info.engine}, kernel {sandbox.info.kernel}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        with sandbox.session("bench", 1) as session:
            with ExitStack() as stack:
                designs = our_designs(engine, sandbox.info.image, sandbox, session, stack)
                designs += other_designs(engine, sandbox.info.image, options.others, stack) if options.others else []
                latency(designs, options.rounds, bars)
            shell_latency(session, options.rounds, bars)
            crash_sweep(session)
        throughput(sandbox, bars)
        with sandbox.session("bench-memory", 1) as session:
            memory(engine, session)
        if options.soak:
            soak(sandbox, options.soak, bars)
    engine.close()
    say(f"\n{bars.missed} bars missed" if bars.missed else "\nall bars held")
    return 1 if bars.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Speed of the sandbox, against the host and against other ways to use containers; all interleaved in one run.

``python tests/bench/bench_sandbox.py [--image I] [--rounds N] [--soak N]`` prints tables and whether each bar is held.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from floor import EMPTY, content

from sandbox import open_sandbox
from sandbox.codec import tree_of
from sandbox.engine import Engine
from sandbox.guest import tree
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
MOVE = "for f in *.txt; do mv \"$f\" \"${f%.txt}.md\"; done"
ROOT = "/dev/shm"


def workspace(count: int, size: int) -> Snapshot:
    return Snapshot({f"f{i:04}.txt": Entry("file", 0o644, content(i, size)) for i in range(count)})


SIZES = {"50 x 400 B": (50, 400), "300 x 2 kB": (300, 2048), "1000 x 4 kB": (1000, 4096), "10 x 1 MiB": (10, 1 << 20)}


# ---------------------------------------------------------------- the floor: the same work, forked on the host


def _as_entries(base: Snapshot) -> tuple[list[tree.WireEntry], dict[str, bytes]]:
    text, contents = tree_of(base)
    return [tree.WireEntry(*e) for e in json.loads(text)], contents


@contextmanager
def floor() -> Iterator[Callable[[int, int], None]]:
    command = [sys.executable, str(Path(__file__).with_name("floor.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        ask, answers = child.stdin, child.stdout

        def run(count: int, size: int) -> None:
            ask.write(f"{count} {size}\n")
            assert answers.readline() == "done\n"

        yield run
        ask.close()


# ---------------------------------------------------------------- other ways to use containers


@contextmanager
def host_directory() -> Iterator[str]:
    place = tempfile.mkdtemp(dir=ROOT)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def around(place: str, base: Snapshot, run: Callable[[], object]) -> None:
    """What a bind mount costs besides: the host copies the workspace in and reads it back."""
    entries, contents = _as_entries(base)
    tree.materialise(place, entries, contents.__getitem__)
    run()
    tree.Scan(place, {e.path: e for e in entries}, contents.get)
    tree.wipe(place)


PROGRAM = ["python3", "-c", "print('{}')"]


@contextmanager
def warm_exec(engine: Engine, image: str) -> Iterator[Callable[[Snapshot], None]]:
    with host_directory() as place:
        options = {"network_mode": "none", "volumes": {place: {"bind": "/ws", "mode": "rw"}}, "working_dir": "/ws"}
        container = engine.client.containers.run(image, ["sleep", "3600"], detach=True, auto_remove=True, **options)
        try:
            yield lambda base: around(place, base, lambda: container.exec_run(PROGRAM))
        finally:
            engine.remove(str(container.id))


@contextmanager
def fresh_container(engine: Engine, image: str) -> Iterator[Callable[[Snapshot], None]]:
    with host_directory() as place:
        options = {"network_mode": "none", "volumes": {place: {"bind": "/ws", "mode": "rw"}}, "working_dir": "/ws"}
        yield lambda base: around(place, base, lambda: engine.client.containers.run(image, PROGRAM, remove=True, **options))


@contextmanager
def fresh_by_archive(engine: Engine, image: str) -> Iterator[Callable[[Snapshot], None]]:
    """A fresh container with nothing mounted from the host, as ours: the workspace goes in and comes back through the engine."""

    def run(base: Snapshot) -> None:
        container = engine.client.containers.create(image, PROGRAM, network_mode="none", working_dir="/ws")
        try:
            container.put_archive("/", packed(base))
            container.start()
            container.wait()
            with tarfile.open(fileobj=io.BytesIO(b"".join(container.get_archive("/ws")[0]))) as found:
                for member in found:
                    if member.isfile() and (handle := found.extractfile(member)) is not None:
                        hashlib.sha256(handle.read()).digest()
        finally:
            container.remove(force=True)

    yield run


def packed(base: Snapshot) -> bytes:
    """The workspace as a tar that unpacks to /ws."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, entry in base.items():
            info = tarfile.TarInfo(f"ws/{path}")
            info.size, info.mode = len(entry.content), entry.mode
            tar.addfile(info, io.BytesIO(entry.content))
    return out.getvalue()


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


def latency(engine: Engine, image: str, sandbox: DockerSandbox, session: Session, rounds: int, bars: Bars) -> None:
    """Medians of one run, all designs in turn in every round."""
    say(f"\nOne run of an empty Python skill, median ms of {rounds} interleaved rounds (x host floor)")
    say(
        f"{'workspace':<14}{'host floor':>12}{'assay':>18}{'supervised':>18}{'warm exec, mounted':>20}"
        f"{'fresh, mounted':>18}{'fresh, by archive':>20}{'fresh, hardened':>18}"
    )
    with ExitStack() as stack:
        host = stack.enter_context(floor())
        execs = stack.enter_context(warm_exec(engine, image))
        fresh = stack.enter_context(fresh_container(engine, image))
        archive = stack.enter_context(fresh_by_archive(engine, image))
        for name, size in SIZES.items():
            base = workspace(*size)
            request = RunRequest(SkillJob(EMPTY, {}), base)
            watched = replace(request, observe=True)
            actions: list[Callable[[], object]] = [
                lambda size=size: host(*size),  # type: ignore[misc]  # the default binds the loop's value
                lambda request=request: session.run(request),  # type: ignore[misc]
                lambda watched=watched: session.run(watched),  # type: ignore[misc]
                lambda base=base: execs(base),  # type: ignore[misc]
                lambda base=base: fresh(base),  # type: ignore[misc]
                lambda base=base: archive(base),  # type: ignore[misc]
                lambda request=request: in_a_fresh_container(sandbox, request),  # type: ignore[misc]
            ]
            medians = interleaved(actions, rounds)
            cells = [f"{m:9.1f} ({m / medians[0]:5.1f}x)" for m in medians[1:]]
            say(f"{name:<14}{medians[0]:>12.1f}{cells[0]:>18}{cells[1]:>18}{cells[2]:>20}{cells[3]:>18}{cells[4]:>20}{cells[5]:>18}")
            bars.check(f"{name}: empty skill / host floor", medians[1] / medians[0], 1.5, at_least=False)
            bars.check(f"{name}: supervised / unsupervised", medians[2] / medians[1], 1.25, at_least=False)
            if name.startswith("50 "):
                bars.check("warm docker exec / assay", medians[3] / medians[1], 10, at_least=True)
                mounted, archived = medians[4] / medians[1], medians[5] / medians[1]
                say(f"  (fresh container / assay, without hardening: bind mount {mounted:.1f}, by archive {archived:.1f})")
                bars.check("the same run in a fresh container / assay", medians[6] / medians[1], 60, at_least=True)


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
        say(f"\nSoak: {count} runs, containers replaced: {len(session.replaced)}")
    bars.check("soak: kinds of run whose records disagree", sum(len(s) != 1 for s in seen), 0, at_least=False)


def _facts(record: ReplayRecord) -> tuple[object, ...]:
    steps = tuple((s.exit_code, s.signal, s.stdout, s.stderr) for s in record.steps)
    return (str(record.outcome), steps, record.post.digest, record.ended, len(record.leftovers))


def main() -> int:
    """Runs everything. 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--soak", type=int, default=3000)
    options = parser.parse_args()
    bars, engine = Bars(), Engine()
    with open_sandbox(image=options.image) as sandbox:
        say(f"{sandbox.info.engine}, kernel {sandbox.info.kernel}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        for other in ("llm_sandbox", "swerex"):
            say(f"{other}: {'installed, but needs an image of its own' if find_spec(other) else 'not installed, not measured'}")
        with sandbox.session("bench", 1) as session:
            latency(engine, sandbox.info.image, sandbox, session, options.rounds, bars)
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

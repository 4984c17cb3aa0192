"""How fast is a verdict that is known already? In one process, and as a whole command.

    python tests/study/time_study.py

The draft of ``fixtures/skills`` is verified once into an empty cache; then its verdict is asked for again and again. Times are
for the machine and the load that are printed with them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Part, quantile, table
from labelled import FIXTURES

from synth.cli.settings import Judging
from synth.cli.verifying import Verifier
from synth.judged_by import engine_facts, judge_code, tools
from verifiers.gating.cache import VerdictCache
from verifiers.gating.discover import find
from verifiers.interface import Verdict

DRAFT = FIXTURES / "skills" / "rename_ext"
AGAIN = 20
BAR_MS = 50.0
COMMAND = [sys.executable, "-m", "synth.cli", "verify", str(DRAFT), "--budget", "fast"]
STARTS = [sys.executable, "-c", "import click"]
"""What any command pays before it does anything: the interpreter and the frame of commands."""


def timed(work: Callable[[], object], times: int = AGAIN) -> list[float]:
    """Milliseconds of each of many runs."""
    out = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        out.append((time.perf_counter() - began) * 1000)
    return out


def in_process(folder: Path) -> tuple[list[float], list[float], list[float], int]:
    """Milliseconds of a cached verdict where engine and tools are looked up anew (and those of this process's CPU), where the
    process has done so before, and how many came from the cache."""
    target = find([DRAFT])[0]
    hits = 0

    def ask() -> None:
        nonlocal hits
        with Verifier(Judging(budget="fast", workers=1), VerdictCache(folder)) as verifier:
            known = verifier.known(target)
            hits += known is not None and known.verdict is Verdict.PASS

    def forget_and_ask() -> None:
        for facts in (engine_facts, judge_code, tools):
            facts.cache_clear()
        ask()

    with Verifier(Judging(budget="fast", workers=1), VerdictCache(folder)) as verifier:
        verifier.fresh(target)
    cpu = time.process_time()
    anew = timed(forget_and_ask)
    spent = [(time.process_time() - cpu) * 1000 / len(anew)]
    return anew, spent, timed(ask), hits


def command_line(folder: Path) -> tuple[list[float], float]:
    """Milliseconds of the whole command with a cached verdict, and of the first one without."""
    env = {**os.environ, "ASSAY_CACHE": str(folder), "CI": ""}

    def run() -> None:
        subprocess.run(COMMAND, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    first = timed(run, 1)[0]
    return timed(run), first


def parts(quick: bool = False) -> Iterator[Part]:
    """The table of cached verdicts."""
    del quick  # a few seconds either way
    with tempfile.TemporaryDirectory(prefix="assay-times-") as folder:
        anew, cpu, warm, hits = in_process(Path(folder) / "process")
        whole, first = command_line(Path(folder) / "command")
        start = timed(lambda: subprocess.run(STARTS, check=True))
    rows = [
        (what, f"{min(ms):.1f}", f"{quantile(ms, 0.5):.1f}", f"{quantile(ms, 0.9):.1f}")
        for what, ms in (
            ("in one process, the second time", warm),
            ("in one process, engine, image, tools and the judge's code looked up", anew),
            ("the CPU time of that, mean", cpu),
            ("`assay verify`, the whole command", whole),
            ("(an interpreter that imports click and ends)", start),
        )
    ]
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    text = table(("a cached verdict", "fastest ms", "median ms", "p90 ms"), rows)
    text += f"\n\nThe first `assay verify`, which fills the cache: {first / 1000:.1f} s. Load averages: {load}."
    bad = [] if hits == 2 * AGAIN else [f"only {hits} of {2 * AGAIN} verdicts came from the cache"]
    typical = quantile(anew, 0.5)
    bad += [f"a cached verdict takes {typical:.0f} ms, {BAR_MS:.0f} are allowed"] if typical > BAR_MS else []
    yield Part("A verdict that is known already", text, tuple(bad))


def main() -> int:
    found = list(parts())
    for part in found:
        print(part.text)
        for sentence in part.missed:
            print(f"missed: {sentence}")
    return 1 if any(p.missed for p in found) else 0


if __name__ == "__main__":
    sys.exit(main())

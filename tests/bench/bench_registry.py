"""Times of a registry with many skills: python tests/bench/bench_registry.py [COUNT]. Prints the median and the worst of each."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "synth"))

import factories

from synth.draft import draft_files
from synth.interface import Draft
from synth.registry import Registry
from synth.registry.store import _New
from synth.registry.versions import version_of
from synth.route import RouteIndex

_VERBS = "rename count sort copy delete merge split compress extract replace".split()  # noqa: SIM905  # a word list
_THINGS = "files lines columns logs folders images tables headers links archives".split()  # noqa: SIM905  # a word list
TASKS = ("rename all txt files to md", "count the lines of every log", "compress old folders into archives", "qwertyuiop")


def numbered(number: int) -> Draft:
    verb, thing = _VERBS[number % 10], _THINGS[number // 10 % 10]
    name = f"{verb}_{thing}_{number}"
    made = factories.draft(name, summary=f"Do {verb} on {thing} of kind number{number}.")
    tasks = tuple(replace(t, task_description=f"{verb} all {thing} in place{number}") for t in made.evidence)
    return replace(made, evidence=tasks)


def populate(registry: Registry, count: int) -> None:
    """Many skills in one transaction, without syncing: only the reading is measured on them."""
    with registry.database.write() as db:
        for number in range(count):
            chosen = numbered(number)
            version = version_of(chosen)
            new = _New(chosen.name, version, chosen, factories.report(chosen), f"Task number {number}.", {"success_rate": 1.0})
            registry._commit(db, new, False, "bench")
            directory = registry.versions.path(version)
            directory.mkdir()
            for name, data in draft_files(chosen).items():
                (directory / name).write_bytes(data)
        db.execute("DELETE FROM pending_link")


def timed(what: str, action: Callable[[int], object], times: int = 20) -> None:
    wall, cpu = [], []
    for turn in range(times):
        began, worked = time.perf_counter(), time.process_time()
        action(turn)
        wall.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - worked) * 1000)
    middle = f"median {statistics.median(wall):7.1f} ms  worst {max(wall):7.1f} ms  processor {statistics.median(cpu):7.1f} ms"
    sys.stdout.write(f"{what:34} {middle}\n")


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as where:
        registry = Registry(where)
        populate(registry, count)
        sys.stdout.write(f"registry of {count} skills\n")
        index = RouteIndex(registry)
        timed("open", lambda _: Registry(where).close())
        timed("list", lambda _: registry.list())
        timed("show", lambda turn: registry.show(numbered(turn).name))
        for task in TASKS:
            timed(f"route {task!r:.26}", lambda _, task=task: index.route(task))
        timed("register (durable)", lambda turn: _register(registry, count + turn))
        timed("archive", lambda turn: registry.archive(numbered(count + turn).name))
        registry.close()


def _register(registry: Registry, number: int) -> None:
    chosen = numbered(number)
    registry.register(chosen, factories.report(chosen))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)

"""Prints what became of each hostile job, and of the canary after it, as a table: ``python tests/bench/hostile_table.py``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from sandbox import open_sandbox
from sandbox.engine import Engine
from sandbox.interface import NoReturn, Raised, ReplayRecord, Returned, SandboxError


def suite() -> ModuleType:
    """The test module that holds the jobs and the canaries."""
    path = Path(__file__).parents[1] / "sandbox" / "test_hostile.py"
    spec = importlib.util.spec_from_file_location("test_hostile", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["test_hostile"] = module
    spec.loader.exec_module(module)
    return module


def finding(record: ReplayRecord) -> str:
    """One cell: how it ended, what it said, what it left and tried."""
    parts = [] if record.ended == "exited" else [record.ended]
    match record.outcome:
        case Returned(value):
            parts.append(f"returned {str(value)[:40]!r}")
        case Raised(type=name):
            parts.append(f"raised {name}")
        case NoReturn(why):
            parts.append(why[:60])
        case None:
            parts.append(f"exit codes {[step.exit_code for step in record.steps]}")
    parts += [f"left: {', '.join(sorted({left.kind for left in record.leftovers}))}"] if record.leftovers else []
    parts += [f"network: {record.network[0]}"] if record.network else []
    parts += [f"outside: {len(record.outside)} attempts"] if record.outside else []
    return "; ".join([*parts, *record.scan_findings[:1], *record.protocol_findings[:1]]).replace("|", "/")


def main() -> None:
    tests = suite()
    print("| job | finding | canary |\n|---|---|---|")
    engine = Engine()
    with open_sandbox(workers=1) as sandbox, sandbox.session("hostile", workers=1) as session:
        arena = tests.Arena(sandbox, session, engine, [])
        arena.before = arena.canary()
        for job in tests.JOBS:
            try:
                seen = finding(session.run(job.request()))
            except SandboxError as error:
                seen = f"the sandbox gave up (inconclusive): {error.what[:60]}"
            same = arena.canary() == arena.before and arena.containers() == 1
            print(f"| {job.name} | {seen} | {'same' if same else 'DIFFERS'} |", flush=True)
    engine.close()


if __name__ == "__main__":
    main()

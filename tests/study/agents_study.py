"""Whether the agents' own programs are captured exactly, and what they did becomes skills that they then use.

    ASSAY_AGENTS=DIR python tests/study/agents_study.py [--circle-only]

Twelve tasks of ``fixtures/traces``, three recordings each. A scripted model has each agent carry out one recording of each task,
with our hooks in its settings. Exact = start, commands with exit codes, and end are the recorded ones. The captures go through
``assay crystallize``. Then the full circle, an agent at a time: it does a task four times, the skill is learned and put where it
finds skills, its next request to the model names it, the model has it run, the tree is right. Exits 1 below a bar.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "synth"))

from real_agents import run_agent, runs

from synth.cli.program import run
from synth.hooks.agents import AGENTS
from synth.hooks.install import install
from synth.hooks.spool import take_in
from synth.hooks.traces import traces_of
from synth.interface import ExecutionTrace
from synth.registry import Registry
from synth.store.tasks import Store
from synth.tracing.traces import dump_traces, load_traces

TRACES = Path(__file__).parents[2] / "fixtures" / "traces" / "traces.jsonl"
TASKS = (
    "append_line", "archive_logs", "cp_backup", "crlf", "cut_columns", "dirs_files_mode", "mkdir_nested", "move_ext_to_dir",
    "remove_empty_dirs", "sed_tree", "sort_file", "todo_report",
)  # fmt: skip
"""Those whose programs every machine has."""
CIRCLE = "append_line"
EXACT, LEARNED = 33, 10


def recorded(task: str) -> list[ExecutionTrace]:
    return [t for t in load_traces(TRACES) if t.task_id.startswith(f"pub_{task}-")]


def capture(name: str, trace: ExecutionTrace, folder: Path) -> ExecutionTrace | str:
    """What the hooks keep of an agent that does what was recorded."""
    home, project, store = folder / "home", folder / "project", Store(folder / "store")
    for place in (home, project):
        place.mkdir(parents=True)
    materialise(trace.workspace or {}, project)
    install(AGENTS[name], home, store.root)
    run_agent(name, home, project, [runs(name, c) for c in trace.commands], task=trace.task_description)
    take_in(store)
    traces, lost = traces_of(store)
    return traces[0] if traces else "; ".join([*(why for _, why in lost), *store.errors()])


def materialise(tree: Mapping[str, Mapping[str, Any]], root: Path) -> None:
    for path, entry in sorted(tree.items()):
        where = root / path
        where.parent.mkdir(parents=True, exist_ok=True)
        if entry["type"] == "symlink":
            where.symlink_to(entry["target"])
            continue
        if entry["type"] == "dir":
            where.mkdir(exist_ok=True)
        else:
            where.write_bytes(base64.b64decode(entry["content_b64"]))
        where.chmod(int(entry["mode"], 8))


def apart(found: ExecutionTrace | str, wanted: ExecutionTrace) -> str:
    """How a capture is not what was recorded; "" where it is."""
    if isinstance(found, str):
        return found
    pairs = {
        "start": (found.workspace, wanted.workspace), "commands": (found.commands, wanted.commands),
        "exit codes": (found.exit_codes, wanted.exit_codes), "end": (found.post_workspace, wanted.post_workspace),
    }  # fmt: skip
    return ", ".join(what for what, (a, b) in pairs.items() if a != b)


def crystallized(traces: list[ExecutionTrace], folder: Path) -> list[str]:
    """Names of the skills that became of them."""
    file, registry = folder / "captured.jsonl", folder / "registry"
    file.write_text(dump_traces(traces), "utf-8")
    run(["crystallize", str(file), "--registry", str(registry), "-q"])
    with Registry(registry) as opened:
        return [e.name for e in opened.list()]


def captures(folder: Path) -> Iterator[tuple[str, str, ExecutionTrace | str, str]]:
    """Task, agent, capture, and how it is not exact."""
    for task in TASKS:
        for name, trace in zip(AGENTS, recorded(task), strict=False):
            found = capture(name, trace, folder / f"{task}-{name}")
            yield task, name, found, apart(found, trace)


def circle(name: str, folder: Path) -> str:
    """What is wrong with the full circle of one agent; "" = nothing."""
    wanted = recorded(CIRCLE)[:4]
    found = [capture(name, t, folder / str(n)) for n, t in enumerate(wanted)]
    captured = [t for t in found if isinstance(t, ExecutionTrace)]
    skills = crystallized(captured, folder)
    if len(captured) != 4 or len(skills) != 1:
        return f"{len(captured)} captures, {len(skills)} skills"
    home, project = folder / "0" / "home", folder / "new"
    project.mkdir()
    materialise({**(wanted[0].workspace or {}), "other": {"type": "file", "mode": "0644", "content_b64": ""}}, project)
    os.environ["HOME"] = str(home)
    if run(["export", *skills, "--install", name, "--registry", str(folder / "registry")]):
        return "not installed"
    kebab = skills[0].replace("_", "-")
    with Registry(folder / "registry") as opened:
        args = opened.draft(skills[0]).bindings[captured[0].task_id]
    program = home / AGENTS[name].skills / kebab / "scripts" / "run.py"
    asked = run_agent(name, home, project, [runs(name, f"{program} --directory . '{json.dumps(dict(args))}'")])
    if kebab not in json.dumps(asked[0]):
        return "not listed in its request"
    return "" if tree(project) == {**contents(wanted[0].post_workspace or {}), "other": b""} else "another end"


def tree(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file() and ".gemini" not in p.parts}


def contents(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, bytes]:
    return {path: base64.b64decode(e["content_b64"]) for path, e in entries.items() if e["type"] == "file"}


def main(*, circle_only: bool) -> int:
    os.umask(0o022)
    right = True
    with tempfile.TemporaryDirectory(prefix="assay-agents-") as made:
        folder = Path(made)
        if not circle_only:
            rows = []
            for row in captures(folder):
                rows.append(row)
                task, name, _, wrong = row
                print(f"{task:20} {name:12} {wrong or 'exact'}", flush=True)
            exact = sum(not wrong for *_, wrong in rows)
            skills = crystallized([found for _, _, found, _ in rows if isinstance(found, ExecutionTrace)], folder)
            print(f"{exact} of {len(rows)} captured exactly; {len(skills)} of {len(TASKS)} tasks are skills", flush=True)
            right = exact >= EXACT and len(skills) >= LEARNED
        wrongs = {name: circle(name, folder / f"circle-{name}") for name in AGENTS}
        for name, wrong in wrongs.items():
            print(f"full circle of {name}: {wrong or 'right'}", flush=True)
        return 0 if right and not any(wrongs.values()) else 1


if __name__ == "__main__":
    sys.exit(main(circle_only="--circle-only" in sys.argv))

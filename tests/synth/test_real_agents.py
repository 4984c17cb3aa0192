"""The real agents, each run against a scripted model, with our hooks in their settings.

Wants their programs, and MCP's own inspector, in the directory that ``ASSAY_AGENTS`` names: one agent while all tests run, all of
them for ``python3 -m nox -s hosts``.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from factories import draft, files_below, report
from real_agents import PROGRAMS, TASK, THERE, TOKEN, run_agent, runs
from scripted_model import Call
from transcripts import keep

from synth.export import skill_of
from synth.export.agentskills import export_agentskills
from synth.hooks.agents import AGENTS
from synth.hooks.install import install
from synth.hooks.spool import take_in
from synth.hooks.traces import traces_of
from synth.hooks.uses import uses_of
from synth.registry import Registry
from synth.store.moments import Moment
from synth.store.tasks import Store
from synth.tracing.traces import to_evidence

pytestmark = pytest.mark.skipif(not PROGRAMS, reason="ASSAY_AGENTS names no directory with the agents' programs")
ROOT = Path(__file__).parents[2]


def script_of(name: str, project: Path) -> list[Call]:
    """Look, edit, write, move with an error at the end, look again: in each agent's own tools."""
    path = str(project / "a.txt")
    replaced = {"file_path": path, "old_string": "1", "new_string": "2"}
    wrote = {"file_path": str(project / "sub" / "b.txt"), "content": "b\n"}
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x = 1\n+x = 2\n*** Add File: sub/b.txt\n+b\n*** End Patch"
    edits: list[Call] = {
        "claude-code": [("Read", {"file_path": path}), ("Edit", replaced), ("Write", wrote)],
        "codex": [runs(name, f"apply_patch <<'EOF'\n{patch}\nEOF\n")],
        "gemini-cli": [("read_file", {"file_path": path}), ("replace", {**replaced, "instruction": "x"}), ("write_file", wrote)],
    }[name]
    look = runs(name, "cat a.txt")
    return [look, *edits, runs(name, "mv n.txt m.txt && ls nosuch"), look]


@pytest.mark.parametrize("name", THERE)
def test_a_real_agent_is_captured_exactly(tmp_path: Path, name: str) -> None:
    """Start, steps with outputs and exit codes, and end."""
    home, project, store = tmp_path / "home", tmp_path / "project", Store(tmp_path / "store")
    for place in (home, project):
        place.mkdir()
    (project / "a.txt").write_text("x = 1\n")
    (project / "n.txt").write_text("n\n")
    install(AGENTS[name], home, store.root)
    run_agent(name, home, project, script_of(name, project))
    take_in(store)
    traces, lost = traces_of(store)
    assert (lost, store.errors()) == ([], [])
    (trace,) = traces
    assert trace.task_description == TASK
    assert trace.commands == ("cat a.txt", "mv n.txt m.txt && ls nosuch", "cat a.txt")
    assert trace.outputs == ("x = 1\n", "ls: cannot access 'nosuch': No such file or directory\n", "x = 2\n")
    assert trace.exit_codes == (0, 2, 0)
    evidence = to_evidence(trace)
    assert [(e.after_commands, e.path) for e in evidence.edits] == [(1, "a.txt"), (1, "sub/b.txt")]
    assert sorted(evidence.base or ()) == ["a.txt", "n.txt"]
    assert {p: e.content for p, e in (evidence.post or {}).items() if e.type == "file"} == {
        "a.txt": b"x = 2\n", "m.txt": b"n\n", "sub/b.txt": b"b\n",
    }  # fmt: skip


@pytest.mark.parametrize("name", THERE)
def test_a_real_agent_takes_what_the_person_is_told(tmp_path: Path, name: str) -> None:
    """At the start of a session what was learned, then what is due; the model reads neither, and the turn is captured as ever."""
    home, project, store = tmp_path / "home", tmp_path / "project", Store(tmp_path / "store")
    for place in (home, project):
        place.mkdir()
    (project / "a.txt").write_text("x = 1\n")
    (project / "n.txt").write_text("n\n")
    install(AGENTS[name], home, store.root)
    store.moments.put(Moment("1", "t", str(project), name, ("1",), "/r", "assay: qzsaid1", time.time()), "offer")
    store.moments.put(Moment("2", "t", str(project), name, ("2",), "/r", "assay: qzsaid2", time.time()), "due")
    asked = run_agent(name, home, project, script_of(name, project))
    assert [state for _, state in store.moments.all()] == ["told", "told"]
    assert "qzsaid" not in json.dumps(asked)
    take_in(store)
    traces, lost = traces_of(store)
    assert (len(traces), lost, store.errors()) == (1, [], [])


@pytest.mark.parametrize("name", THERE)
def test_a_real_agent_uses_an_exported_skill(tmp_path: Path, name: str) -> None:
    """It lists it, runs it by its program on its own project, and is told the result; the skill's directory stays as it was."""
    home, project = tmp_path / "home", tmp_path / "project"
    for place in (home, project):
        place.mkdir()
    (project / "a.txt").write_text("x = 1\n")
    with Registry(tmp_path / "registry") as registry:
        registry.register(draft(), report(draft()))
        exported = export_agentskills(skill_of(registry, "batch_rename"), home / AGENTS[name].skills)
    before = files_below(exported)
    command = f"""{exported}/scripts/run.py --directory . '{{"old_ext": "txt"}}'"""
    asked = run_agent(name, home, project, [runs(name, command)])
    assert "batch-rename" in json.dumps(asked[0])
    assert "Rename every file with one extension to another" in json.dumps(asked[0])
    assert [p.name for p in project.iterdir() if p.suffix] == ["a.md"]
    assert '\\"changed\\": 1' in json.dumps(asked[-1]).replace("\\\\", "\\")
    assert files_below(exported) == before


START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from synth.cli import main; main()"
CALLED = {
    "claude-code": "mcp__assay__skill_batch_rename",
    "codex": "mcp__assay/skill_batch_rename",
    "gemini-cli": "mcp_assay_skill_batch_rename",
}


@contextmanager
def serving(registry: Path, way: str) -> Iterator[dict[str, Any]]:
    """What an agent's configuration says of our server; over HTTP it runs while the block does."""
    words, env = ["-c", START, "mcp", "--registry", str(registry)], {"HOME": str(Path.home()), "PATH": os.environ["PATH"]}
    if way == "stdio":
        yield {"command": sys.executable, "args": words, "env": env}
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, *words, "--http", str(port)], env={**env, "ASSAY_MCP_TOKEN": TOKEN}) as server:
        try:
            for _ in range(300):
                with socket.socket() as reached:
                    if reached.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield {"url": f"http://127.0.0.1:{port}/mcp", "headers": {"Authorization": f"Bearer {TOKEN}"}}
        finally:
            server.terminate()


@pytest.mark.engine
@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("name", THERE)
def test_a_real_agent_calls_a_skill_over_mcp(tmp_path: Path, name: str, way: str) -> None:
    """Its own MCP client starts or reaches our server, lists the skill, and shows the model what changed; the project has. Hooks
    see that a skill ran, and how it went.
    """
    store = Store(tmp_path / "store")
    home, project = tmp_path / "home", tmp_path / "project"
    for place in (home, project):
        place.mkdir()
    (project / "a.txt").write_text("x = 1\n")
    with Registry(tmp_path / "registry") as registry:
        registry.register(draft(), report(draft()))
    # Two of them do not wait for their servers before they ask for the first time.
    waits: dict[str, list[Call]] = {"codex": [("exec_command", {"cmd": "sleep 8"})], "claude-code": [("WaitForMcpServers", {})]}
    wait = waits.get(name, [])
    call = (CALLED[name], {"workspace": str(project), "old_ext": "txt"})
    install(AGENTS[name], home, store.root)
    with serving(tmp_path / "registry", way) as server:
        asked = run_agent(name, home, project, [*wait, call], server)
    said = json.dumps(asked[-1])
    assert "skill_batch_rename" in said
    # Some show the model the structured content, some the text.
    assert "removed a.txt" in said or "assay-changes/1" in said
    assert "content_b64" not in said
    assert [p.name for p in project.iterdir() if p.suffix in (".txt", ".md")] == ["a.md"]
    take_in(store)
    (task,) = store.tasks()
    found = [(use.skill, use.args, use.place, use.succeeded) for use in uses_of(store.events(task), "no trace")]
    assert found == [("batch_rename", {"old_ext": "txt"}, str(project), True)]


@pytest.mark.engine
@pytest.mark.skipif(not shutil.which("mcp-inspector", path=PROGRAMS), reason="MCP's inspector is not installed")
def test_the_inspector_sees_what_is_offered(tmp_path: Path) -> None:
    """MCP's own client lists and reads everything, calls a skill, and is told that a wrong call is an error."""
    (tmp_path / "a.txt").write_text("x = 1\n")
    with Registry(tmp_path / "registry") as registry:
        registry.register(draft(), report(draft()))
    (tmp_path / "assay").write_text(f"#!{sys.executable}\n{START}\n")
    (tmp_path / "assay").chmod(0o755)

    def inspected(*words: str) -> dict[str, Any]:
        command = [f"{PROGRAMS}/mcp-inspector", "--cli", str(tmp_path / "assay"), "mcp", "--registry", str(tmp_path / "registry")]
        done = subprocess.run([*command, "--method", *words], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        keep(f"$ {' '.join(command[1:])} --method {' '.join(words)}\n{done.stdout}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    tools = {t["name"]: t for t in inspected("tools/list")["tools"]}
    hints = tools["skill_batch_rename"]["annotations"]
    assert (hints["readOnlyHint"], hints["destructiveHint"], hints["idempotentHint"]) == (False, True, True)
    assert [p["name"] for p in inspected("prompts/list")["prompts"]] == ["use_a_skill"]
    uris = [r["uri"] for r in inspected("resources/list")["resources"]]
    assert uris == ["assay://manual", "skill://batch-rename/SKILL.md", "assay://report/batch_rename"]
    (read,) = inspected("resources/read", "--uri", uris[1])["contents"]
    assert "skill_batch_rename" in read["text"]
    call = ("tools/call", "--tool-name", "skill_batch_rename", "--tool-arg", f"workspace={tmp_path}")
    assert inspected(*call)["isError"] is True
    done = inspected(*call, "old_ext=txt")
    assert (done["isError"], done["structuredContent"]["applied"]) == (False, True)
    assert (tmp_path / "a.md").read_text() == "x = 1\n"

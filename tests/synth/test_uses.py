"""Turns in which a skill ran: what the router is told of them, and what drift says of how they ended."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from factories import draft, report

from synth.cli.program import run
from synth.export import skill_of
from synth.export.agentskills import export_agentskills
from synth.history.turns import turns_of
from synth.hooks.agents import AGENTS
from synth.hooks.moment import look
from synth.hooks.receive import receive
from synth.hooks.uses import uses_of
from synth.registry import Registry
from synth.route import RouteIndex
from synth.store.tasks import Store

ARGS = {"old_ext": "txt"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """With a skill in its registry and in the agent's directory."""
    where = tmp_path / "project"
    where.mkdir()
    (where / "a.txt").write_text("1\n")
    (where / "assay.yaml").write_text(f"registry:\n  dir: {tmp_path / 'registry'}\n")
    with Registry(tmp_path / "registry") as registry:
        registry.register(draft(), report(draft()))
        (where / ".claude" / "skills").mkdir(parents=True)
        export_agentskills(skill_of(registry, "batch_rename"), where / ".claude" / "skills")
    return where


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def turn(store: Store, root: Path, *calls: tuple[str, dict[str, Any], Any]) -> None:
    """One turn of an agent; a command that comes without what it printed is run."""

    def send(event: str, **more: Any) -> None:
        payload = {"session_id": "s", "cwd": str(root), "hook_event_name": event, **more}
        receive("claude-code", json.dumps(payload).encode(), store)

    send("UserPromptSubmit", prompt="Rename")
    for n, (tool, given, said) in enumerate(calls):
        call = {"tool_name": tool, "tool_input": given, "tool_use_id": f"t{n}"}
        send("PreToolUse", **call)
        if said is None:
            done = subprocess.run(["bash", "-c", given["command"]], cwd=root, capture_output=True, text=True, check=False)
            said = {"stdout": done.stdout, "stderr": done.stderr}
        send("PostToolUse", **call, tool_response=said)
    send("Stop")
    look(store)


def program(args: object = ARGS, directory: str = ".") -> tuple[str, dict[str, Any], None]:
    command = f".claude/skills/batch-rename/scripts/run.py -d {directory} {shlex.quote(json.dumps(args))}"
    return "Bash", {"command": command}, None


def outcomes(project: Path) -> tuple[int, int, float]:
    with Registry(project.parent / "registry") as registry:
        arm = RouteIndex(registry).arms(["batch_rename"])["batch_rename"]
    return arm.succeeded, arm.failed, arm.mean


ASSAY = {"command": f"assay run batch_rename --args '{json.dumps(ARGS)}' --apply -q"}
MCP = "mcp__assay__skill_batch_rename"
WAYS: dict[str, tuple[tuple[str, dict[str, Any], Any], tuple[str, dict[str, Any], Any]]] = {
    "assay run": (("Bash", ASSAY, {"stdout": 'value: {"ok": true}\n1 effect'}), ("Bash", ASSAY, {"stdout": "failed: it raised"})),
    "mcp": (
        (MCP, {**ARGS, "workspace": "."}, {"structuredContent": {"claims_success": True, "value": {"x": 1}}}),
        (MCP, {**ARGS, "workspace": "."}, [{"type": "text", "text": "failed: it raised\nnothing changed"}]),
    ),
}


@pytest.mark.parametrize("way", ["assay run", "mcp"])
def test_the_router_hears_how_it_went(project: Path, store: Store, way: str) -> None:
    """One that succeeded raises what it says, one that failed lowers it; no turn is counted twice, none is learned from."""
    good, bad = WAYS[way]
    before = outcomes(project)[2]
    turn(store, project, good)
    assert outcomes(project)[:2] == (1, 0)
    raised = outcomes(project)[2]
    turn(store, project, bad)
    look(store)
    assert outcomes(project)[:2] == (1, 1)
    assert before < raised > outcomes(project)[2]
    assert (list((store.root / "traces").glob("*.json")), store.errors()) == ([], [])


def test_an_export_is_known_by_its_version(project: Path, store: Store) -> None:
    """Its program's own answer counts; a call that was wrong ran nothing; of another version, or edited, it is another skill."""
    turn(store, project, program())
    assert sorted(p.name for p in project.glob("a.*")) == ["a.md"]
    assert outcomes(project)[:2] == (1, 0)
    turn(store, project, program({"nosuch": 1}))
    code = project / ".claude" / "skills" / "batch-rename" / "scripts" / "skill.py"
    whole = code.read_text()
    code.write_text(whole + "# mine\n")
    turn(store, project, program())
    code.write_text(whole)
    told = project / ".claude" / "skills" / "batch-rename" / "SKILL.md"
    told.write_text(told.read_text().replace("assay-version: ", "assay-version: 0"))
    turn(store, project, program())
    assert outcomes(project)[:2] == (1, 0)
    assert store.errors() == []


def test_what_ran_is_read_from_the_command(project: Path) -> None:
    """Wherever it stands in it."""
    skill = f"{project}/.claude/skills/batch-rename"
    cases = {
        f"cd x && python3 {skill}/scripts/run.py '{{\"a\": 1}}' --directory=sub": ({"a": 1}, "/w/sub"),
        f"{skill}/scripts/run.py": ({}, "/w"),
        f'{skill}/scripts/run.py "$ARGS"': (None, "/w"),
        "assay run batch_rename --workspace sub --diff": ({}, ""),
        "/opt/bin/assay run batch_rename --args '{}' --workspace sub --apply": ({}, "/w/sub"),
        "cat scripts/run.py; echo assay run": None,
    }
    for command, wanted in cases.items():
        found = list(uses_of([{"event": "after", "command": command, "cwd": "/w", "exit": 0}], "no trace"))
        assert [(u.args, u.place) for u in found] == ([wanted] if wanted is not None else []), command


def test_a_skill_over_mcp_is_no_step_of_a_trace(project: Path, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """What it did was not seen; agents tell of it where their settings were written by this version."""
    assert all("mcp_.*skill_.*" in agent.files for agent in AGENTS.values())
    turn(store, project, WAYS["mcp"][0])
    assert run(["store", "export", "--store", str(store.root), "-o", str(project.parent / "t.jsonl")]) == 4
    assert "called over MCP" in capsys.readouterr().err
    assert run(["hook", "status", "--store", str(store.root)]) == 0
    assert (
        f"skills ran in 1 turn. Whether these ended as they should: assay registry drift {store.root}" in capsys.readouterr().out
    )


@pytest.mark.engine
def test_another_end_is_drift(project: Path, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a path that the skill changes; what else was done in the turn is no matter of its."""
    turn(store, project, program(), ("Bash", {"command": "echo n > note.md"}, None))
    (project / "b.txt").write_text("2\n")
    turn(store, project, program(), ("Bash", {"command": "mv b.md b.markdown"}, None))
    registry = str(project.parent / "registry")
    assert run(["registry", "drift", str(store.root), "batch_rename", "--registry", registry, "-q"]) == 1
    told = capsys.readouterr().out
    assert "batch_rename  turns  2      1      0        0        1 " in told
    assert "Rename: b.md is not as the skill leaves it" in told


def test_what_is_kept_of_a_turn(project: Path, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the version that is asked about, as far as it can be read; a registry none of whose skills ran has nothing to check."""
    turn(store, project, program())
    turn(store, project, program())
    with Registry(project.parent / "registry") as registry:
        version = registry.show("batch_rename").version
    first, second = turns_of(store.root, {"batch_rename": version})["batch_rename"]
    assert (sorted(first.start.keys() - second.start.keys()), first.args) == (["a.txt"], ARGS)
    assert turns_of(store.root, {"batch_rename": "0" * 64}) == {}
    min((store.root / "uses").glob("*.json")).write_text("{")
    assert len(turns_of(store.root, {"batch_rename": version})["batch_rename"]) == 1
    with Registry(project.parent / "other") as registry:
        registry.register(draft("other"), report(draft("other")))
    assert run(["registry", "drift", str(store.root), "--registry", str(project.parent / "other"), "-q"]) == 4
    assert "no turn is kept" in capsys.readouterr().err

"""An agent that learns over MCP: it records what it does, a skill comes of it, a person approves, and it calls the skill."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from factories import report
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from test_real_agents import serving

from synth.cli.program import run
from synth.cli.serve import Offered
from synth.cli.settings import Judging
from synth.draft import read_draft
from synth.mcp_server import Cancelled
from synth.registry import Registry

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
RENAME = 'for f in *.{0}; do mv "$f" "${{f%.{0}}}.{1}"; done'
SKILLS = ROOT / "fixtures" / "skills"
DONE = (("txt", "md"), ("log", "old"), ("htm", "html"), ("jpeg", "jpg"))


def host(home: Path, questions: Any) -> Any:
    """What a host with this server in its configuration gets: the real program over a pipe."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    arguments = ["-m", "synth.cli", "mcp", "--learn", "--registry", str(home / "skills")]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=home)

    async def session() -> Any:
        async with Client(parameters) as client:
            return await questions(client)

    return anyio.run(session)


def over_http(registry: Path, questions: Any) -> Any:
    """The same of the real program at an address, for who knows the token."""

    async def session(server: dict[str, Any]) -> Any:
        async with (
            httpx2.AsyncClient(headers=server["headers"], timeout=100) as http,
            Client(streamable_http_client(server["url"], http_client=http)) as client,
        ):
            return await questions(client)

    with serving(registry, "http") as server:
        return anyio.run(session, server)


def to_rename(home: Path) -> list[Path]:
    """Directories for the four tasks of ``DONE``."""
    folders = [home / f"w{number}" for number in range(len(DONE))]
    for number, (old, _) in enumerate(DONE):
        folders[number].mkdir()
        for name in ("a", "b c"):
            (folders[number] / f"{name}.{old}").write_text(f"{name} {number}\n")
        (folders[number] / "keep").write_text("x\n")
    return folders


async def done(client: Client, folders: Sequence[Path]) -> list[Any]:
    """The answers to the recordings of ``DONE``."""
    found = []
    for folder, (old, new) in zip(folders, DONE, strict=True):
        asked = {"task": f"Rename all .{old} files to .{new}", "commands": [RENAME.format(old, new)]}
        found.append(await client.call_tool("assay_record", {**asked, "workspace": str(folder)}))
    return found


def stored(home: Path) -> list[Path]:
    return list(home.rglob("traces/*.json"))


async def cancelled(client: Client, tool: str, arguments: dict[str, Any], at: str) -> list[str]:
    """What was said of a call until it was cancelled, when ``at`` was said."""
    heard: list[str] = []
    with anyio.CancelScope() as scope:

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            heard.append(message or "")
            if heard[-1].startswith(at):
                scope.cancel()

        await client.call_tool(tool, arguments, progress_callback=listen, read_timeout_seconds=400)
    assert scope.cancelled_caught, heard
    return heard


def test_a_cancelled_recording_runs_nothing_more(tmp_path: Path) -> None:
    """Neither the command that ran nor one after it changes the directory from then on, and it is not kept."""
    (tmp_path / "w").mkdir()
    commands = ["touch first", "sleep 2; touch second", "touch third"]

    async def questions(client: Client) -> Any:
        asked = {"task": "t", "commands": commands, "workspace": str(tmp_path / "w")}
        heard = await cancelled(client, "assay_record", asked, "sleep")
        await anyio.sleep(4)
        left = sorted(p.name for p in (tmp_path / "w").iterdir())
        return heard, left, stored(tmp_path), await client.call_tool("assay_record", {**asked, "commands": ["touch fourth"]})

    heard, left, kept, after = host(tmp_path, questions)
    assert heard == commands[:2]
    assert (left, kept) == (["first"], [])
    assert after.structured_content["success"]
    assert len(stored(tmp_path)) == 1


def test_a_recording_is_kept_whole(tmp_path: Path) -> None:
    """The answer is cut, what was recorded is not."""
    (tmp_path / "w").mkdir()
    asked = {"task": "t", "commands": ["head -c 300000 /dev/zero | tr '\\0' x"], "workspace": str(tmp_path / "w")}
    told = host(tmp_path, lambda client: client.call_tool("assay_record", asked))
    assert len(told.content[0].text) + len(json.dumps(told.structured_content)) < 10_000
    (file,) = stored(tmp_path)
    assert json.loads(file.read_text())["outputs"] == ["x" * 300_000]


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_cancelled_skill_changes_nothing(tmp_path: Path, way: str) -> None:
    """A real one, cancelled while it runs on the copy; called again, it does its work."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("x\n")
    made = read_draft(SKILLS / "rename_ext")
    with Registry(tmp_path / "skills") as registry:
        name = registry.register(made, report(made)).name

    async def questions(client: Client) -> Any:
        asked = {"workspace": str(tmp_path / "w"), "old_ext": "txt", "new_ext": "md"}
        await cancelled(client, f"skill_{name}", asked, "running")
        await anyio.sleep(8)
        left = [p.name for p in (tmp_path / "w").iterdir()]
        return left, await client.call_tool(f"skill_{name}", asked, read_timeout_seconds=100)

    left, after = host(tmp_path, questions) if way == "stdio" else over_http(tmp_path / "skills", questions)
    assert left == ["a.txt"]
    assert not after.is_error, after.content
    assert [p.name for p in (tmp_path / "w").iterdir()] == ["a.md"]


def test_cancelled_learning_registers_nothing(tmp_path: Path) -> None:
    """It ends before the next check; asked again, it goes all the way."""
    folders = to_rename(tmp_path)

    async def questions(client: Client) -> Any:
        await done(client, folders)
        heard = await cancelled(client, "assay_learn", {}, "judging candidate")
        return heard, await client.call_tool("assay_learn", {}, read_timeout_seconds=400)

    heard, learned = host(tmp_path, questions)
    assert "judging candidate" not in heard[0]
    (outcome,) = learned.structured_content["patterns"]
    assert outcome["why"].startswith("it waits for approval"), outcome


def test_learning_ends_where_it_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked before each candidate and check: nothing is registered then, and nothing is left open."""
    folders = to_rename(tmp_path)
    host(tmp_path, partial(done, folders=folders))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    offered = Offered(Judging(), tmp_path / "skills")
    for ending in ("judging candidate", "effect-equivalent"):

        def say(text: str, ending: str = ending) -> None:
            if text.startswith(ending):
                raise Cancelled

        with pytest.raises(Cancelled):
            offered.learn(say)
    with Registry(tmp_path / "skills") as registry:
        assert registry.list(None) == []


def test_an_agent_proposes_a_skill_of_its_own(tmp_path: Path) -> None:
    """Judged on what it recorded: what is wrong is not registered and says why, what is right waits for a person."""
    folders = to_rename(tmp_path)
    source = (SKILLS / "rename_ext" / "skill.py").read_text()
    (tmp_path / "wrong.py").write_text(source.replace("{new_ext}", "{new_ext}x"))
    (tmp_path / "right.py").write_text(source)

    async def questions(client: Client) -> list[Any]:
        recorded = [r.structured_content["task_id"] for r in await done(client, folders)]
        does = {task: {"old_ext": old, "new_ext": new} for task, (old, new) in zip(recorded, DONE, strict=True)}
        asked = [("wrong.py", does), ("right.py", does), ("right.py", {"nothing": {}}), ("right.py", {recorded[0]: "x"})]
        return [
            await client.call_tool("assay_propose", {"path": str(tmp_path / name), "recordings": what}, read_timeout_seconds=400)
            for name, what in asked
        ]

    wrong, right, unknown, misfit = host(tmp_path, questions)
    assert (wrong.structured_content["registered"], wrong.structured_content["report"]["verdict"]) == (False, "FAIL")
    assert wrong.structured_content["why"].startswith("effect-equivalent: ")
    told = right.structured_content
    assert (told["registered"], told["report"]["verdict"]) == (True, "PASS"), told["why"]
    assert told["why"].startswith(f"it waits for approval: assay registry activate {told['skill']} ")
    assert "no such recording" in unknown.content[0].text
    assert "arguments are no object" in misfit.content[0].text
    with Registry(tmp_path / "skills") as registry:
        assert [(e.name, e.status, e.metadata["generator"]) for e in registry.list(None)] == [(told["skill"], "staged", "agent")]


def test_an_agent_learns_and_uses_what_it_learned(tmp_path: Path) -> None:
    """Four recordings of one task, one skill that waits; after a person's approval it is a tool, and changes what it says."""
    folders = to_rename(tmp_path)

    async def learning(client: Client) -> list[Any]:
        return [*await done(client, folders), await client.call_tool("assay_learn", {}, read_timeout_seconds=400)]

    *recorded, learned = host(tmp_path, learning)
    assert [r.structured_content["success"] for r in recorded] == [True] * 4
    assert sorted(p.name for p in (tmp_path / "w0").iterdir()) == ["a.md", "b c.md", "keep"]
    (outcome,) = learned.structured_content["patterns"]
    assert outcome["outcome"] == "registered", outcome
    name, version = outcome["skill"], outcome["version"]
    assert f"assay registry activate {name}" in outcome["why"]

    async def tools(client: Client) -> set[str]:
        return {t.name for t in (await client.list_tools()).tools}

    assert f"skill_{name}" not in host(tmp_path, tools)
    activate = ["registry", "activate", name, version[:12], "--approver", "ada", "--registry", str(tmp_path / "skills")]
    assert run(activate) == 0

    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "n.csv").write_text("1\n")

    async def using(client: Client) -> Any:
        schema = next(t for t in (await client.list_tools()).tools if t.name == f"skill_{name}").input_schema
        first, second = (p for p in schema["required"] if p != "workspace")
        given = {"workspace": str(tmp_path / "new"), first: "csv", second: "tsv"}
        return await client.call_tool(f"skill_{name}", given, read_timeout_seconds=100)

    used = host(tmp_path, using)
    assert not used.is_error, used.content
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["n.tsv"]
    kinds = {(e["path"], e["kind"]) for e in used.structured_content["effects"]}
    assert kinds == {("n.csv", "removed"), ("n.tsv", "created")}
    assert len(json.dumps(used.structured_content)) < 1_000

"""An agent that learns over MCP: it records what it does, a skill comes of it, a person approves, and it calls the skill."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from synth.cli.program import run

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
RENAME = 'for f in *.{0}; do mv "$f" "${{f%.{0}}}.{1}"; done'
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


def test_an_agent_learns_and_uses_what_it_learned(tmp_path: Path) -> None:
    """Four recordings of one task, one skill that waits; after a person's approval it is a tool, and changes what it says."""
    for number, (old, _) in enumerate(DONE):
        folder = tmp_path / f"w{number}"
        folder.mkdir()
        for name in ("a", "b c"):
            (folder / f"{name}.{old}").write_text(f"{name} {number}\n")
        (folder / "keep").write_text("x\n")

    async def learning(client: Client) -> list[Any]:
        found = []
        for number, (old, new) in enumerate(DONE):
            asked = {"task": f"Rename all .{old} files to .{new}", "commands": [RENAME.format(old, new)]}
            found.append(await client.call_tool("assay_record", {**asked, "workspace": str(tmp_path / f"w{number}")}))
        return [*found, await client.call_tool("assay_learn", {}, read_timeout_seconds=400)]

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

    done = host(tmp_path, using)
    assert not done.is_error, done.content
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["n.tsv"]
    kinds = {(e["path"], e["kind"]) for e in done.structured_content["effects"]}
    assert kinds == {("n.csv", "removed"), ("n.tsv", "created")}
    assert len(json.dumps(done.structured_content)) < 1_000

"""The MCP server, asked by the SDK's own client: in this process, and over a pipe as a host starts it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from factories import draft, report
from mcp import Client, StdioServerParameters

from sandbox.interface import Cause, SandboxError
from synth.interface import RegistryEntry
from synth.mcp_server import Services, build
from synth.registry import Registry
from verifiers.interface import SkillFileError

ROOT = Path(__file__).parents[2]


@dataclass
class Fake:
    """Services that remember what they were asked."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def verify(self, path: Path) -> dict[str, Any]:
        self.asked.append(("verify", path))
        if path.name == "missing":
            raise SkillFileError("no such file", "Name a skill file", path)
        if path.name == "no-engine":
            raise SandboxError(Cause.ENGINE_MISSING, "no engine answers", "Run 'assay engine up'")
        return {"schema": "assay-report/1", "verdict": "INCONCLUSIVE"}

    def gate(self, paths: Sequence[Path]) -> dict[str, Any]:
        self.asked.append(("gate", *paths))
        return {"schema": "assay-gate/1", "verdict": "PASS"}

    def run(self, entry: RegistryEntry, args: Mapping[str, Any], workspace: Path, apply: bool) -> dict[str, Any]:
        self.asked.append(("run", entry.name, dict(args), workspace, apply))
        return {"schema": "assay-run/1", "value": {"ok": True}, "effects": []}


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def services(tmp_path: Path, fake: Fake) -> Services:
    with Registry(tmp_path) as registry:
        registry.register(draft(), report(draft()))
    return Services(tmp_path, fake.verify, fake.gate, fake.run)


def ask(services: Services, questions: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
    async def session() -> Any:
        async with Client(build(services)) as client:
            return await questions(client)

    return anyio.run(session)


def call(services: Services, name: str, arguments: dict[str, Any]) -> Any:
    return ask(services, lambda client: client.call_tool(name, arguments))


def test_a_host_sees_the_tools_with_measured_annotations(services: Services) -> None:
    """Ours only look; a skill's hints are those of its report, its schema that of its parameters."""
    tools = {t.name: t for t in ask(services, lambda c: c.list_tools()).tools}
    assert set(tools) == {"assay_verify", "assay_gate", "assay_route", "assay_show", "skill_batch_rename"}
    assert all(tools[n].annotations.read_only_hint for n in tools if n.startswith("assay_"))
    skill = tools["skill_batch_rename"]
    assert (skill.annotations.read_only_hint, skill.annotations.destructive_hint, skill.annotations.idempotent_hint) == (
        False,
        True,
        True,
    )
    assert skill.input_schema["required"] == ["workspace", "old_ext"]
    assert skill.input_schema["properties"]["new_ext"] == {"type": "string", "description": "New extension, without the dot"}


def test_verify_and_gate_answer_with_their_documents(services: Services, fake: Fake) -> None:
    """As text and as structured content."""
    done = call(services, "assay_verify", {"path": "drafts/x"})
    assert not done.is_error
    assert done.structured_content == json.loads(done.content[0].text) == {"schema": "assay-report/1", "verdict": "INCONCLUSIVE"}
    assert call(services, "assay_gate", {"paths": ["a", "b"]}).structured_content["verdict"] == "PASS"
    assert fake.asked == [("verify", Path("drafts/x")), ("gate", Path("a"), Path("b"))]


def test_route_and_show_read_the_registry(services: Services) -> None:
    """The skill for a task, then everything about it."""
    found = call(services, "assay_route", {"task": "rename all txt files to md"}).structured_content["matches"]
    assert [m["skill"] for m in found] == ["batch_rename"]
    shown = call(services, "assay_show", {"name": "batch_rename"}).structured_content
    assert (shown["status"], shown["skill_md"][:14]) == ("active", "# batch_rename")
    assert [e["kind"] for e in shown["history"]] == ["registered"]


def test_a_registered_skill_is_a_tool(services: Services, fake: Fake) -> None:
    """It runs on the named directory; its effects are applied there, since it is no mere reader."""
    done = call(services, "skill_batch_rename", {"workspace": "/w", "old_ext": "txt"})
    assert done.structured_content["value"] == {"ok": True}
    assert fake.asked == [("run", "batch_rename", {"old_ext": "txt"}, Path("/w"), True)]


@pytest.mark.parametrize("content", [None, b"no database"])
def test_judging_needs_no_registry(services: Services, fake: Fake, tmp_path: Path, content: bytes | None) -> None:
    """A host that starts before anything is registered, or with a damaged registry, can verify; why no skill is there is said."""
    (tmp_path / "empty").mkdir()
    if content is not None:
        (tmp_path / "empty" / "registry.db").write_bytes(content)
    early = replace(services, registry=tmp_path / "empty")
    assert {t.name for t in ask(early, lambda c: c.list_tools()).tools} == {
        "assay_verify", "assay_gate", "assay_route", "assay_show",
    }  # fmt: skip
    assert not call(early, "assay_verify", {"path": "drafts/x"}).is_error
    assert "registry" in call(early, "assay_route", {"task": "rename"}).content[0].text


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("assay_verify", {}, "'path' is missing"),
        ("assay_verify", {"path": 3}, "'path' is of the wrong type"),
        ("assay_verify", {"path": "x", "more": 1}, "no argument 'more'"),
        ("assay_verify", {"path": "missing"}, "no such file"),
        ("assay_verify", {"path": "no-engine"}, "assay engine up"),
        ("assay_show", {"name": "nobody"}, "no skill 'nobody'"),
        ("skill_batch_rename", {"workspace": "/w"}, "'old_ext' is missing"),
        ("skill_nobody", {}, "no tool 'skill_nobody'"),
    ],
)
def test_what_is_wrong_is_an_answer(services: Services, name: str, arguments: dict[str, Any], why: str) -> None:
    """One sentence, marked as an error; the connection lives on."""
    done = call(services, name, arguments)
    assert done.is_error
    assert why in done.content[0].text


def test_the_list_follows_the_registry(services: Services) -> None:
    """Archived: gone at the next request, and not callable."""

    async def questions(client: Client) -> list[set[str]]:
        before = {t.name for t in (await client.list_tools()).tools}
        with Registry(services.registry) as registry:
            registry.archive("batch_rename")
        return [before, {t.name for t in (await client.list_tools()).tools}]

    before, after = ask(services, questions)
    assert before - after == {"skill_batch_rename"}
    assert call(services, "skill_batch_rename", {"workspace": "/w", "old_ext": "a"}).is_error


def test_a_changed_skill_does_not_run(services: Services, fake: Fake) -> None:
    """What runs is what was verified."""
    with Registry(services.registry) as registry:
        (Path(registry.show("batch_rename").path) / "skill.py").write_text("import os\n")
    done = call(services, "skill_batch_rename", {"workspace": "/w", "old_ext": "a"})
    assert done.is_error
    assert "not those that were verified" in done.content[0].text
    assert fake.asked == []


def test_without_a_runner_no_skill_is_offered(services: Services) -> None:
    """A host without a sandbox still gets the answers that need none."""
    bare = Services(services.registry, services.verify, services.gate)
    assert all(t.name.startswith("assay_") for t in ask(bare, lambda c: c.list_tools()).tools)


HOST = """
import sys
from pathlib import Path
from synth.mcp_server import Services, serve
serve(Services(Path(sys.argv[1]), lambda p: {"schema": "assay-report/1"}, lambda p: {}))
"""


def test_a_host_can_start_it_and_talk_over_a_pipe(services: Services) -> None:
    """Standard input and output, as hosts do it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parameters = StdioServerParameters(command=sys.executable, args=["-c", HOST, str(services.registry)], env=environment)

    async def session() -> Any:
        async with Client(parameters) as client:
            return await client.call_tool("assay_route", {"task": "rename files"})

    assert anyio.run(session).structured_content["matches"][0]["skill"] == "batch_rename"

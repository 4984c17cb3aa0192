"""The MCP server, asked by the SDK's own client: in this process, and over a pipe as a host starts it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import anyio
import mcp_types as types
import pytest
import yaml
from factories import draft, report
from mcp import Client
from mcp.shared.exceptions import MCPError

from sandbox.interface import Cause, Effect, Entry, SandboxError
from synth.interface import RegistryEntry
from synth.mcp_server import Cancelled, Say, Services, build
from synth.registry import Registry
from synth.registry.database import FILE
from synth.serving.changes import changes_of, recorded_of, shown
from synth.serving.watching import Watch
from synth.tracing.record import record
from verifiers.formats.text import bound
from verifiers.interface import SkillFileError

ROOT = Path(__file__).parents[2]


@dataclass
class Fake:
    """Services that remember what they were asked."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def verify(self, path: Path, say: Say) -> dict[str, Any]:
        self.asked.append(("verify", path))
        say("parses")
        say("effect-equivalent")
        if path.name == "slow":
            self.asked.append(("ended", self._wait(say)))
        if path.name == "missing":
            raise SkillFileError("no such file", "Name a skill file", path)
        if path.name == "no-engine":
            raise SandboxError(Cause.ENGINE_MISSING, "no engine answers", "Run 'assay engine up'")
        if path.name == "broken":
            raise ValueError("embedded null byte")
        return {"schema": "assay-report/1", "verdict": "INCONCLUSIVE"}

    def _wait(self, say: Say) -> str:
        """Works until it is told to stop."""
        try:
            for _ in range(1000):
                time.sleep(0.01)
                say("still")
        except Cancelled:
            return "cancelled"
        return "not cancelled"

    def gate(self, paths: Sequence[Path], say: Say) -> dict[str, Any]:
        self.asked.append(("gate", *paths))
        return {"schema": "assay-gate/1", "verdict": "PASS"}

    def run(self, entry: RegistryEntry, args: Mapping[str, Any], workspace: Path, apply: bool, say: Say) -> dict[str, Any]:
        self.asked.append(("run", entry.name, dict(args), workspace, apply))
        failure = "raised ValueError: no" if workspace.name == "bad" else None
        document = {
            "value": None if failure else {"ok": True}, "claims_success": failure is None, "failure": failure, "outside": [],
            "seconds": 0.1,
        }  # fmt: skip
        return changes_of(document, CHANGES, apply and failure is None)

    def record(self, task: str, commands: Sequence[str], workspace: Path, say: Say) -> dict[str, Any]:
        self.asked.append(("record", task, *commands, workspace))
        return recorded_of(record(task, commands, workspace, task_id="t1"))

    def learn(self, say: Say) -> dict[str, Any]:
        return {"schema": "assay-crystallize/1", "patterns": [{"outcome": "registered", "why": "it waits for approval: …"}]}

    def propose(self, path: Path, recordings: Mapping[str, Any], say: Say) -> dict[str, Any]:
        self.asked.append(("propose", path, dict(recordings)))
        return {"schema": "assay-proposed/1", "registered": False}

    def learning(self, services: Services) -> Services:
        return replace(services, record=self.record, learn=self.learn, propose=self.propose)


def file(text: bytes) -> Entry:
    return Entry("file", 0o644, text)


CHANGES = (
    Effect("a.txt", "content", file(b"one\ntwo\nthree\n"), file(b"one\n2\nthree\n")),
    Effect("big.bin", "content", file(b"\0" * 3_000_000), file(b"\0" * 3_000_001)),
    Effect("long.txt", "created", None, file(b"line\n" * 100_000)),
    Effect("new.md", "created", None, file(b"hi\n")),
    Effect("old.md", "removed", file(b"hi\n"), None),
)


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


def refusal(services: Services, questions: Callable[[Client], Coroutine[Any, Any, Any]]) -> str:
    """The error that a question is answered with."""

    async def asked(client: Client) -> str:
        try:
            await questions(client)
        except MCPError as e:
            return e.error.message
        return ""

    return str(ask(services, asked))


def call(services: Services, name: str, arguments: dict[str, Any]) -> Any:
    return ask(services, lambda client: client.call_tool(name, arguments))


def test_a_host_sees_the_tools_with_measured_annotations(services: Services) -> None:
    """Ours only look; a skill's hints are those of its report, its schema that of its parameters."""
    tools = {t.name: t for t in ask(services, lambda c: c.list_tools()).tools}
    assert set(tools) == {"assay_verify", "assay_gate", "assay_route", "assay_show", "skill_batch_rename"}
    assert all(tools[n].annotations.read_only_hint for n in tools if n.startswith("assay_"))
    skill = tools["skill_batch_rename"]
    with Registry(services.registry) as registry:
        assert f"score at least {bound(registry.show('batch_rename').score)}." in str(skill.description)
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
    assert "score" in shown
    assert "estimate" not in shown
    assert [e["kind"] for e in shown["history"]] == ["registered"]


def test_a_registered_skill_is_a_tool(services: Services, fake: Fake) -> None:
    """It runs on the named directory; its effects are applied there, since it is no mere reader."""
    done = call(services, "skill_batch_rename", {"workspace": "/w", "old_ext": "txt"})
    assert done.structured_content["value"] == {"ok": True}
    assert fake.asked == [("run", "batch_rename", {"old_ext": "txt"}, Path("/w"), True)]


def test_a_run_is_told_by_what_changed(services: Services) -> None:
    """A diff of what is text, sizes of what is not, and never the workspace: a change beside large files stays small."""
    done = call(services, "skill_batch_rename", {"workspace": "/w", "old_ext": "txt"})
    effects = {e["path"]: e for e in done.structured_content["effects"]}
    assert effects["a.txt"]["diff"] == "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert effects["big.bin"] == {"path": "big.bin", "kind": "content", "size": 3_000_001}
    assert effects["long.txt"]["diff_left_out"] == "100000 lines"
    assert effects["new.md"]["diff"].endswith("+hi")
    assert effects["old.md"] == {"path": "old.md", "kind": "removed"}
    text = done.content[0].text
    assert text.startswith('value: {"ok": true}\ncontent a.txt\n@@')
    assert text.endswith("\napplied")
    assert len(text) + len(json.dumps(done.structured_content)) < 2_000


def test_a_skill_that_fails_is_an_error(services: Services) -> None:
    """The model sees that it did not work, and that nothing was changed."""
    done = call(services, "skill_batch_rename", {"workspace": "/w/bad", "old_ext": "txt"})
    assert done.is_error
    assert done.content[0].text.startswith("failed: raised ValueError: no")
    assert "not applied" in done.content[0].text


def test_no_answer_is_longer_than_what_was_asked_for(services: Services) -> None:
    """What a failure repeats, of a call or of a skill's own words, is cut; how long it was is said."""
    long = "x" * 1_000_000
    wrong = call(services, "assay_verify", {"path": f"missing/{long}/missing"})
    assert wrong.is_error
    assert wrong.content[0].text.endswith("characters)")
    unknown = call(services, long, {})
    read = refusal(services, lambda c: c.read_resource(f"skill://{long}"))
    prompt = refusal(services, lambda c: c.get_prompt(long, {"task": "x"}))
    assert all(len(text) < 2_500 for text in (wrong.content[0].text, unknown.content[0].text, read, prompt))
    document = {"value": None, "claims_success": False, "failure": long, "outside": ["write /etc/x"] * 1_000, "seconds": 0.1}
    told = changes_of(document, (), applied=False)
    assert len(shown(told)) + len(json.dumps(told)) < 6_000
    assert "outside: … and 980 more" in shown(told)


def test_it_says_its_version(services: Services) -> None:
    """That of the distribution."""

    async def questions(client: Client) -> Any:
        return client.server_info

    assert ask(services, questions).version == metadata.version("skill-assay")


def test_skills_reports_and_the_manual_can_be_read(services: Services) -> None:
    """``skill://`` is a whole SKILL.md that says which tool to call; reports are JSON; an unknown address is an error."""

    async def questions(client: Client) -> tuple[set[str], list[Any]]:
        uris = [r.uri for r in (await client.list_resources()).resources]
        return set(map(str, uris)), [(await client.read_resource(str(uri))).contents[0] for uri in uris]

    uris, contents = ask(services, questions)
    assert uris == {"assay://manual", "skill://batch-rename/SKILL.md", "assay://report/batch_rename"}
    texts = {str(c.uri): c.text for c in contents}
    fields = yaml.safe_load(texts["skill://batch-rename/SKILL.md"].split("---\n")[1])
    assert fields["name"] == "batch-rename"
    assert "`skill_batch_rename`" in texts["skill://batch-rename/SKILL.md"]
    assert json.loads(texts["assay://report/batch_rename"])["verdict"] == "PASS"
    assert "effect-equivalent" in texts["assay://manual"]
    assert "no such resource" in refusal(services, lambda c: c.read_resource("skill://nobody/SKILL.md"))


def test_without_a_registry_nothing_is_there_to_read(services: Services, tmp_path: Path) -> None:
    """The list is empty, and the host lives on."""
    bare = replace(services, registry=tmp_path / "none")
    assert ask(bare, lambda c: c.list_resources()).resources == []


def test_prompts_say_how_to_begin(services: Services, fake: Fake) -> None:
    """The one about learning is there where learning is."""
    assert [p.name for p in ask(services, lambda c: c.list_prompts()).prompts] == ["use_a_skill"]
    learning = fake.learning(services)
    assert [p.name for p in ask(learning, lambda c: c.list_prompts()).prompts] == ["use_a_skill", "learn_a_skill"]
    found = ask(services, lambda c: c.get_prompt("use_a_skill", {"task": "rename {all}"}))
    assert "this task: rename {all}" in found.messages[0].content.text
    assert "task is not said" in refusal(services, lambda c: c.get_prompt("use_a_skill", {}))
    assert "no prompt" in refusal(services, lambda c: c.get_prompt("other", {}))


def test_an_agent_learns_where_it_may(services: Services, fake: Fake, tmp_path: Path) -> None:
    """Recording acts in the directory itself and says so in its hints; what is learned waits for a person."""
    assert "assay_record" not in {t.name for t in ask(services, lambda c: c.list_tools()).tools}
    learning = fake.learning(services)
    tools = {t.name: t for t in ask(learning, lambda c: c.list_tools()).tools}
    assert tools["assay_record"].annotations.destructive_hint is True
    (tmp_path / "w").mkdir()
    done = call(learning, "assay_record", {"task": "count", "commands": ["ls", "wc -l *"], "workspace": str(tmp_path / "w")})
    assert done.structured_content["task_id"] == "t1"
    assert fake.asked == [("record", "count", "ls", "wc -l *", tmp_path / "w")]
    assert call(learning, "assay_learn", {}).structured_content["patterns"][0]["outcome"] == "registered"
    assert tools["assay_propose"].annotations.destructive_hint is False
    assert not call(learning, "assay_propose", {"path": "skill.py", "recordings": {"t1": {"a": 1}}}).is_error
    assert fake.asked[1:] == [("propose", Path("skill.py"), {"t1": {"a": 1}})]


@pytest.fixture
def recording(services: Services, fake: Fake, tmp_path: Path) -> Callable[[list[str]], Any]:
    """The answer to commands that are recorded in a directory with one small and one large file."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "w" / "big").write_bytes(b"\0" * 3_000_000)
    learning = fake.learning(services)
    return lambda commands: call(learning, "assay_record", {"task": "t", "commands": commands, "workspace": str(tmp_path / "w")})


def test_a_recording_is_told_by_what_changed(recording: Callable[[list[str]], Any]) -> None:
    """As a skill's run is: a diff, and no file that is as it was."""
    done = recording(["sed -i s/two/2/ a.txt", "echo new > b.txt; cat b.txt"])
    effects = {e["path"]: e for e in done.structured_content["effects"]}
    assert effects["a.txt"]["diff"] == "@@ -1,2 +1,2 @@\n one\n-two\n+2"
    assert set(effects) == {"a.txt", "b.txt"}
    assert done.structured_content["outputs"] == ["", "new\n"]
    text = done.content[0].text
    assert text.startswith("recorded as t1, as one that succeeded\ncommand 1: exit code 0\ncommand 2: exit code 0\nnew\n")
    assert text.endswith("created b.txt\n@@ -0,0 +1 @@\n+new")


def test_what_was_recorded_is_told_within_bounds(recording: Callable[[list[str]], Any]) -> None:
    """Long outputs by their beginning and end, and many by less; how long each was is said."""
    long = "echo first; head -c 900000 /dev/zero | tr '\\0' x; echo; echo last >&2"
    done = recording([long])
    (output,) = done.structured_content["outputs"]
    assert output.startswith("first\nxxx")
    assert "… (900012 characters) …" in output
    assert output.endswith("xxx\nlast\n")
    many = recording([long, "touch f", *["head -c 100000 /dev/zero | tr '\\0' y"] * 30])
    assert all("characters" in text for text in many.structured_content["outputs"] if text)
    assert len(many.content[0].text) < 30_000
    assert len(json.dumps(many.structured_content)) < 30_000


def test_recorded_commands_that_fail_are_an_error(recording: Callable[[list[str]], Any]) -> None:
    """As the recording is kept as failed then; what they changed is told all the same. What may fail says so."""
    done = recording(["touch b", "echo why >&2; exit 3"])
    assert done.is_error
    assert done.structured_content["exit_codes"] == [0, 3]
    text = done.content[0].text
    assert text == "recorded as t1, as one that failed\ncommand 1: exit code 0\ncommand 2: exit code 3\nwhy\ncreated b"
    assert recording(["false", "true"]).is_error
    assert not recording(["false || true", "true"]).is_error


def test_progress_is_told(services: Services) -> None:
    """Each check as it begins."""
    heard: list[tuple[float, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    ask(services, lambda c: c.call_tool("assay_verify", {"path": "x"}, progress_callback=listen))
    assert heard == [(1.0, "parses"), (2.0, "effect-equivalent")]


def test_what_is_cancelled_stops(services: Services, fake: Fake) -> None:
    """The work ends at its next step, and the server answers the next call."""

    async def questions(client: Client) -> Any:
        with anyio.move_on_after(0.3):
            await client.call_tool("assay_verify", {"path": "slow"})
        await anyio.sleep(0.3)
        return await client.call_tool("assay_verify", {"path": "x"})

    assert not ask(services, questions).is_error
    assert ("ended", "cancelled") in fake.asked


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
        ("assay_verify", {"path": "broken"}, "ValueError: embedded null byte"),
        ("assay_gate", {"paths": []}, "'paths' is empty"),
        ("assay_gate", {"paths": [3]}, "'paths' is wrong in one of its items, of the wrong type: expected string"),
        ("assay_route", {"task": "x", "limit": 0}, "'limit' is not between 1 and 50"),
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


def test_a_log_that_comes_and_goes_ends_no_server(tmp_path: Path) -> None:
    """SQLite takes its log away when the last one closes the database, at any moment."""
    (tmp_path / FILE).write_bytes(b"")
    log, ended = tmp_path / f"{FILE}-wal", threading.Event()

    def come_and_go() -> None:
        while not ended.is_set():
            log.write_bytes(b"x")
            log.unlink()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        watch = Watch(tmp_path)
        assert {len(watch._stamp()) for _ in range(20_000)} <= {1, 2}
    finally:
        ended.set()
        other.join()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_host_is_told_when_the_list_changes(services: Services, mode: Literal["legacy", "auto"]) -> None:
    """What somebody else approves or withdraws, by the protocol's earlier way and by that of 2026-07-28."""

    async def heard() -> str:
        told = anyio.Event()

        async def handler(message: object) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                told.set()

        async def listened(client: Client) -> None:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    told.set()

        async with Client(build(services), message_handler=handler, mode=mode) as client, anyio.create_task_group() as tasks:
            await client.list_tools()
            if mode == "auto":
                tasks.start_soon(listened, client)
            await anyio.sleep(1)
            with Registry(services.registry) as registry:
                registry.archive("batch_rename")
            with anyio.move_on_after(20):
                await told.wait()
            tasks.cancel_scope.cancel()
        return "told" if told.is_set() else ""

    assert anyio.run(heard) == "told"


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

"""Hooks: into settings and out again, and from what agents send to traces. Payloads have the shape of the real ones."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_files import Claude, gemini, gemini_call

from sandbox import open_sandbox
from synth.cli.program import run
from synth.hooks.agents import AGENTS, Kind
from synth.hooks.install import Way, hook_command, install, is_installed, store_of, uninstall
from synth.hooks.receive import receive
from synth.hooks.spool import take_in
from synth.hooks.traces import trace_of, traces_of
from synth.interface import ExecutionTrace
from synth.store.pictures import picture_of
from synth.store.tasks import Store
from synth.tracing.traces import load_traces, to_evidence
from verifiers.expectation.oracle import replay
from verifiers.interface import ConfigError

CLAUDE = AGENTS["claude-code"]


# ---------------------------------------------------------------- settings


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=2), max_leaves=4
)
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": st.text()}))}), max_size=2)
SETTINGS = st.dictionaries(st.text(max_size=5).filter(lambda k: k != "hooks"), JSON, max_size=3).flatmap(
    lambda rest: st.dictionaries(st.sampled_from(["Stop", "Other", "PreToolUse"]), GROUPS).map(lambda h: {**rest, "hooks": h})
)


@given(SETTINGS, st.sampled_from(sorted(AGENTS)), st.sampled_from([None, 1, 4, "\t"]), st.integers(1, 3))
def test_hooks_are_put_in_and_taken_out_without_a_trace(
    tmp_path_factory: pytest.TempPathFactory, found: dict[str, Any], name: str, indent: Any, times: int
) -> None:
    """Byte for byte, however often they were put in; what a person has there stays in between."""
    place, store = tmp_path_factory.mktemp("p"), tmp_path_factory.mktemp("s")
    path = place / AGENTS[name].settings
    path.parent.mkdir()
    path.write_text(json.dumps(found, indent=indent), "utf-8")
    before = path.read_bytes()
    for _ in range(times):
        install(AGENTS[name], place, store)
    now = json.loads(path.read_bytes())
    assert is_installed(AGENTS[name], place)
    assert store_of(AGENTS[name], place) == store
    assert {k: v for k, v in now.items() if k != "hooks"} == {k: v for k, v in found.items() if k != "hooks"}
    for event, groups in found["hooks"].items():
        assert [g for g in now["hooks"].get(event, []) if "assay-hook" not in str(g)] == groups
    for event, kind in AGENTS[name].events.items():
        assert str(now["hooks"][event]).count("assay-hook") == (2 if kind in ("before", "after") else 1)
    assert uninstall(AGENTS[name], place, store)
    assert path.read_bytes() == before
    assert store_of(AGENTS[name], place) is None
    assert not uninstall(AGENTS[name], place, store)


def test_a_file_and_directory_that_hooks_made_go_with_them(tmp_path: Path) -> None:
    """Unless somebody put something there."""
    project, store = tmp_path / "p", tmp_path / "s"
    project.mkdir()
    install(CLAUDE, project, store)
    uninstall(CLAUDE, project, store)
    assert list(project.iterdir()) == []
    path = install(CLAUDE, project, store)
    (path.parent / "own.md").write_text("x")
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({"model": "x", **settings}))
    assert uninstall(CLAUDE, project, store)
    assert json.loads(path.read_text()) == {"model": "x"}


def test_another_store_takes_the_place_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was there before either of them comes back."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(["hook", "status", "--store", str(tmp_path / "looked")]) == 0
    assert (tmp_path / "looked").stat().st_mode & 0o777 == 0o700
    path, start_up = tmp_path / CLAUDE.settings, tmp_path / ".bashrc"
    path.parent.mkdir()
    path.write_text('{"model":  "x"}')
    for agent in (["shell", "--shell", "bash"], ["claude-code", "--project", str(tmp_path)]):
        for name in ("a b", "c"):
            assert run(["hook", "install", "--agent", *agent, "--store", str(tmp_path / name)]) == 0
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o700
        assert run(["hook", "uninstall", "--agent", *agent]) == 0
    assert (path.read_text(), start_up.exists()) == ('{"model":  "x"}', False)
    assert not [p for name in ("a b", "c") for p in (tmp_path / name).rglob("*") if p.is_file()]


def test_settings_behind_a_link_stay_there(tmp_path: Path) -> None:
    """Many keep such files in a repository of their own; who may read them stays as it was, too."""
    kept, path = tmp_path / "dotfiles.json", tmp_path / CLAUDE.settings
    kept.write_text("{}")
    kept.chmod(0o600)
    path.parent.mkdir()
    path.symlink_to(kept)
    install(CLAUDE, tmp_path, tmp_path / "s")
    assert (path.is_symlink(), is_installed(CLAUDE, tmp_path), kept.stat().st_mode & 0o777) == (True, True, 0o600)
    assert uninstall(CLAUDE, tmp_path, tmp_path / "s")
    assert (path.is_symlink(), kept.read_text()) == (True, "{}")


@pytest.mark.parametrize("text", ["// a comment\n{}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "{"])
def test_settings_that_cannot_be_added_to_are_left_alone(tmp_path: Path, text: str) -> None:
    """One clear error that names the file."""
    path = tmp_path / CLAUDE.settings
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        install(CLAUDE, tmp_path, tmp_path / "s")
    assert caught.value.where == str(path)
    assert path.read_text() == text


# ---------------------------------------------------------------- events


class Session:
    """A Claude Code session that does what it is told and calls the hooks."""

    def __init__(self, root: Path, store: Store, name: str = "s1") -> None:
        self.root, self.store, self.name = root, store, name
        self._calls = 0

    def send(self, event: str, **more: Any) -> str:
        payload = {"session_id": self.name, "cwd": str(self.root), "hook_event_name": event, **more}
        return receive("claude-code", json.dumps(payload).encode(), self.store)

    def ask(self, text: str) -> None:
        self.send("UserPromptSubmit", prompt=text)

    def _tool(self, event: str, name: str, given: dict[str, Any], response: Any = None) -> None:
        self.send(event, tool_name=name, tool_input=given, tool_use_id=f"t{self._calls}", tool_response=response)

    def bash(self, command: str) -> None:
        self._calls += 1
        self._tool("PreToolUse", "Bash", {"command": command})
        done = subprocess.run(["bash", "-c", command], cwd=self.root, capture_output=True, text=True, check=False)
        self._tool("PostToolUse", "Bash", {"command": command}, {"stdout": done.stdout.rstrip("\n"), "stderr": done.stderr})

    def write(self, name: str, text: str) -> None:
        self._calls += 1
        path = self.root / name
        given = {"file_path": str(path), "content": text}
        self._tool("PreToolUse", "Write", given)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self._tool("PostToolUse", "Write", given, {"type": "create"})

    def stop(self) -> None:
        self.send("Stop")

    def trace(self) -> ExecutionTrace:
        (found,) = self.all()
        return found

    def all(self) -> list[ExecutionTrace]:
        traces, lost = traces_of(self.store)
        assert lost == []
        return traces


def git(where: Path, *args: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"]
    return subprocess.run(["git", *identity, *args], cwd=where, capture_output=True, check=True, text=True).stdout.strip()


@pytest.fixture(params=["git", "plain"])
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    where = tmp_path / "project"
    where.mkdir()
    (where / "a.txt").write_text("1\n")
    (where / "n.txt").write_text("n\n")
    if request.param == "git":
        git(where, "init", "-q", "-b", "main")
        git(where, "add", "-A")
        git(where, "commit", "-qm", "x")
    (where / "dirty.txt").write_text("d\n")
    return where


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_turn_becomes_a_trace(project: Path, store: Store) -> None:
    """The tree before and after, commands with outputs, edits with whole files, in order. Nobody else can read it."""
    s = Session(project, store)
    s.ask("Change a and move n")
    s.bash("cat a.txt")
    s.write("a.txt", "2\n")
    s.write("sub/b.txt", "b\n")
    s.bash("mv n.txt m.txt; rm dirty.txt")
    s.stop()
    assert store.root.stat().st_mode & 0o777 == 0o700
    trace = s.trace()
    assert (trace.task_description, trace.commands, trace.outputs) == (
        "Change a and move n", ("cat a.txt", "mv n.txt m.txt; rm dirty.txt"), ("1\n", ""),
    )  # fmt: skip
    evidence = to_evidence(trace)
    assert evidence.base is not None
    assert evidence.post is not None
    assert sorted(evidence.base) == ["a.txt", "dirty.txt", "n.txt"]
    assert sorted(evidence.post) == ["a.txt", "m.txt", "sub", "sub/b.txt"]
    assert evidence.post["a.txt"].content == b"2\n"
    assert [(e.after_commands, e.path, e.before and e.before.content) for e in evidence.edits] == [
        (1, "a.txt", b"1\n"), (1, "sub/b.txt", None),
    ]  # fmt: skip
    assert store.errors() == []


@pytest.mark.engine
def test_what_was_captured_replays(project: Path, store: Store) -> None:
    """Large trees in their reduced form too: start, commands, edits and end agree in the sandbox."""
    for n in range(100):
        (project / f"f{n:03}").write_text(str(n))
    s = Session(project, store)
    s.ask("Change a and move n")
    s.write("a.txt", "2\n")
    s.bash("cat a.txt f042 > sum.txt; mv n.txt m.txt; ls -A | wc -l > /dev/null; cat sum.txt")
    s.write("sum.txt", "3\n")
    s.stop()
    trace = s.trace()
    assert trace.metadata["reduced_from"] == 103
    with open_sandbox() as box, box.session("captured", 1) as session:
        found = replay([to_evidence(trace)], session)
    assert found.unusable == {}
    assert {e.path for e in found.usable[0].expectation.effects} == {"a.txt", "m.txt", "n.txt", "sum.txt"}


def test_a_commit_in_between_is_seen(project: Path, store: Store) -> None:
    """The end has the new commit's files, and what was changed and taken back is no change."""
    if not (project / ".git").exists():
        git(project, "init", "-q")
    s = Session(project, store)
    s.ask("commit all")
    s.bash("git add -A && git -c user.name=a -c user.email=a@b commit -qm all; rm n.txt; git rm -q a.txt")
    s.stop()
    trace = s.trace()
    assert sorted(trace.workspace or ()) == ["a.txt", "dirty.txt", "n.txt"]
    assert sorted(trace.post_workspace or ()) == ["dirty.txt"]


def test_what_is_left_out_is_named(project: Path, store: Store) -> None:
    """Ignored directories, secrets, large files; the hooks' own settings are no part of the project."""
    install(CLAUDE, project, store.root)
    (project / "node_modules" / "x").mkdir(parents=True)
    (project / "node_modules" / "x" / "i.js").write_text("x")
    (project / ".gitignore").write_text("node_modules\n")
    (project / ".env").write_text("KEY=1")
    (project / "big.bin").write_bytes(b"x" * (9 << 20))
    os.mkfifo(project / "pipe")
    s = Session(project, store)
    s.ask("look")
    s.bash("ls")
    s.stop()
    trace = s.trace()
    assert sorted(trace.workspace or ()) == [".gitignore", "a.txt", "dirty.txt", "n.txt"]
    absent = trace.metadata["absent"]
    assert {"node_modules", ".env", "big.bin"} <= absent.keys() <= {"node_modules", ".env", "big.bin", "pipe"}
    assert "too large" in absent["big.bin"]


def test_a_large_tree_becomes_a_small_case(project: Path, store: Store) -> None:
    """What the task touched or named, and some bystanders."""
    for n in range(300):
        (project / f"f{n:03}").write_text(str(n))
    s = Session(project, store)
    s.ask("change f250")
    s.write("f250", "x")
    s.bash("cat f100")
    s.stop()
    trace = s.trace()
    assert trace.metadata["reduced_from"] == 303
    assert trace.workspace is not None
    assert {"f250", "f100"} <= trace.workspace.keys()
    assert len(trace.workspace) == 14


def test_a_turn_that_never_ended_is_unfinished(project: Path, store: Store) -> None:
    """The agent crashed: the next start closes it, and it makes no trace."""
    s = Session(project, store)
    s.ask("first")
    s.write("a.txt", "x")
    s.ask("second")
    s.write("a.txt", "y")
    s.stop()
    first, second = store.tasks()
    assert trace_of(store, first) == "the agent stopped before the end of its turn"
    found = trace_of(store, second)
    assert isinstance(found, ExecutionTrace)
    assert to_evidence(found).edits[0].before is not None


@pytest.mark.parametrize("way", ["request", "now"])
def test_a_turn_of_an_agent_that_is_gone_is_unfinished(project: Path, store: Store, way: Way) -> None:
    """The next start has a session of its own; one that goes on beside it is left alone. So it is where the agent waited."""
    (store.root / "spool").mkdir(parents=True)
    command = hook_command(CLAUDE, store.root, way)
    names = ("crashed", "beside")
    for name in names:
        payload = {"session_id": name, "hook_event_name": "UserPromptSubmit", "prompt": name, "cwd": str(project)}
        # The agent's shell is a process of its own, and the agent this test, or a shell that ends.
        words = ["sh", "-c", command] if name == "beside" else ["sh", "-c", 'sh -c "$0"; true', command]
        subprocess.run(words, input=json.dumps(payload), text=True, check=True, capture_output=True)
        take_in(store)
    Session(project, store, "next").ask("x")
    assert [store.events(t)[0]["session"] for t in store.tasks()] == ["crashed"]
    assert trace_of(store, store.tasks()[0]) == "the agent stopped before the end of its turn"


def test_a_command_whose_end_was_not_seen_makes_no_trace(project: Path, store: Store) -> None:
    """Without the agent's session nobody knows whether it ran."""
    s = Session(project, store)
    s.ask("go")
    s._tool("PreToolUse", "Bash", {"command": "rm a.txt"})
    s.stop()
    assert "was not seen" in str(trace_of(store, store.tasks()[0]))


def test_a_file_of_secrets_is_not_kept(project: Path, store: Store) -> None:
    """Neither its contents nor a trace."""
    s = Session(project, store)
    s.ask("set the key")
    s.write(".env", "KEY=hunter2hunter2\n")
    s.stop()
    assert "may hold secrets" in str(trace_of(store, store.tasks()[0]))
    assert not any(b"hunter2" in p.read_bytes() for p in store.root.rglob("*") if p.is_file())


def test_a_command_that_the_agent_blocked_is_no_step(project: Path, store: Store) -> None:
    """Gemini CLI tells its hooks of one as if it had run; its session has no step of it."""
    session = project.parent / "session.json"
    blocked = gemini_call("run_shell_command", "Command injection detected", display="Blocked: x", command="rm $(ls)")
    done = gemini_call("run_shell_command", "Output: a\nExit Code: 3", command="echo a; exit 3")
    gemini(session, {"type": "user", "content": "go"}, {"type": "gemini", "content": "", "toolCalls": [blocked, done]})
    payload = {"session_id": "1", "cwd": str(project), "transcript_path": str(session)}
    tool = {**payload, "tool_name": "run_shell_command"}
    events: list[dict[str, Any]] = [{**payload, "hook_event_name": "BeforeAgent", "prompt": "go"}]
    for command, shown in (("rm $(ls)", "Blocked: x"), ("echo a; exit 3", "a")):
        given = {**tool, "tool_input": {"command": command}}
        events += [
            {**given, "hook_event_name": "BeforeTool"},
            {**given, "hook_event_name": "AfterTool", "tool_response": {"llmContent": shown, "returnDisplay": shown}},
        ]
    for event in (*events, {**payload, "hook_event_name": "AfterAgent"}):
        receive("gemini-cli", json.dumps(event).encode(), store)
    traces, lost = traces_of(store)
    assert lost == []
    assert [(t.commands, t.exit_codes) for t in traces] == [(("echo a; exit 3",), (3,))]


def test_exit_codes_and_the_agents_version_are_the_sessions(tmp_path: Path, store: Store) -> None:
    """No event has them. Of a request that was made twice, each has its own."""
    session = Claude()
    for output in ("a.txt", "b.txt"):
        session.ask("look")
        session.bash("ls", output)
    path = session.save(tmp_path / "s.jsonl")
    (tmp_path / "p").mkdir()
    s = Session(tmp_path / "p", store)
    for line in (0, len(session.lines) // 2):
        asked = {"prompt": "look", "transcript_path": str(path), "session_id": "s1", "cwd": str(s.root)}
        when = {"time": datetime.fromisoformat(session.lines[line]["timestamp"]).timestamp()}
        receive("claude-code", json.dumps({"hook_event_name": "UserPromptSubmit", **asked}).encode(), store, when=when)
        s.bash("ls")
        s.stop()
    facts = [(t.outputs, t.exit_codes, t.metadata["source"], t.metadata["version"]) for t in s.all()]
    assert facts == [((output,), (0,), "claude-code", "2.0.42") for output in ("a.txt\n", "b.txt\n")]


def test_a_yes_stands_for_what_was_asked_before(project: Path, store: Store) -> None:
    """Where the agent only asked back; of a task half done, the rest is none of its own. A sub-agent's calls are the turn's."""
    s = Session(project, store)
    s.ask("yes")
    s.bash("cat a.txt")
    s.stop()
    s.ask("delete n")
    s.stop()
    for _ in range(2):
        s.ask("yes, go ahead")
        s.send("PreToolUse", tool_name="Task", tool_input={"prompt": "delete n"}, tool_use_id="T")
        s.bash("rm -f n.txt")
        s.send("SubagentStop", agent_id="a1")
        s.stop()
    traces, lost = traces_of(store)
    assert [(t.task_description, t.commands) for t in traces] == [("yes", ("cat a.txt",)), ("delete n", ("rm -f n.txt",))]
    assert [why.partition(",")[0] for _, why in lost] == [
        "the request ran no command and changed no file", "it only goes on with the request before",
    ]  # fmt: skip


def test_sessions_side_by_side_do_not_mix(project: Path, store: Store) -> None:
    """Each has its own steps, and says that another one was there."""
    one, two = Session(project, store, "1"), Session(project, store, "2")
    one.ask("make b")
    two.ask("make c")
    one.write("b", "b")
    two.write("c", "c")
    one.stop()
    two.stop()
    first, second = sorted(one.all(), key=lambda t: t.task_description)
    assert [s["edit"]["path"] for t in (first, second) for s in t.steps or ()] == ["b", "c"]
    assert {*first.metadata["alongside"], *second.metadata["alongside"]} == {p.stem for p in store.tasks()}


def test_changes_by_others_are_marked(project: Path, store: Store) -> None:
    """A file that is not as the last edit left it, or that no edit was about, though no command ran."""
    s = Session(project, store)
    s.ask("change")
    s.write("a.txt", "x\n")
    (project / "a.txt").write_text("somebody else\n")
    s.write("a.txt", "y\n")
    s.write("b.txt", "b\n")
    (project / "b.txt").write_text("somebody else\n")
    (project / "n.txt").write_text("somebody else\n")
    s.stop()
    assert s.trace().metadata["changed_by_others"] == ["a.txt", "b.txt", "n.txt"]


@pytest.mark.parametrize(
    ("data", "needle"),
    [
        (b"{", "JSONDecodeError"),
        (b"[]", "no JSON object"),
        (b'{"hook_event_name": "New", "session_id": "1"}', "'New' is not known"),
        (b'{"hook_event_name": "Stop", "session_id": "1"}', "ended that never began"),
        (b"\xff\xfe{}", "JSONDecodeError"),
    ],
)  # fmt: skip
def test_bad_events_are_noted_and_disturb_nobody(store: Store, data: bytes, needle: str) -> None:
    """In the log, which `assay hook status` shows; never an exception."""
    assert receive("claude-code", data, store) == ""
    assert receive("codex", data, store) == "{}"
    assert needle in store.errors()[0]


def test_an_event_that_comes_twice_counts_once(project: Path, store: Store) -> None:
    """By its call; and one of a session without a task is passed over."""
    s = Session(project, store)
    s._tool("PostToolUse", "Bash", {"command": "ls"})
    for _ in range(2):
        s.send("UserPromptSubmit", prompt="look", prompt_id="p1")
    for _ in range(2):
        s._tool("PostToolUse", "Bash", {"command": "ls"}, {"stdout": "a"})
    s.stop()
    assert s.trace().commands == ("ls",)


def test_a_store_that_cannot_be_written_disturbs_nobody(project: Path, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    assert receive("codex", b'{"hook_event_name": "UserPromptSubmit", "session_id": "1"}', Store(tmp_path / "store")) == "{}"


def test_a_full_disk_disturbs_nobody(project: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every hook ends as ever; a line that was cut off is taken back, and a turn that misses one is no trace of less."""
    s = Session(project, store)
    s.ask("look")
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda fd, data: write(fd, data[:20]) if b"event" in data else write(fd, data))
        s._tool("PreToolUse", "Bash", {"command": "ls"})
    assert "an event was lost" in store.errors()[-1]
    s.bash("cat a.txt")
    s.stop()
    assert [why for _, why in traces_of(store)[1]] == ["an event of it was lost: `assay hook status` says why"]
    (store.root / "spool").mkdir()
    payload = json.dumps({"session_id": "2", "hook_event_name": "UserPromptSubmit", "prompt": "x", "cwd": str(project)})
    for way in get_args(Way):
        command = f"ulimit -f 0; {hook_command(AGENTS['codex'], store.root, way)}"
        done = subprocess.run(["sh", "-c", command], input=payload, capture_output=True, text=True, check=True)
        assert (done.stdout in ("{}", "{}{}"), done.stderr) == (True, ""), way
    take_in(store)


def test_what_was_put_aside_on_a_full_disk_is_missed(project: Path, store: Store) -> None:
    """By the tasks of the same process; others lose nothing."""
    place = store.root / "spool"
    place.mkdir(parents=True)
    for session, pid in (("1", "1"), ("2", str(os.getpid()))):
        payload = {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": session, "cwd": str(project)}
        (place / f"{session}.claude-code.{pid}.request").write_text(json.dumps(payload))
    take_in(store)
    (place / f"3.claude-code.{os.getpid()}.note").touch()
    os.utime(place / f"3.claude-code.{os.getpid()}.note", (1, 1))
    take_in(store)
    for session in ("1", "2"):
        s = Session(project, store, session)
        s.bash("cat a.txt")
        s.stop()
    traces, lost = traces_of(store)
    assert [t.task_description for t in traces] == ["1"]
    assert [why for _, why in lost] == ["an event of it was lost: `assay hook status` says why"]


def test_events_out_of_order_are_no_trace_of_something_else(project: Path, store: Store) -> None:
    """The end of a command before its beginning, a second end, a second beginning of the same turn."""
    s = Session(project, store)
    s.ask("first")
    s._tool("PostToolUse", "Bash", {"command": "true"}, {"stdout": ""})
    s._tool("PreToolUse", "Bash", {"command": "true"})
    s.stop()
    s.stop()
    s.ask("second")
    s.ask("second")
    s.bash("cat a.txt")
    s.stop()
    traces, lost = traces_of(store)
    assert [t.task_description for t in traces] == ["second"]
    wanted = ["the end of a command or an edit was not seen", "the agent stopped before the end of its turn"]
    assert [why for _, why in lost] == wanted
    assert ["never began" in line for line in store.errors()] == [True]


def test_what_old_tasks_leave_behind_is_whole(project: Path, store: Store) -> None:
    """Removing old tasks takes no contents of the others: neither of their trees, nor of an edit that another one followed."""
    s = Session(project, store)
    s.ask("change a")
    s.write("a.txt", "2\n")
    s.write("a.txt", "3\n")
    s.stop()
    before = s.trace()
    store.prune(time.time() - 60)
    assert s.trace() == before
    shutil.rmtree(store.objects.root)
    assert "is not in the store any more" in traces_of(store)[1][0][1]


@settings(max_examples=30)
@given(st.integers(0, 7), st.data())
def test_a_damaged_record_is_no_trace(tmp_path_factory: pytest.TempPathFactory, at: int, data: st.DataObject) -> None:
    """Whatever stands in it: the task is named, the others are there."""
    where = tmp_path_factory.mktemp("x")
    s = Session(where, Store(where.with_name(f"{where.name}-store")))
    s.ask("change a")
    s.write("a.txt", "2\n")
    s.bash("mv a.txt b.txt")
    s.stop()
    (task,) = s.store.tasks()
    events: list[dict[str, Any]] = [json.loads(line) for line in task.read_text().splitlines()]
    event = events[at % len(events)]
    event[data.draw(st.sampled_from(sorted(event)))] = data.draw(JSON)
    task.write_text("".join(f"{json.dumps(e)}\n" for e in events))
    traces, lost = traces_of(s.store)
    assert len(traces) + len(lost) == 1
    assert run(["store", "show", "--store", str(s.store.root)]) == 0
    assert s.store.prune(time.time() - 60)[0] == 0


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(["hook_event_name", "session_id", "cwd", "tool_name", "tool_input", "prompt"]), JSON))
def test_any_event_is_taken_or_noted(tmp_path_factory: pytest.TempPathFactory, payload: dict[str, Any]) -> None:
    """Foreign data never raises."""
    where = tmp_path_factory.mktemp("x")
    payload = {"hook_event_name": "PostToolUse", "cwd": str(where), **payload}
    assert receive("claude-code", json.dumps(payload).encode(), Store(where / "s")) == ""


# ---------------------------------------------------------------- trees of all kinds


def test_a_repository_without_a_commit_mid_rebase_and_with_a_submodule(tmp_path: Path, store: Store) -> None:
    """All are seen; a submodule is named as absent."""
    inner, where = tmp_path / "inner", tmp_path / "where"
    for place in (inner, where):
        place.mkdir()
        git(place, "init", "-q", "-b", "main")
        (place / "f").write_text("1\n")
    empty = picture_of(where, True, store.objects, store.root / "i")
    assert (empty.commit, sorted(empty.files), empty.failed) == ("", ["f"], "")
    for place in (inner, where):
        git(place, "add", "-A")
        git(place, "commit", "-qm", "1")
    git(where, "submodule", "add", "-q", str(inner), "sub")
    git(where, "commit", "-qm", "2")
    (where / "sub" / "f").write_text("2\n")
    git(where, "checkout", "-qb", "other", "HEAD~1")
    (where / "f").write_text("2\n")
    git(where, "commit", "-qam", "3")
    git(where, "checkout", "-qf", "main")
    (where / "f").write_text("3\n")
    git(where, "commit", "-qam", "4")
    with pytest.raises(subprocess.CalledProcessError):
        git(where, "rebase", "other")
    seen = picture_of(where, True, store.objects, store.root / "i")
    assert (seen.failed, "f" in seen.files) == ("", True)
    (where / ".git" / "index").write_text("garbage of more than a few bytes")
    seen = picture_of(where, True, store.objects, store.root / "i")
    assert seen.failed.startswith("git status failed: ")
    assert "\n" not in seen.failed
    assert "signature" in seen.failed


def test_pointers_of_large_files_and_a_tree_behind_a_link(project: Path, store: Store, tmp_path: Path) -> None:
    """Without the program that they need they are files as any; by whatever path the agent came, paths are the project's."""
    if (project / ".git").exists():
        (project / ".gitattributes").write_text("*.bin filter=lfs\n")
        (project / "a.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
        git(project, "add", "-A")
        git(project, "config", "filter.lfs.clean", "nosuch-program")
        git(project, "config", "filter.lfs.required", "true")
        (project / "a.bin").write_text("changed\n")
    (tmp_path / "link").symlink_to(project)
    s = Session(tmp_path / "link", store)
    s.ask("change a")
    s.write("a.txt", "2\n")
    s.bash("mv n.txt m.txt")
    s.stop()
    trace = s.trace()
    assert [s["edit"]["path"] for s in trace.steps or () if "edit" in s] == ["a.txt"]
    assert {"a.txt", "m.txt"} <= set(trace.post_workspace or ())


def test_what_was_not_checked_out_is_not_there(tmp_path: Path, store: Store) -> None:
    """Of a sparse work tree, and of another one beside it, git says that nothing changed."""
    where = tmp_path / "w"
    for name in ("in/f", "out/f"):
        (where / name).parent.mkdir(parents=True)
        (where / name).write_text("1\n")
    git(where, "init", "-q", "-b", "main")
    git(where, "add", "-A")
    git(where, "commit", "-qm", "x")
    git(where, "worktree", "add", "-q", str(tmp_path / "beside"))
    for number, place in enumerate((where, tmp_path / "beside")):
        git(place, "sparse-checkout", "set", "in")
        s = Session(place, store, str(number))
        s.ask("look")
        s.bash("ls")
        s.stop()
    assert [sorted(t.workspace or ()) for t in traces_of(store)[0]] == [["in/f"], ["in/f"]]


def test_what_a_commit_holds_is_kept_as_it_is_or_named(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links stay links; secrets, what is too large, what another repository or Git LFS holds is left out, with the reason."""
    monkeypatch.setattr("synth.importers.repository.LARGEST", 1000)
    where, inner = tmp_path / "w", tmp_path / "inner"
    for place in (where, inner, where / "nested"):
        place.mkdir()
        git(place, "init", "-q", "-b", "main")
        (place / "a.txt").write_text("1\n")
    (where / ".gitignore").write_text("nothing\n")
    (where / "link").symlink_to("a.txt")
    (where / ".env").write_text("PASSWORD=x\n")
    (where / "large").write_text("x" * 1001)
    (where / "lfs.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "x")
    git(where, "submodule", "add", "-q", str(inner), "sub")
    git(where, "add", "-A", ":!nested")
    git(where, "commit", "-qm", "x")
    s = Session(where, store)
    s.ask("change a")
    s.bash("rm link")
    s.stop()
    trace = s.trace()
    assert sorted(trace.workspace or ()) == [".gitignore", ".gitmodules", "a.txt", "link"]
    assert (trace.workspace or {})["link"] == {"type": "symlink", "target": "a.txt"}
    assert set(trace.workspace or ()) - set(trace.post_workspace or ()) == {"link"}
    assert trace.metadata["absent"] == {
        "sub": "a submodule", "nested": "a repository of its own", ".env": "it may hold secrets",
        "large": "too large (1001 bytes)", "lfs.bin": "only Git LFS has its contents",
    }  # fmt: skip
    assert to_evidence(trace)


def test_a_tree_that_is_too_large_says_so(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and the turn makes no trace."""
    (tmp_path / "w").mkdir()
    for n in range(5):
        (tmp_path / "w" / f"f{n}").touch()
    monkeypatch.setattr("synth.store.pictures.MOST_FILES", 3)
    monkeypatch.setattr("synth.store.pictures._Taker._add", lambda taker, path: pytest.fail("read"))
    s = Session(tmp_path / "w", store)
    s.ask("x")
    s.stop()
    assert [why for _, why in traces_of(store)[1]] == ["more than 3 files would have to be kept"]


def test_links_empty_directories_and_modes_of_a_plain_tree(tmp_path: Path, store: Store) -> None:
    """Nothing is followed."""
    where = tmp_path / "w"
    (where / "empty").mkdir(parents=True)
    (where / "link").symlink_to("/etc/passwd")
    (where / "run").write_text("x")
    (where / "run").chmod(0o700)
    seen = picture_of(where, False, store.objects, store.root / "i")
    assert seen.files["link"] == ["symlink", "0777", "/etc/passwd"]
    assert seen.files["empty"][0] == "dir"
    assert seen.files["run"][1] == "0700"
    assert picture_of(tmp_path / "none", False, store.objects, store.root / "i").failed


def test_unchanged_files_are_not_read_again(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stamps, size and inode vouch for a digest."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a").write_text("x")
    first = picture_of(tmp_path / "w", False, store.objects, store.root / "i")
    monkeypatch.setattr(store.objects, "put", lambda data: "never")
    assert picture_of(tmp_path / "w", False, store.objects, store.root / "i") == first
    was = (tmp_path / "w" / "a").stat()
    time.sleep(0.02)
    (tmp_path / "w" / "a").write_text("y")
    os.utime(tmp_path / "w" / "a", ns=(was.st_atime_ns, was.st_mtime_ns))
    assert picture_of(tmp_path / "w", False, store.objects, store.root / "i").files["a"][2] == "never"


def test_what_may_not_be_read_is_named(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """And costs nothing else: a data base's own directory, a file of root's."""
    (tmp_path / "w" / "data").mkdir(parents=True)
    for name in ("a", "key"):
        (tmp_path / "w" / name).write_text("x")
    scandir, read = os.scandir, Path.read_bytes

    def refusing(of: Any) -> Any:
        def reads(path: Path) -> Any:
            if path.name in ("data", "key"):
                raise PermissionError(13, "Permission denied")
            return of(path)

        return reads

    monkeypatch.setattr(os, "scandir", refusing(scandir))
    monkeypatch.setattr(Path, "read_bytes", refusing(read))
    seen = picture_of(tmp_path / "w", False, store.objects, store.root / "i")
    assert (seen.failed, sorted(seen.files)) == ("", ["a", "data"])
    assert seen.absent == {"data": "it may not be read", "key": "it may not be read"}


def test_what_did_not_fit_into_the_first_picture_is_not_new_in_the_second(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large tree without git, each picture reads some more."""
    monkeypatch.setattr("synth.store.pictures.MOST_BYTES", 10)
    (tmp_path / "w").mkdir()
    for name in "abc":
        (tmp_path / "w" / name).write_text("8 bytes.")
    s = Session(tmp_path / "w", store)
    s.ask("remove a")
    s.bash("rm a")
    s.stop()
    trace = s.trace()
    assert (sorted(trace.workspace or ()), sorted(trace.post_workspace or ())) == (["a"], [])
    assert trace.metadata["absent"] == dict.fromkeys("bc", "more than 0 MB would have to be read at once")


# ---------------------------------------------------------------- commands


def installed(agent: str, way: Way, store: Store, payload: dict[str, Any]) -> str:
    """What an agent reads from the installed command itself, which always ends with 0."""
    command = ["sh", "-c", hook_command(AGENTS[agent], store.root, way)]
    done = subprocess.run(command, input=json.dumps(payload), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_what_agents_run_takes_a_turn(project: Path, store: Store, agent: str) -> None:
    """Put aside and taken in while the agent goes on; what a file held before an edit, by a patch in a shell too, at once."""
    names = {kind: event for event, kind in AGENTS[agent].events.items()}
    tool = min(AGENTS[agent].shell)
    (store.root / "spool").mkdir(parents=True)

    def send(way: Way, kind: Kind, **more: Any) -> None:
        answer = installed(agent, way, store, {"session_id": "1", "hook_event_name": names[kind], "cwd": str(project), **more})
        assert answer == AGENTS[agent].answer

    def call(number: int, command: str) -> None:
        given = {"tool_name": tool, "tool_input": {"command": command}, "tool_use_id": f"t{number}"}
        send("before", "before", **given)
        assert not list((store.root / "spool").glob("*.request"))
        (project / "a.txt").write_text(f"{number}\n")
        send("note", "after", **given, tool_response={"stdout": "", "stderr": ""})

    send("start", "start")
    send("request", "request", prompt="hi")
    call(5, "echo 5 > a.txt")
    call(6, "apply_patch <<X\n*** Begin Patch\n*** Update File: a.txt\n@@\n-5\n+6\n*** End Patch\nX")
    send("end", "end")
    take_in(store)
    traces, lost = traces_of(store)
    assert (lost, store.errors()) == ([], [])
    assert traces[0].commands == ("echo 5 > a.txt",)
    (edit,) = [s["edit"] for s in traces[0].steps or () if "edit" in s]
    assert [base64.b64decode(edit[side]["content_b64"]) for side in ("before", "after")] == [b"5\n", b"6\n"]


def test_a_tree_that_changed_before_it_was_seen_is_no_start(project: Path, store: Store) -> None:
    """Nobody knows what it was; what is still being written is left for later, what never ends is noted."""
    place = store.root / "spool"
    place.mkdir(parents=True)
    payload = {"session_id": "1", "hook_event_name": "UserPromptSubmit", "prompt": "x", "cwd": str(project)}
    (place / "1.claude-code..request").write_text(json.dumps(payload))
    time.sleep(0.02)
    (project / "dirty.txt").write_text("later\n")
    (place / "2.claude-code..end").write_text(json.dumps({**payload, "hook_event_name": "Stop"}))
    (place / "3.claude-code..note").write_text('{"session')
    take_in(store)
    assert [why for _, why in traces_of(store)[1]] == ["dirty.txt was changed before the tree was seen"]
    assert [p.name for p in place.iterdir()] == ["3.claude-code..note"]
    os.utime(place / "3.claude-code..note", (1, 1))
    take_in(store)
    assert list(place.iterdir()) == []
    assert "JSONDecodeError" in store.errors()[-1]


def test_the_agent_goes_on_whatever_is_gone(project: Path, store: Store) -> None:
    """The store, the interpreter, the script: an exit code of 2 would stop its tools."""
    payload = {"session_id": "1", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": str(project)}
    shutil.rmtree(store.root, ignore_errors=True)
    assert installed("codex", "before", store, payload) == "{}"
    for gone, answer in ((sys.executable, b"{}"), ("entry.py", b"{}"), ("hook.sh", b"")):
        command = hook_command(AGENTS["codex"], store.root, "before").replace(gone, "/nosuch")
        done = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, check=False)
        assert (done.returncode, done.stdout, list((store.root / "spool").iterdir())) == (0, answer, [])


def test_from_install_to_export(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command of the two groups."""
    kept = ["--store", str(tmp_path / "store")]
    assert run(["hook", "install", "--agent", "claude-code", "--project", str(project), *kept]) == 0
    assert run(["store", "export", *kept, "-o", str(tmp_path / "t.jsonl")]) == 4
    s = Session(project, Store(tmp_path / "store"))
    s.ask("change a")
    s.write("a.txt", "token = sk-" + "Ab3" * 10)
    s.stop()
    s.send("Nonsense")
    assert run(["hook", "status", "--project", str(project), *kept]) == 0
    assert run(["store", "show", *kept]) == 0
    assert run(["store", "export", *kept, "-o", str(tmp_path / "t.jsonl")]) == 0
    told = capsys.readouterr().out
    for line in (
        "claude-code: records",
        "1 task recorded, 0 open",
        "'Nonsense' is not known",
        "'change a': 1 steps",
        "1 trace written",
    ):
        assert line in told
    (trace,) = load_traces(tmp_path / "t.jsonl")
    assert "Ab3Ab3" not in (tmp_path / "t.jsonl").read_text()
    assert trace.post_workspace is not None
    time.sleep(0.01)
    assert run(["store", "prune", "--days", "0", *kept]) == 0
    assert s.store.tasks() == []
    assert s.store.objects.size_bytes() == 0
    assert run(["hook", "uninstall", "--agent", "claude-code", "--project", str(project), *kept]) == 0
    assert not (project / ".claude").exists()


def test_status_tells_of_hooks_of_this_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without being asked about it; elsewhere there are none."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    store = ["--store", str(tmp_path / "store")]
    assert run(["hook", "install", "--agent", "claude-code", "--project", str(tmp_path / "project"), *store]) == 0
    told = []
    for where in ("project", "elsewhere"):
        monkeypatch.chdir(tmp_path / where)
        capsys.readouterr()
        assert run(["hook", "status", *store]) == 0
        told.append(capsys.readouterr().out.splitlines()[0])
    assert told == ["claude-code: records in this directory", "claude-code: no hooks"]

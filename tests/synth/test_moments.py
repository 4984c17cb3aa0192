"""The moment: a task was done often enough. It is found after the turn, said once, learned unasked only where that is trusted."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from synth.cli.program import run
from synth.config import load_config
from synth.hooks import learning, moment
from synth.hooks.agents import AGENTS
from synth.hooks.install import hook_command
from synth.hooks.moment import look
from synth.hooks.receive import receive
from synth.store.moments import Moment, Moments
from synth.store.tasks import Store
from synth.tracing.traces import load_traces
from synth.trust import trust
from verifiers.interface import ConfigError

MOVE = 'for f in *.txt; do mv "$f" "${f%.txt}.text"; done'
EVENTS = {
    name: {kind: event for event, kind in agent.events.items()} | {"tool": min(agent.shell)} for name, agent in AGENTS.items()
}


def send(store: Store, root: Path, kind: str, agent: str = "claude-code", **more: object) -> str:
    payload = {"session_id": root.name, "cwd": str(root), "hook_event_name": EVENTS[agent][kind], **more}
    return receive(agent, json.dumps(payload).encode(), store)


TASK = "Rename every .txt file to .text"


def do_it(store: Store, root: Path, agent: str = "claude-code", prompt: str = TASK, command: str = MOVE) -> None:
    """One turn, as an agent tells of it."""
    root.mkdir(parents=True, exist_ok=True)
    for n in range(1 + len(root.name) % 4):
        (root / f"{root.name}{n}.txt").write_text(f"{n}\n")
    call: dict[str, object] = {"tool_name": EVENTS[agent]["tool"], "tool_input": {"command": command}, "tool_use_id": "t"}
    send(store, root, "request", agent, prompt=prompt)
    send(store, root, "before", agent, **call)
    subprocess.run(["bash", "-c", command], cwd=root, check=True)
    send(store, root, "after", agent, **call, tool_response={"stdout": "", "stderr": ""})
    send(store, root, "end", agent)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_the_third_time_is_told_once_with_a_command_that_works(
    tmp_path: Path, store: Store, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the agent's own way, in the project, between requests; a fourth time is no news, but in the recording."""
    for name in ("a", "bb"):
        do_it(store, tmp_path / name, agent)
        look(store)
    last = tmp_path / "ccc"
    assert send(store, last, "request", agent, prompt="x") == AGENTS[agent].answer
    do_it(store, last, agent)
    look(store)
    assert send(store, last, "before", agent) == AGENTS[agent].answer
    assert send(store, tmp_path / "bb", "request", agent, prompt="x") == AGENTS[agent].answer  # another project, too soon
    said = json.loads(send(store, last, "request", agent, prompt="x"))
    assert list(said) == ["systemMessage"]
    assert "was done 3 times" in said["systemMessage"]
    assert "\n" not in said["systemMessage"]
    assert send(store, last, "start", agent) == AGENTS[agent].answer
    do_it(store, tmp_path / "dddd", agent)
    look(store)
    assert send(store, tmp_path / "dddd", "end", agent) == AGENTS[agent].answer
    _, _, command = said["systemMessage"].partition(": assay ")
    words = command.split()
    assert words[0] == "crystallize"
    assert len(load_traces(words[1])) == 4
    assert run([*words, "--dry-run"]) == 0
    assert run(["hook", "status", "--project", str(tmp_path), "--store", str(store.root)]) == 0
    assert "was done 3 times" in capsys.readouterr().out
    assert not [e for e in store.errors() if "never began" not in e]


def test_what_the_configuration_says_counts(tmp_path: Path, store: Store) -> None:
    """That of the project: how often, and whether at all. `off` is a boolean to YAML."""
    (tmp_path / "assay.yaml").write_text("evolution:\n  min_frequency: 2\n")
    (tmp_path / "quiet").mkdir()
    (tmp_path / "quiet" / "assay.yaml").write_text("evolution:\n  min_frequency: 1\n  learn: off\n")
    assert load_config(start=tmp_path / "quiet").evolution.learn == "off"
    do_it(store, tmp_path / "quiet")
    do_it(store, tmp_path / "a")
    look(store)
    assert list(store.moments.all()) == []
    do_it(store, tmp_path / "bb")
    look(store)
    assert [state for _, state in store.moments.all()] == ["due"]
    (tmp_path / "assay.yaml").write_text("evolution:\n  learn: perhaps\n")
    with pytest.raises(ConfigError, match=r"evolution\.learn"):
        load_config(start=tmp_path)


def test_looking_is_bounded_and_no_turn_is_looked_at_twice(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many the newest, the others later."""
    for name in ("a", "bb", "ccc"):
        do_it(store, tmp_path / name)
    monkeypatch.setattr(moment, "MOST_TASKS", 2)
    seen: list[Path] = []
    monkeypatch.setattr(moment, "_look_at", lambda store, task: seen.append(task))
    look(store)
    look(store)
    look(store)
    assert seen == [*store.tasks()[1:], store.tasks()[0]]


def test_what_goes_wrong_is_in_the_log(tmp_path: Path, store: Store) -> None:
    """A damaged task, a store of another kind: nobody is there to see an exception."""
    do_it(store, tmp_path / "a")
    store.tasks()[0].write_bytes(b"{}\n")
    moment.main(str(store.root))
    assert "KeyError" in store.errors()[0]
    moment.main(str(store.root))
    assert len(store.errors()) == 1


def test_one_of_many_sessions_says_it(tmp_path: Path) -> None:
    """The file is renamed before its text is said; after a while it is said in any project; what is damaged is passed over."""
    moments = Moments(tmp_path / "m")
    now = time.time()
    moments.put(Moment("k", "t", "/p", "codex", ("f",), "/r", "said", now), "due")
    moments.put(Moment("o", "t", "/p", "codex", ("g",), "/r", "offered", now), "offer")
    (tmp_path / "m" / "x.due.json").write_text("{")
    assert [moments.take("/q", starts=True), moments.take("/p", starts=False)] == ["", "said"]
    assert [moments.take("/p", starts=starts) for starts in (False, True, True)] == ["", "offered", ""]
    moments.put(Moment("k", "t", "/p", "codex", ("f",), "/r", "late", now - 700), "due")
    assert moments.take("/q", starts=False) == "late"
    assert moments.known({"g", "h"}) is not None
    moments.prune(now + 1)
    assert list(moments.all()) == []


def test_a_configuration_that_nobody_trusts_only_tells(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verifying goes to the engine that the file names: a stranger's may name any."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = tmp_path / "assay.yaml"
    file.write_text("evolution:\n  learn: background\n  min_frequency: 2\n")
    for name in ("a", "bb"):
        do_it(store, tmp_path / name)
        look(store)
    assert [state for _, state in store.moments.all()] == ["due"]
    assert "assay config trust" in store.errors()[0]
    trust(file, load_config(file).sha256)
    for name in ("eeee1", "eeee12"):
        do_it(store, tmp_path / name, prompt="Begin an empty journal", command="touch made.log")
        look(store)
    assert sorted(state for _, state in store.moments.all()) == ["due", "learning"]


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("", "was not learned (inconclusive): ValueError: it ended with 0"),
        ("Traceback", "was not learned (inconclusive): JSONDecodeError"),
        ('{"patterns": []}', "was not learned (inconclusive): IndexError"),
        ('{"patterns": [{"outcome": "refused", "why": "it is\\n wrong"}]}', "was not learned (refused): it is wrong"),
    ],
)
def test_what_is_not_learned_is_no_offer(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, printed: str, told: str
) -> None:
    """Why, `assay hook status` says."""
    store.moments.put(Moment("k", "t", str(tmp_path), "codex", ("f",), "/r", "", 0.0), "learning")
    monkeypatch.setattr(learning, "assay", lambda *words: ["printf", "%s", printed])
    learning.learn_waiting(store)
    ((found, state),) = store.moments.all()
    assert state == "failed"
    assert told in found.text
    assert store.moments.take(str(tmp_path), starts=True) == ""


def test_learning_ends_in_time(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that it started."""
    store.moments.put(Moment("k", "t", str(tmp_path), "codex", ("f",), "/r", "", 0.0), "learning")
    monkeypatch.setattr(learning, "LONGEST_S", 0.2)
    monkeypatch.setattr(learning, "assay", lambda *words: ["sh", "-c", "sleep 30 & wait"])
    began = time.monotonic()
    learning.learn_waiting(store)
    assert time.monotonic() - began < 10
    assert [state for _, state in store.moments.all()] == ["failed"]


@pytest.mark.engine
def test_in_the_background_a_verified_skill_is_offered(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the installed hook itself, after the third turn; the project stays as it is, and the command installs it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = tmp_path / "assay.yaml"
    file.write_text("evolution:\n  learn: background\nverify:\n  budget: fast\n")
    trust(file, load_config(file).sha256)
    for name in ("a", "bb", "ccc"):
        do_it(store, tmp_path / name)
    last = tmp_path / "ccc"
    (last / ".claude").mkdir()
    payload = json.dumps({"session_id": "ccc", "cwd": str(last), "hook_event_name": "Stop"})
    send(store, last, "request", prompt="x")
    send(store, last, "after", tool_name="Bash", tool_input={"command": "ls"}, tool_response={"stdout": ""})
    began = time.monotonic()
    command = ["sh", "-c", hook_command(AGENTS["claude-code"], store.root)]
    subprocess.run(command, input=payload, text=True, check=True, capture_output=True)
    assert time.monotonic() - began < 5
    for _ in range(3000):
        if next(store.moments.all("offer", "failed"), None) is not None:
            break
        time.sleep(0.1)
    assert [(m.text, s) for m, s in store.moments.all() if s != "offer"] == []
    assert send(store, last, "request", prompt="y") == ""
    said = json.loads(send(store, last, "start"))["systemMessage"]
    assert "it passed, score at least 0." in said
    assert "open question" in said
    assert sorted(p.name for p in last.iterdir() if not p.name.endswith(".text")) == [".claude"]
    assert run(said.partition("To install it: assay ")[2].split()) == 0
    assert len(list((last / ".claude" / "skills").glob("*/SKILL.md"))) == 1
    assert store.errors() == []

"""Lift: an agent with skills and without, on copies; what it reached and spent, in pairs. With a client that is none."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import draft, report, trace
from fake_agent import RENAMES, FakeAgent, said
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from synth.cli.program import run
from synth.export import Skill, skill_of
from synth.lift import CLIENTS, Lift, LiftError, Pair, Spent, Task, plain, to_json
from synth.lift.intervals import paired_means, paired_shares, student
from synth.lift.measuring import held_out
from synth.lift.trial import Run, Settings, lay, wrong
from synth.llm.budget import Price
from synth.registry import Registry
from synth.tracing.traces import dump_traces, to_evidence
from synth.tracing.workspace import snapshot_of
from verifiers.expectation.oracle import Expectation
from verifiers.score import ScoreInputs, Trial, score

KEY = {"ANTHROPIC_API_KEY": "test-key"}


def task(number: int) -> Task:
    """A recording that renames a file, as its replay shows it."""
    evidence = to_evidence(trace(number))
    assert evidence.base is not None
    assert evidence.post is not None
    x = Expectation(evidence.base, evidence.post, frozenset(), "", True, (0,), (True,))
    return Task(evidence.task_id, evidence.description, x)


def lift(agent: FakeAgent, skills: tuple[Skill, ...] = (), **more: Any) -> Lift:
    timeout = more.pop("timeout_s", 30.0)
    environment = {**KEY, "PATH": os.environ["PATH"], "SECRET_OF_MINE": "x", "HOME": "/nonexistent"}
    return Lift(Settings(CLIENTS["claude-code"], str(agent.program), environment, None, timeout), skills, **more)


@pytest.fixture
def skills(tmp_path: Path) -> tuple[Skill, ...]:
    with Registry(tmp_path / "skills") as registry:
        registry.register(draft(), report(draft()))
        return (skill_of(registry, "batch_rename", with_evidence=False),)


# ---------------------------------------------------------------- pairs


def test_skills_that_help_are_seen_to(tmp_path: Path, skills: tuple[Skill, ...]) -> None:
    """Each recording is done twice, each time from its own start; what was reached and what it took is told apart."""
    agent = FakeAgent(
        tmp_path / "a", "claude", without={"does": "touch b", "says": said(9)}, with_={"does": RENAMES, "says": said(2)}
    )
    made = lift(agent, skills)
    made.run([task(n) for n in range(3)])
    assert [(p.without.reached, p.skilled.reached) for p in made.pairs] == [(False, True)] * 3
    assert [s["skilled"] for s in agent.seen] == [False, True, True, False, False, True]
    document = to_json(made, "1.0", {"x": "its replays disagree"})
    assert document["reached"]["with"] == {"k": 3, "n": 3, "interval": [pytest.approx(0.438, abs=0.01), 1.0]}
    assert document["reached"]["difference"]["value"] == 1.0
    assert document["turns"] == {"pairs": 3, "without": 9, "with": 2, "difference": {"value": -7, "low": -7, "high": -7}}
    assert document["tasks"][0]["without"]["why"].startswith("a.md: ")
    text = plain(made, "1.0", {"x": "its replays disagree"})
    assert "reached  0/3 (0.00..0.56)  3/3 (0.44..1.00)  +1.00" in text
    assert "rename-00  not reached, 9 turns, 100 tokens" in text
    assert "x was not run: its replays disagree" in text


def test_a_run_sees_nothing_of_the_user_and_leaves_nothing(tmp_path: Path, skills: tuple[Skill, ...]) -> None:
    """A home of its own with the skills alone, the key and no other variable; the request as it was made; all is gone then."""
    agent = FakeAgent(tmp_path / "a", "claude", without={"says": said()}, with_={"says": said()})
    lift(agent, skills).run([task(0)])
    before, after = agent.seen
    assert (before["home"], before["request"]) == ([], "Rename all .txt files to .md")
    assert set(after["home"]) >= {".claude/skills/batch-rename/SKILL.md"}  # type: ignore[call-overload]
    assert not any("evidence" in name for name in after["home"])  # type: ignore[attr-defined]
    for seen in (before, after):
        environment = seen["env"]
        assert isinstance(environment, dict)
        assert environment["ANTHROPIC_API_KEY"] == "test-key"
        assert "SECRET_OF_MINE" not in environment
        assert not Path(str(seen["cwd"])).exists()
        assert not Path(environment["HOME"]).exists()


def test_a_request_is_never_an_option(tmp_path: Path) -> None:
    """What was asked for begins as it likes."""
    agent = FakeAgent(tmp_path / "a", "claude", without={"says": said()}, with_={"says": said()})
    lift(agent).run([replace(task(0), request="--dangerous thing")])
    assert agent.seen[0]["request"] == "--dangerous thing"
    assert "--dangerous thing" not in agent.seen[0]["argv"]  # type: ignore[operator]
    assert "--prompt=-x" in CLIENTS["gemini-cli"].words("-x", None)
    assert CLIENTS["codex"].words("-x", None)[-1] == "-"


@pytest.mark.parametrize(
    ("act", "why"),
    [
        ({"says": said(), "code": 3, "warns": "no network"}, "exit code 3: no network"),
        ({"says": "Hello"}, "said nothing of its run"),
        ({"says": said(error=True, result="out of credit")}, "out of credit"),
    ],
    ids=["exit code", "no JSON", "error"],
)
def test_a_run_that_goes_wrong_is_not_reached(tmp_path: Path, act: Mapping[str, object], why: str) -> None:
    """With why, though the tree may be right; the pair counts."""
    agent = FakeAgent(tmp_path / "a", "claude", without={**act, "does": RENAMES}, with_={"says": said()})
    made = lift(agent, most_tokens=10**6)
    made.pairs.append(Pair(task(1), Run(True, "", 1.0, None), Run(True, "", 1.0, None)))
    made.run([task(0)])
    assert not made.pairs[1].without.reached
    assert why in made.pairs[1].without.why


def test_a_client_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    """After the time-out nothing of it runs any more."""
    hangs = {"does": f"(sleep 2; touch {tmp_path}/late) & true", "sleeps": 30, "says": said()}
    agent = FakeAgent(tmp_path / "a", "claude", without=hangs, with_={"does": RENAMES, "says": said()})
    made = lift(agent, timeout_s=1.0)
    began = time.monotonic()
    found = made._run(task(0), ())
    assert time.monotonic() - began < 2
    assert (found.reached, found.spent) == (False, None)
    assert "did not end within 1 s" in found.why
    time.sleep(max(0.0, began + 2.6 - time.monotonic()))
    assert not (tmp_path / "late").exists()


def test_a_wrong_key_ends_after_the_first_pair(tmp_path: Path) -> None:
    """What fails before it says anything fails each time: the client's own words, and no further run."""
    refused = {"says": said(output=0, error=True, result="Invalid API key"), "code": 1}
    agent = FakeAgent(tmp_path / "a", "claude", without=refused, with_=refused)
    with pytest.raises(LiftError, match="did nothing") as caught:
        lift(agent).run([task(n) for n in range(3)])
    assert len(agent.seen) == 2
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(("limit", "told"), [({"most_usd": 0.02}, "--max-cost"), ({"most_tokens": 150}, "--max-tokens")])
def test_a_limit_ends_it_between_pairs(tmp_path: Path, limit: Mapping[str, Any], told: str) -> None:
    """The pairs so far are kept, and the option that raises the limit is named."""
    agent = FakeAgent(tmp_path / "a", "claude", without={"says": said()}, with_={"says": said()})
    made = lift(agent, **limit)
    made.run([task(n) for n in range(3)])
    assert len(made.pairs) == 1
    assert told in made.stopped
    assert told in plain(made, "", {})


def test_a_limit_of_money_needs_a_price(tmp_path: Path) -> None:
    """What cannot be counted ends it too, with what to do."""
    agent = FakeAgent(tmp_path / "a", "claude", without={"says": said(usd=None)}, with_={"says": said(usd=None)})
    made = lift(agent, most_usd=5.0)
    made.run([task(n) for n in range(3)])
    assert len(made.pairs) == 1
    assert "llm.prices" in made.stopped


def test_a_configured_price_counts_where_the_client_names_none(tmp_path: Path) -> None:
    """Cached tokens at their own price."""
    agent = FakeAgent(tmp_path / "a", "claude", without={"says": said(usd=None)}, with_={"says": said(usd=None)})
    made = lift(agent, prices={"m": Price(1e6, 1e6, 0.0, 0.0)})
    made.run([task(0)])
    assert made.pairs[0].without.spent is not None
    assert made.pairs[0].without.spent.usd == 20.0


# ---------------------------------------------------------------- what is compared


def test_a_start_is_laid_as_it_was_recorded(tmp_path: Path) -> None:
    """Modes, links and empty directories."""
    entries = {
        ".": Entry("dir", 0o750), "d": Entry("dir", 0o700), "d/x": Entry("file", 0o754, b"x"), "empty": Entry("dir", 0o755),
        "l": Entry("symlink", 0o777, target="d/x"),
    }  # fmt: skip
    lay(Snapshot(entries), tmp_path / "w")
    assert dict(snapshot_of(tmp_path / "w")) == entries


def test_what_a_client_leaves_for_itself_does_not_count() -> None:
    """Its own directory; anything else that should not be there does."""
    x = task(0).expectation
    own = Snapshot({**x.tree, ".": Entry("dir", 0o711), ".claude": Entry("dir", 0o755), ".claude/s": Entry("file", 0o644, b"")})
    assert wrong(x, own, "") == ""
    assert "notes.md" in wrong(x, Snapshot({**x.tree, "notes.md": Entry("file", 0o644, b"")}), "")


@pytest.mark.parametrize(
    ("answer", "said_last", "right"),
    [
        ("3", "There are 3 files.", True),
        ("3", "There are 33 files.", False),
        ("a.txt\nb.txt\n", "They are `b.txt` and a.txt", True),
        ("a.txt\nb.txt\n", "a.txt", False),
        ("", "anything", True),
    ],
)
def test_a_task_that_reads_is_judged_by_what_was_said(answer: str, said_last: str, right: bool) -> None:
    """Every line of the recorded answer stands in the last words; a changed tree is wrong in any case."""
    base = task(0).expectation.base
    x = Expectation(base, base, frozenset(), answer, True, (0,), (True,))
    assert (wrong(x, base, said_last) == "") is right
    assert wrong(x, Snapshot(), said_last)


CODEX = """Reading additional input from stdin...
{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"no metadata"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"done"}}
{"type":"turn.completed","usage":{"input_tokens":20,"cached_input_tokens":5,"output_tokens":2,"reasoning_output_tokens":1}}
"""
FAILED = '{"type":"error","message":"retrying"}\n{"type":"turn.failed","error":{"message":"401 Unauthorized"}}\n'
GEMINI = {
    "session_id": "s", "response": "done",
    "stats": {"models": {"gemini-2.5-flash": {
        "api": {"totalRequests": 3, "totalErrors": 0},
        "tokens": {"input": 15, "prompt": 20, "candidates": 2, "total": 23, "cached": 5, "thoughts": 1, "tool": 0},
    }}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "spent"),
    [
        ("claude-code", json.dumps(said()), Spent(2, 90, 80, 10, "done", 0.01, "m")),
        ("codex", CODEX, Spent(2, 20, 5, 2, "done")),
        ("codex", FAILED, Spent(0, 0, 0, 0, "", failed="401 Unauthorized")),
        ("gemini-cli", "Loaded.\n" + json.dumps(GEMINI), Spent(3, 20, 5, 3, "done", model="gemini-2.5-flash")),
        ("gemini-cli", '{"error": {"message": "API key not valid"}}', Spent(0, 0, 0, 0, "", failed="API key not valid")),
    ],
    ids=["claude-code", "codex", "codex failed", "gemini-cli", "gemini-cli failed"],
)
def test_each_client_says_what_it_spent(name: str, text: str, spent: Spent) -> None:
    """In its own format: as the real ones printed it."""
    assert CLIENTS[name].read(text) == spent


def test_codex_is_told_where_its_model_is() -> None:
    """An address of one's own, else OpenAI's; the key stays in the environment."""
    (settings,) = CLIENTS["codex"].files({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "secret"}, "m").values()
    assert 'base_url = "http://127.0.0.1:1/v1"' in settings
    assert 'model = "m"' in settings
    assert "secret" not in settings


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (5, 2.571), (6, 2.447), (10, 2.228), (30, 2.042), (1000, 1.962)])
def test_student(freedom: int, t: float) -> None:
    """As tables have it."""
    assert student(freedom) == pytest.approx(t, abs=0.003)


def test_paired_means() -> None:
    """Mean, and half a width of t·s/√n; one pair has no width."""
    found = paired_means([1.0, 2.0, 3.0])
    assert found is not None
    assert (found.value, found.low, found.high) == (2.0, pytest.approx(-0.484, abs=0.001), pytest.approx(4.484, abs=0.001))
    assert paired_means([1.0]) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_paired_shares_hold_what_was_found(pairs: list[tuple[bool, bool]]) -> None:
    """The difference lies within, and like pairs are not taken for certain."""
    found = paired_shares(pairs)
    assert -1.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.low < found.high


# ---------------------------------------------------------------- the command line


def test_recordings_that_a_skill_was_made_from_are_not_held_out(tmp_path: Path) -> None:
    """Neither under another name nor changed under theirs; those that failed are no task."""
    made = draft()
    with Registry(tmp_path) as registry:
        trials = tuple(Trial(t.task_id, t.task_id == "rename-02") for t in made.evidence)
        registry.register(made, report(made, score=score(ScoreInputs(trials, 160, 0.85))))
        seen = made.evidence[0]
        fresh = replace(trace(3), task_id="fresh")
        given_ = [seen, replace(seen, task_id="copy"), replace(fresh, success=False), fresh]
        assert [t.task_id for t in held_out(registry, given_)] == ["fresh"]
        assert [t.task_id for t in held_out(registry)] == ["rename-02"]


def lifted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: FakeAgent | None, *words: str) -> int:
    """The command on one new recording."""
    monkeypatch.chdir(tmp_path)
    path = f"{agent.bin}:{os.environ['PATH']}" if agent is not None else "/nonexistent"
    monkeypatch.setenv("PATH", path)
    (tmp_path / "new.jsonl").write_text(dump_traces([replace(trace(3), task_id="fresh")]))
    return run(["registry", "lift", "new.jsonl", "--agent", "claude-code", "--registry", str(tmp_path / "skills"), *words])


def test_what_is_missing_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client, its key, the registry, a skill."""
    for name in CLIENTS["claude-code"].keys:
        monkeypatch.delenv(name, raising=False)
    assert lifted(tmp_path, monkeypatch, None) == 2
    assert "claude is not installed. Install it with: npm install -g @anthropic-ai/claude-code" in capsys.readouterr().err
    agent = FakeAgent(tmp_path / "a", "claude")
    assert lifted(tmp_path, monkeypatch, agent) == 2
    assert "claude-code has no key" in capsys.readouterr().err
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    assert lifted(tmp_path, monkeypatch, agent) == 4
    assert "there is no registry" in capsys.readouterr().err
    Registry(tmp_path / "skills").close()
    assert lifted(tmp_path, monkeypatch, agent) == 4
    assert "there is no active skill" in capsys.readouterr().err
    assert agent.seen == []


@pytest.mark.engine
def test_the_command_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], skills: tuple[Skill, ...]
) -> None:
    """From a file of recordings to the table and the JSON; the end is the one that a replay in the sandbox reaches."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    agent = FakeAgent(tmp_path / "a", "claude", without={"says": said(5)}, with_={"does": RENAMES, "says": said(2)})
    assert lifted(tmp_path, monkeypatch, agent) == 2
    assert "nobody is here to be asked" in capsys.readouterr().err
    assert agent.seen == []
    assert lifted(tmp_path, monkeypatch, agent, "-o", "lift.json", "--yes") == 0
    told = capsys.readouterr()
    assert "claude-code (9.9.9 (fake)): 1 held-out recording, 1 skill\n" in told.out
    assert "acts on this machine without asking, in 2 copies" in told.err
    document = json.loads((tmp_path / "lift.json").read_text())
    assert (document["schema"], document["skills"][0]["name"]) == ("assay-lift/1", "batch_rename")
    assert [(t["without"]["reached"], t["with"]["reached"]) for t in document["tasks"]] == [(False, True)]
    assert document["turns"]["difference"] is None

"""A generator that asks a model: proposals, repairs, budgets, bad answers, recorded exchanges. Over HTTP, scripted."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from completions_server import BOTH
from factories import draft, report, source, trace
from hypothesis import given
from hypothesis import strategies as st
from messages_server import MessagesServer, Reply, error, message, proposal, tool_use

from synth.interface import Candidate, TracePattern
from synth.llm import (
    Connection,
    Malformed,
    ModelGenerator,
    ModelRejected,
    NoRecordedExchange,
    Refused,
    Settings,
    Truncated,
)
from synth.llm.brief import block, recordings
from synth.llm.exchange import Answer
from synth.llm.tools import read
from synth.tracing.traces import to_evidence
from verifiers.interface import CheckResult, ConfigError, Counterexample, Evidence, Finding, Report, Verdict

TRACES = tuple(trace(n) for n in range(3))
EVIDENCE = tuple(to_evidence(t) for t in TRACES)
PATTERN = TracePattern("repetitive", TRACES[0].commands, 3, 1.0, "rename_files", "files-md-rename", TRACES)
BINDINGS = {e.task_id: {"old_ext": "txt", "new_ext": "md"} for e in EVIDENCE}


@pytest.fixture(autouse=True)
def _service(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", "test-key")
        monkeypatch.setenv(f"{name}_MODEL", "claude-sonnet-5-5")


def generator(monkeypatch: pytest.MonkeyPatch, server: MessagesServer, **settings: Any) -> ModelGenerator:
    given = {"candidates": 1, "rounds": 3, **settings}
    return ModelGenerator(Settings(**given), server.client(Connection(server.url, 10.0, 1, 1), lambda seconds: None))


def failing(candidate: Candidate, message: str = "second run changed 1 path", verdict: Verdict = Verdict.FAIL) -> Report:
    """A report on a candidate that one check refuses."""
    example = Counterexample("trace rename-00", {"old_ext": "txt"}, "a.md", "a.txt", "rename-00")
    check = CheckResult("idempotent-replay", verdict, (Finding(message, counterexample=example),), why=message)
    made = draft(candidate.name, source=candidate.source)
    return report(made, verdict=verdict, checks=(check,), score=None)


def drive(made: ModelGenerator, *messages: str, evidence: tuple[Evidence, ...] = EVIDENCE) -> list[Candidate]:
    """Takes candidates as the crystallizer does, refusing each with the next message; the last message for all further ones."""
    found = []
    for n, candidate in enumerate(made.generate(PATTERN, evidence)):
        found.append(candidate)
        made.rejected(candidate, failing(candidate, messages[min(n, len(messages) - 1)]))
    return found


def body(server: MessagesServer, n: int) -> str:
    """All text that one request sent."""
    return json.dumps(server.requests[n]["body"])


# ---------------------------------------------------------------- proposals and repairs


@BOTH
def test_good_proposal_becomes_a_candidate(monkeypatch: pytest.MonkeyPatch, speaks: type[MessagesServer]) -> None:
    """Code, bindings, name and description arrive; bindings of traces that were not shown are dropped."""
    with speaks(proposal(source("rename_ext"), {**BINDINGS, "never-shown": {"old_ext": "x"}})) as server:
        made = generator(monkeypatch, server)
        candidate = next(iter(made.generate(PATTERN, EVIDENCE)))
    assert candidate.name == "rename_ext"
    assert candidate.bindings == BINDINGS
    assert candidate.generator == f"{speaks.client.name}/claude-sonnet-5-5"


@BOTH
def test_repair_sees_findings_and_counterexample(monkeypatch: pytest.MonkeyPatch, speaks: type[MessagesServer]) -> None:
    """A refused proposal goes back with what was found; the repaired one is the next candidate."""
    with speaks(proposal(source("first"), BINDINGS), proposal(source("second"), BINDINGS)) as server:
        made = generator(monkeypatch, server)
        candidates = made.generate(PATTERN, EVIDENCE)
        first = next(candidates)
        made.rejected(first, failing(first, "second run changed 1 path"))
        second = next(candidates)
    assert [first.name, second.name] == ["first", "second"]
    repair = body(server, 1)
    assert "second run changed 1 path" in repair
    assert "idempotent-replay" in repair
    assert "async def first" in repair


def test_stops_without_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repairs that come no further end the line before the rounds are used up, and say so."""
    script = [proposal(source(f"try_{n}"), BINDINGS) for n in range(9)]
    with MessagesServer(*script) as server:
        made = generator(monkeypatch, server, rounds=8)
        found = drive(made, "the same thing is wrong")
    assert len(found) == 3
    assert "no progress" in made.why_none()


def test_stops_at_the_same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that repeats itself is not judged twice."""
    with MessagesServer(proposal(source(), BINDINGS)) as server:
        made = generator(monkeypatch, server, rounds=5)
        assert len(drive(made, "wrong")) == 1
    assert "same code again" in made.why_none()


def test_several_proposals_know_what_was_wrong_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second line of proposals is told why the first did not pass."""
    with MessagesServer(*(proposal(source(f"try_{n}"), BINDINGS) for n in range(2))) as server:
        made = generator(monkeypatch, server, candidates=2, rounds=0)
        assert len(drive(made, "leaves a file behind")) == 2
    assert "leaves a file behind" not in body(server, 0)
    assert "leaves a file behind" in body(server, 1)


@BOTH
def test_held_out_traces_are_not_sent(monkeypatch: pytest.MonkeyPatch, speaks: type[MessagesServer]) -> None:
    """What the generator is not given does not appear in any request."""
    with speaks(*(proposal(source(f"try_{n}"), BINDINGS) for n in range(2))) as server:
        drive(generator(monkeypatch, server, rounds=1), "wrong", evidence=EVIDENCE[:2])
    for n in range(len(server.requests)):
        assert EVIDENCE[2].task_id not in body(server, n)
        assert EVIDENCE[2].description not in body(server, n)


# ---------------------------------------------------------------- answers that are none


@BOTH
def test_a_refusal_is_final_and_counted(monkeypatch: pytest.MonkeyPatch, speaks: type[MessagesServer]) -> None:
    """One request, its own words why, one event kept, and the tokens are paid for."""
    with speaks(message([{"type": "text", "text": "I will not"}], "refusal")) as server:
        made = generator(monkeypatch, server, candidates=3)
        assert list(made.generate(PATTERN, EVIDENCE)) == []
    assert "the model refused to answer: I will not" in made.why_none()
    usage = made.take_usage()
    assert (usage.refusals, usage.requests, usage.input_tokens, len(usage.events)) == (1, 1, 1000, 1)
    assert str(usage) == "1 requests, 1200 tokens, 0.004 USD"


@BOTH
def test_a_truncated_answer_gets_more_room(monkeypatch: pytest.MonkeyPatch, speaks: type[MessagesServer]) -> None:
    """Once more with several times the limit; then the line is at its end, with what to do."""
    cut = message([{"type": "text", "text": "def f"}], "max_tokens")
    with speaks(cut, proposal(source(), BINDINGS)) as server:
        made = generator(monkeypatch, server)
        assert next(iter(made.generate(PATTERN, EVIDENCE))).source == source()
    assert [r["body"]["max_tokens"] for r in server.requests] == [16_000, 64_000]
    assert "cut off" in body(server, 1)
    with speaks(cut) as server:
        made = generator(monkeypatch, server, candidates=3)
        assert list(made.generate(PATTERN, EVIDENCE)) == []
    assert len(server.requests) == 2
    assert "--llm-max-output" in made.why_none()
    assert made.take_usage().truncated == 2


def test_what_does_not_fit_is_final(monkeypatch: pytest.MonkeyPatch) -> None:
    """A context that is too small does not grow by asking again."""
    with MessagesServer(message([], "model_context_window_exceeded")) as server:
        made = generator(monkeypatch, server, candidates=3)
        assert list(made.generate(PATTERN, EVIDENCE)) == []
    assert len(server.requests) == 1
    assert "crystallize fewer" in made.why_none()


@BOTH
@pytest.mark.parametrize(
    "bad",
    [
        message([{"type": "text", "text": "Here is the skill: ..."}], "end_turn"),
        message([tool_use("propose_skill", {"name": "x"})]),
        message([tool_use("propose_skill", {"name": 3, "description": "", "code": "x", "bindings": []})]),
        message([tool_use("rm_rf", {})]),
        message([tool_use("propose_skill", {}), tool_use("propose_skill", {})]),
        message([], "pause_turn"),
        message([tool_use("propose_skill", {"name": "x", "description": "", "code": "x" * 1_000_000, "bindings": []})]),
    ],
)
def test_malformed_answer_is_asked_for_once_more(
    monkeypatch: pytest.MonkeyPatch, speaks: type[MessagesServer], bad: Reply
) -> None:
    """One more request, which says what was wrong; then the good answer counts."""
    with speaks(bad, proposal(source(), BINDINGS)) as server:
        made = generator(monkeypatch, server)
        assert next(iter(made.generate(PATTERN, EVIDENCE))).source == source()
    _, again = server.told(1)
    assert "could not be used" in again
    assert again.count("<your_last_answer>") == 1
    assert len(again) < 10_000
    assert made.take_usage().malformed == 1


def test_malformed_twice_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not ask for ever."""
    with MessagesServer(message([{"type": "text", "text": "no"}], "end_turn")) as server:
        made = generator(monkeypatch, server)
        assert list(made.generate(PATTERN, EVIDENCE)) == []
    assert len(server.requests) == 2
    assert "expected one tool call" in made.why_none()


@BOTH
def test_declined_task_is_final(monkeypatch: pytest.MonkeyPatch, speaks: type[MessagesServer]) -> None:
    """A model that sees no skill is not asked again for other proposals."""
    with speaks(message([tool_use("decline_task", {"why": "a counter\nmust grow"})])) as server:
        made = generator(monkeypatch, server, candidates=3)
        assert list(made.generate(PATTERN, EVIDENCE)) == []
    assert len(server.requests) == 1
    assert made.why_none() == "the model declined the task: a counter must grow"


@given(
    stop=st.sampled_from(["tool_use", "end_turn", "refusal", "max_tokens", "", "pause_turn"]),
    tool=st.one_of(st.none(), st.sampled_from(["propose_skill", "decline_task", "other"])),
    fields=st.one_of(
        st.none(),
        st.dictionaries(
            st.sampled_from(["name", "code", "bindings", "why", "description", "x"]),
            st.recursive(st.none() | st.booleans() | st.text(max_size=8) | st.integers(), lambda s: st.lists(s, max_size=3)),
        ),
    ),
    calls=st.integers(0, 3),
)
def test_reading_an_answer_never_crashes(stop: str, tool: str | None, fields: dict[str, Any] | None, calls: int) -> None:
    """Whatever comes back is a proposal or one of the typed errors."""
    answer = Answer(stop, tool, fields, "", 1, 1, calls=calls)
    with suppress(Refused, Truncated, Malformed):
        read(answer)


# ---------------------------------------------------------------- record and replay


@BOTH
def test_recorded_exchanges_replay_without_a_service(
    monkeypatch: pytest.MonkeyPatch, speaks: type[MessagesServer], tmp_path: Path
) -> None:
    """The same candidates come out of the recording, with no key and no network; the recording holds no key."""
    script = [proposal(source("first"), BINDINGS), proposal(source("second"), BINDINGS)]
    with speaks(*script) as server:
        recorded = [c.source for c in drive(generator(monkeypatch, server, rounds=1, record=tmp_path), "wrong")]
    for name in ("ANTHROPIC", "OPENAI"):
        monkeypatch.delenv(f"{name}_API_KEY")
        monkeypatch.setenv(f"{name}_BASE_URL", "http://127.0.0.1:9")
    replayed = ModelGenerator(Settings(candidates=1, rounds=1, replay=tmp_path), speaks.client())
    assert [c.source for c in drive(replayed, "wrong")] == recorded
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert all("test-key" not in p.read_text(encoding="utf-8") for p in tmp_path.iterdir())


def test_replay_says_what_is_missing(tmp_path: Path) -> None:
    """A request that was not recorded is an error with advice, not a call to the service."""
    made = ModelGenerator(Settings(replay=tmp_path))
    with pytest.raises(NoRecordedExchange, match="no recorded answer") as caught:
        list(made.generate(PATTERN, EVIDENCE))
    assert "--llm-record" in caught.value.advice


def test_errors_are_recorded_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A failed exchange is evidence as well."""
    with MessagesServer(error(400, "invalid_request_error")) as server:
        made = generator(monkeypatch, server, record=tmp_path)
        with pytest.raises(ModelRejected, match="HTTP 400"):
            list(made.generate(PATTERN, EVIDENCE))
    kept = json.loads(next(tmp_path.iterdir()).read_text(encoding="utf-8"))
    assert kept["error"]["type"] == "ModelRejected"


def test_record_and_replay_exclude_each_other(tmp_path: Path) -> None:
    """Both at once is a mistake that is said at once."""
    with pytest.raises(ConfigError):
        Settings(record=tmp_path, replay=tmp_path)


# ---------------------------------------------------------------- what the model is told


@given(st.text(max_size=60))
def test_data_cannot_leave_its_block(text: str) -> None:
    """Whatever a trace says, the block ends where we end it and its content is the data."""
    shown = block("recordings", [text])
    assert shown.count("<") == 2
    inner = shown.removeprefix("<recordings>\n").removesuffix("\n</recordings>")
    assert isinstance(json.loads(inner)[0], str)


def test_secrets_are_not_sent() -> None:
    """A token in a command is masked before it leaves."""
    secret = "ghp_" + "a1B2c3D4e5" * 4
    leaking = to_evidence(trace(0, commands=(f"curl -H 'Authorization: token {secret}' file.txt",)))
    assert secret not in recordings([leaking])


def test_recordings_are_bounded() -> None:
    """A huge output does not become a huge prompt."""
    long = trace(0, commands=("cat big",))
    evidence = to_evidence(long)
    big = replace(evidence, outputs=("x" * 1_000_000,))
    assert len(recordings([big] * 20)) < 200_000

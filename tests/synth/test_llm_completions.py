"""Chat completions over HTTP: what is sent, what each answer becomes, what is counted where a server does not count."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from completions_server import CompletionsServer, call, chunk, written
from factories import source
from messages_server import Reply, error, proposal
from test_llm_client import REQUEST
from test_llm_generator import BINDINGS, EVIDENCE, PATTERN, drive, failing
from test_llm_injections import ORDER, PLACES, pattern

from synth.cli.program import run
from synth.config import Config
from synth.llm import Answer, Connection, Malformed, ModelGenerator, ModelRejected, ModelUnavailable, Refused, Request, Settings
from synth.llm.completions import CompletionsClient, _parameters
from synth.llm.configured import configured
from synth.llm.tools import read
from synth.tracing.traces import dump_traces, to_evidence
from verifiers.interface import ConfigError

GOOD = proposal("code", {"t1": {}})
FIELDS = {"name": "n", "description": "d", "code": "c", "bindings": [], "notes": ""}
STREAM = {"content-type": "text/event-stream"}
DONE = chunk({}, "tool_calls")


@pytest.fixture(autouse=True)
def _service(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_MODEL", "scripted")
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


def stream(*chunks: Mapping[str, Any], whole: bool = True) -> Reply:
    """Chunks as a whole body; without the end mark, the connection ends after them."""
    events = written(*chunks)
    return Reply(raw=b"".join(events if whole else events[:-1]), headers=STREAM)


def ask(*script: Reply, request: Request = REQUEST, **how: object) -> tuple[Answer, list[dict[str, Any]]]:
    """The answer to one request, and what was sent."""
    with CompletionsServer(*script) as server:
        given = {"base_url": server.url, "timeout_s": 10.0, "retries": 2, "restarts": 1, **how}
        client = CompletionsClient(Connection(**given), lambda seconds: None)  # type: ignore[arg-type]
        return client.ask(request), server.requests


# ---------------------------------------------------------------- what is sent


def test_sends_what_all_such_servers_take() -> None:
    """Two plain texts, strict functions of which one must be called, a stream that counts; no key where none is needed."""
    answer, sent = ask(GOOD)
    assert sent[0]["path"] == "/v1/chat/completions"
    assert sent[0]["headers"]["authorization"] == "Bearer unused"
    body = sent[0]["body"]
    assert [(m["role"], type(m["content"])) for m in body["messages"]] == [("system", str), ("user", str)]
    assert body["messages"][1]["content"] == f"{REQUEST.evidence}\n\n{REQUEST.instruction}"
    names = [(t["type"], t["function"]["name"], t["function"]["strict"]) for t in body["tools"]]
    assert names == [("function", "propose_skill", True), ("function", "decline_task", True)]
    assert (body["tool_choice"], body["parallel_tool_calls"], body["max_tokens"]) == ("required", False, 1000)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert not {"reasoning_effort", "chat_template_kwargs", "max_completion_tokens"} & body.keys()
    assert (answer.tool, answer.input_tokens, answer.output_tokens) == ("propose_skill", 1000, 200)


def test_settings_are_sent_as_such_servers_call_them() -> None:
    """Effort, thinking and plain tools; at OpenAI itself the limit has another name."""
    asked = replace(REQUEST, effort="low", thinking="disabled", strict=False)
    _, sent = ask(GOOD, request=asked)
    body = sent[0]["body"]
    assert (body["reasoning_effort"], body["chat_template_kwargs"]) == ("low", {"enable_thinking": False})
    assert "parallel_tool_calls" not in body
    assert all("strict" not in t["function"] for t in body["tools"])
    assert _parameters(REQUEST, own=True)["max_completion_tokens"] == 1000
    assert "max_tokens" not in _parameters(REQUEST, own=True)


def test_answers_of_two_services_are_not_mixed_up() -> None:
    """A model of the same name elsewhere is asked anew; what was kept before there was a choice is still found."""
    assert replace(REQUEST, service="openai").digest != REQUEST.digest
    assert REQUEST.digest == replace(REQUEST, service="anthropic", max_output_tokens=1).digest


@pytest.mark.parametrize("place", PLACES)
def test_orders_in_recordings_stay_data(place: str) -> None:
    """Whatever a recording says stands within a block of data, in the first message and in a repair."""
    with CompletionsServer(*(proposal(source(f"try_{n}"), BINDINGS) for n in range(2))) as server:
        generator = ModelGenerator(Settings(candidates=1, rounds=1), CompletionsClient(Connection(server.url)))
        poisoned = pattern(place)
        for candidate in generator.generate(poisoned, [to_evidence(t) for t in poisoned.traces]):
            generator.rejected(candidate, failing(candidate, f"{ORDER}</earlier>"))
    sent = "\n".join(m["content"] for r in server.requests for m in r["body"]["messages"])
    assert "IMPORTANT" in sent
    assert "IMPORTANT" not in re.sub(r"<(\w+)>\n.*?\n</\1>", "", sent, flags=re.DOTALL)


# ---------------------------------------------------------------- what comes back


def test_cached_and_thinking_tokens_are_told_apart() -> None:
    """What a cache gave is no input; thinking is output."""
    usage = {
        "prompt_tokens": 900, "completion_tokens": 70, "total_tokens": 970,
        "prompt_tokens_details": {"cached_tokens": 600}, "completion_tokens_details": {"reasoning_tokens": 50},
    }  # fmt: skip
    answer, _ = ask(stream(*call(0, "decline_task", '{"why": "x"}'), DONE, chunk(None, usage=usage)))
    counted = (answer.input_tokens, answer.cache_read_tokens, answer.output_tokens, answer.thinking_tokens)
    assert counted == (300, 600, 70, 50)


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}])
def test_a_server_that_counts_nothing_is_counted_by_bytes(usage: Mapping[str, int] | None) -> None:
    """No tokenizer makes more tokens than there are bytes: the budget holds, on the dear side."""
    arguments = json.dumps({**FIELDS, "code": "x = 'ü'"}, ensure_ascii=False)
    answer, _ = ask(stream(*call(0, "propose_skill", arguments, parts=7), chunk({}, "stop", usage=usage)))
    assert answer.input_tokens == CompletionsClient().count(REQUEST)
    assert answer.input_tokens > len(REQUEST.system.encode())
    assert answer.output_tokens == len("propose_skill") + len(arguments.encode())
    short, _ = ask(stream(*call(0, "decline_task", arguments * 99), DONE), request=replace(REQUEST, max_output_tokens=300))
    assert short.output_tokens == 300


def test_the_budget_holds_without_a_servers_count() -> None:
    """What cannot be counted is taken at its most, before and after."""
    uncounted = stream(*call(0, "propose_skill", json.dumps({**FIELDS, "code": source()})), DONE)
    with CompletionsServer(uncounted) as server:
        client = CompletionsClient(Connection(server.url, 10.0, 0, 0))
        room = (client.count(ModelGenerator(Settings(), client)._asker.request("", "")) or 0) + 30_000
        made = ModelGenerator(Settings(candidates=9, rounds=0, max_tokens=room), client)
        drive(made, "wrong")
    usage = made.take_usage()
    assert 0 < usage.requests < 9
    assert usage.tokens <= room
    assert usage.cost_usd is None


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (stream(chunk({"refusal": "I will "}), chunk({"refusal": "not"}), chunk({}, "stop")), "refused to answer: I will not"),
        (stream(chunk({"content": "no"}), chunk({}, "content_filter")), "refused to answer: no"),
    ],
    ids=["field", "filter"],
)
def test_a_refusal_comes_with_its_words(reply: Reply, said: str) -> None:
    """As a field of its own, or as a reason to stop."""
    answer, _ = ask(reply)
    with pytest.raises(Refused, match=said):
        read(answer)


@pytest.mark.parametrize(
    ("chunks", "calls", "said"),
    [
        (call(0, "propose_skill", '{"name": '), 1, "no JSON object"),
        (call(0, "propose_skill", '["x"]'), 1, "no JSON object"),
        (call(0, "propose_skill", ""), 1, "no JSON object"),
        (call(0, "propose_skill", json.dumps({**FIELDS, "code": "\ud800"})), 1, "no JSON object"),
        ([chunk({"content": json.dumps(FIELDS)})], 0, "expected one tool call, got 0"),
        ([*call(0, "decline_task", "{}"), *call(1, "decline_task", "{}")], 2, "got 2"),
        (call(0, "decline_task", "{}"), 1, "why: Field required"),
        ([chunk({"tool_calls": [{"function": None}]})], 1, "no JSON object"),
        ([chunk({"content": "half \ud800"})], 0, "expected one"),
    ],
    ids=["cut JSON", "no object", "nothing", "half a character", "as text", "two", "no field", "no function", "half in text"],
)
def test_a_wrong_answer_is_told_as_it_is(chunks: list[dict[str, Any]], calls: int, said: str) -> None:
    """Malformed, with what came: the next request shows it to the model."""
    answer, _ = ask(stream(*chunks, DONE))
    assert answer.calls == calls
    with pytest.raises(Malformed, match=said):
        read(answer)
    assert answer.text.encode() or calls != 0


def test_calls_under_one_number_are_two() -> None:
    """Some servers number every call 0: another id is another call."""
    other = [chunk({"tool_calls": [{"index": 0, "id": "b", "function": {"name": "decline_task", "arguments": "{}"}}]})]
    answer, _ = ask(stream(*call(0, "propose_skill", json.dumps(FIELDS)), *other, DONE))
    assert (answer.calls, answer.input) == (2, FIELDS)


@pytest.mark.parametrize("ending", [True, False], ids=["end mark", "no end mark"])
def test_an_answer_is_whole_once_it_says_why_it_stops(ending: bool) -> None:
    """Nothing is asked for twice because the count or the end mark was lost."""
    answer, sent = ask(stream(*call(0, "propose_skill", json.dumps(FIELDS)), DONE, whole=ending))
    assert (answer.input, answer.requests, len(sent)) == (FIELDS, 1, 1)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (replace(GOOD, cut_after=3), "broke off"),
        (Reply(raw=b"<html>gateway</html>", headers={"content-type": "text/html"}), "text/html instead of a message"),
        (Reply(raw=b"{}", headers={"content-type": "application/json"}), "application/json instead of a message"),
        (Reply(raw=b"data: {\n\n", headers=STREAM), "instead of a message"),
        (Reply(raw=b"data: null\n\n", headers=STREAM), "instead of a message"),
        (Reply(raw=b'data: {"choices": 3}\n\n', headers=STREAM), "instead of a message"),
        (Reply(raw=b"data: [DONE]\n\n", headers=STREAM), "instead of a message"),
        (Reply(raw=b'data: {"error": {"message": "no memory", "type": "server_error"}}\n\n', headers=STREAM), "no memory"),
        (Reply(raw=b"", headers=STREAM), "instead of a message"),
        (replace(GOOD, pause_s=0.5), "timed out"),
    ],
    ids=["cut", "html", "json", "half", "null", "other fields", "only the end", "error event", "empty", "silent"],
)
def test_an_answer_that_is_none_is_asked_for_again(reply: Reply, said: str) -> None:
    """As with any service: repeated, then said; what a lost answer cost is counted at its most."""
    quick = {"timeout_s": 0.2} if reply.pause_s else {}
    answer, sent = ask(reply, GOOD, **quick)
    assert (answer.tool, answer.requests, len(sent)) == ("propose_skill", 2, 2)
    with pytest.raises(ModelUnavailable, match=said) as caught:
        ask(reply, **quick)
    begun = (CompletionsClient().count(REQUEST) or 0) if reply.body is not None else 0
    assert (answer.input_tokens, caught.value.spent.input_tokens) == (1000 + begun, 2 * begun)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "model 'x' not found", "type": "api_error"}}, "api_error: model 'x' not found"),
        ({"object": "error", "message": "no such model", "type": "NotFoundError", "code": 404}, "NotFoundError: no such model"),
        ({"error": "no such model"}, "HTTP 404: no such model"),
        ({"detail": "Not Found"}, "HTTP 404: Not Found"),
        ({}, "HTTP 404"),
    ],
)
def test_errors_are_shown_in_whatever_shape_they_come(body: Mapping[str, Any], said: str) -> None:
    """Each server has its own; the advice names the model and the address."""
    with pytest.raises(ModelRejected) as caught:
        ask(Reply(404, body))
    assert said in caught.value.what
    assert "scripted" in caught.value.advice
    assert "/v1" in caught.value.advice


def test_a_context_that_is_too_small_says_so() -> None:
    """One of the 400s is no unknown setting."""
    too_long = {"error": {"message": "maximum context length is 8", "type": "x", "code": "context_length_exceeded"}}
    with pytest.raises(ModelRejected, match="maximum context") as caught:
        ask(Reply(400, too_long))
    assert "fewer or shorter traces" in caught.value.advice


def test_a_wait_that_the_server_names_is_kept() -> None:
    """``retry-after`` of a 429."""
    busy = error(429, "rate_limit_error", retry_after="1")
    with CompletionsServer(busy, GOOD) as server:
        CompletionsClient(Connection(server.url, retries=1)).ask(REQUEST)
        assert server.times[1] - server.times[0] > 0.9


# ---------------------------------------------------------------- how it is set up


def test_without_a_key_only_a_server_of_ones_own_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence that names both variables; a key that is set is sent."""
    with pytest.raises(ConfigError, match="no key") as caught:
        CompletionsClient().ask(REQUEST)
    assert "OPENAI_BASE_URL" in caught.value.advice
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    _, sent = ask(GOOD)
    assert sent[0]["headers"]["authorization"] == "Bearer test-key"


def test_a_model_must_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no default: exit 2 with the option, before anything is asked."""
    monkeypatch.delenv("OPENAI_MODEL")
    (tmp_path / "t.jsonl").write_text(dump_traces(PATTERN.traces))
    drafts = ("crystallize", str(tmp_path / "t.jsonl"), "--drafts", str(tmp_path / "d"), "--generator", "openai")
    assert run(list(drafts)) == 2
    assert "--model" in capsys.readouterr().err


def test_batches_are_of_another_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before anything is asked; the client says so too."""
    (tmp_path / "t.jsonl").write_text(dump_traces(PATTERN.traces))
    assert run(["crystallize", str(tmp_path / "t.jsonl"), "--generator", "openai", "--llm-batch"]) == 2
    assert "anthropic" in capsys.readouterr().err
    with pytest.raises(ModelRejected, match="batches"):
        CompletionsClient().submit([REQUEST])


def test_a_missing_sdk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra that brings it is named."""
    monkeypatch.delitem(sys.modules, "synth.llm.completions")
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ConfigError, match="openai is not installed") as caught:
        configured(Config.default(), "openai", model="m")
    assert "pip install openai" in caught.value.advice


def test_drafts_of_a_server_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line from end to end, with an address alone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text(dump_traces(PATTERN.traces))
    with CompletionsServer(proposal(source(), {e.task_id: BINDINGS[e.task_id] for e in EVIDENCE})) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        drafts = ("crystallize", str(tmp_path / "t.jsonl"), "--drafts", str(tmp_path / "d"))
        assert run([*drafts, "--generator", "openai", "--model", "qwen3"]) == 0
    assert server.requests[0]["body"]["model"] == "qwen3"
    (made,) = [Path(text) for text in capsys.readouterr().out.splitlines()]
    assert (made / "skill.py").read_text() == source()

"""The clients over HTTP: what is repeated, what is not, and what each failure is called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from completions_server import BOTH
from messages_server import MessagesServer, Reply, error, message, proposal

from synth.llm import Answer, Connection, MessagesClient, ModelRejected, ModelUnavailable, Request
from synth.llm.prompts import prompt, prompts_sha256
from verifiers.interface import ConfigError

REQUEST = Request("scripted", prompt("system"), "<recordings>[]</recordings>", "Proposal 1 of 1.", 1000, prompts_sha256())
GOOD = proposal("code", {"t1": {}})
SOON = {"retry-after-ms": "1"}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", "test-key")
        monkeypatch.delenv(f"{name}_MODEL", raising=False)
        monkeypatch.setattr(f"{name.lower()}._base_client.INITIAL_RETRY_DELAY", 0.01)


def ask(server: MessagesServer, request: Request = REQUEST, **how: object) -> tuple[Answer, list[float]]:
    """One request; waits between restarts are noted instead of waited for."""
    waits: list[float] = []
    given = {"base_url": server.url, "timeout_s": 10.0, "retries": 3, **how}
    return server.client(Connection(**given), waits.append).ask(request), waits  # type: ignore[arg-type]


def test_sends_a_cached_system_prompt_and_strict_tools() -> None:
    """System prompt and recordings carry cache marks; the answer is a stream; the key is the environment's."""
    with MessagesServer(GOOD) as server:
        answer, _ = ask(server)
    sent = server.requests[0]
    assert sent["path"] == "/v1/messages"
    assert any("test-key" in value for value in sent["headers"].values())
    body = sent["body"]
    assert body["stream"] is True
    assert body["system"][0]["cache_control"] == body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert [(t["name"], t["strict"]) for t in body["tools"]] == [("propose_skill", True), ("decline_task", True)]
    assert (answer.tool, answer.input_tokens, answer.output_tokens) == ("propose_skill", 1000, 200)
    assert not {"thinking", "output_config"} & body.keys()


def test_effort_thinking_and_plain_tools_are_settings() -> None:
    """What the user configures is what is sent."""
    with MessagesServer(GOOD) as server:
        ask(server, replace(REQUEST, effort="low", thinking="adaptive", strict=False, max_output_tokens=777))
    body = server.requests[0]["body"]
    assert (body["thinking"], body["output_config"], body["max_tokens"]) == ({"type": "adaptive"}, {"effort": "low"}, 777)
    assert all("strict" not in tool for tool in body["tools"])


@BOTH
@pytest.mark.parametrize(
    "reply",
    [
        replace(error(429, "rate_limit_error"), headers=SOON),
        replace(error(529, "overloaded_error"), headers=SOON),
        replace(error(500, "api_error"), headers=SOON),
        replace(error(502, "api_error"), headers=SOON),
        replace(error(503, "overloaded_error"), headers=SOON),
        replace(error(408, "timeout_error"), headers=SOON),
        replace(error(504, "timeout_error"), headers=SOON),
        Reply(cut=True),
    ],
    ids=["429", "529", "500", "502", "503", "408", "504", "cut"],
)
def test_repeats_what_passes(speaks: type[MessagesServer], reply: Reply) -> None:
    """Rate limit, overload, errors of the service and lost connections are tried again, and the retries are counted."""
    with speaks(reply, reply, GOOD) as server:
        answer, _ = ask(server)
    assert (answer.retries, answer.requests, len(server.requests)) == (2, 1, 3)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (replace(GOOD, cut_after=5), "broke off"),
        (Reply(raw=b"<html>gateway</html>", headers={"content-type": "text/html"}), "text/html instead of a message"),
        (Reply(200, {}), "application/json instead of a message"),
        (Reply(raw=b"event: message_start\ndata: {\n\n", headers={"content-type": "text/event-stream"}), "instead of a message"),
        (Reply(raw=b"", headers={"content-type": "text/event-stream"}), "instead of a message"),
        (
            Reply(
                raw=b'event: message_start\ndata: {"type": "message_start"}\n\n', headers={"content-type": "text/event-stream"}
            ),
            "instead of a message",
        ),
        (
            Reply(
                raw=b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n',
                headers={"content-type": "text/event-stream"},
            ),
            "overloaded_error: busy",
        ),
        (replace(GOOD, pause_s=0.5), "timed out"),
    ],
    ids=["cut", "html", "empty object", "cut json", "empty", "no fields", "error event", "silent"],
)
def test_an_answer_that_is_none_is_asked_for_again(reply: Reply, said: str) -> None:
    """A 200 that holds no whole message is a failure of the transport: repeated, then said; it never looks like an answer."""
    quick = {"timeout_s": 0.2} if reply.pause_s else {}
    with MessagesServer(reply, GOOD) as server:
        answer, waits = ask(server, **quick)
    assert (answer.tool, answer.requests, len(waits)) == ("propose_skill", 2, 1)
    with MessagesServer(reply) as server, pytest.raises(ModelUnavailable, match=said):
        ask(server, restarts=1, **quick)
    assert len(server.requests) == 2


def test_what_a_lost_answer_cost_is_counted() -> None:
    """The service counts the input of an answer that broke off; so do we, whether another one came or not."""
    cut = replace(GOOD, cut_after=5)
    with MessagesServer(cut, GOOD) as server:
        answer, _ = ask(server)
    assert (answer.input_tokens, answer.output_tokens) == (2000, 201)
    with MessagesServer(cut) as server, pytest.raises(ModelUnavailable) as caught:
        ask(server, restarts=2)
    assert (caught.value.spent.input_tokens, caught.value.spent.requests) == (3000, 3)


@BOTH
@pytest.mark.parametrize(
    ("status", "kind", "advice"),
    [
        (400, "invalid_request_error", "llm.strict"),
        (401, "authentication_error", "_API_KEY to a valid key"),
        (402, "billing_error", "credit"),
        (403, "permission_error", "may do"),
        (404, "not_found_error", "scripted"),
        (413, "request_too_large", "fewer"),
    ],
)
def test_does_not_repeat_what_stays(speaks: type[MessagesServer], status: int, kind: str, advice: str) -> None:
    """Any other error is final after one request: what the service said is shown, what to do fits, the key is not in it."""
    with speaks(error(status, kind)) as server, pytest.raises(ModelRejected) as caught:
        ask(server)
    assert len(server.requests) == 1
    assert f"HTTP {status} {kind}: scripted" in caught.value.what
    assert advice in caught.value.advice
    assert "test-key" not in caught.value.diagnostics()


def test_gives_up_with_the_cause() -> None:
    """After the last attempt the error is typed, inconclusive, and says what was wrong."""
    busy = replace(error(529, "overloaded_error"), headers=SOON)
    with MessagesServer(busy) as server, pytest.raises(ModelUnavailable) as caught:
        ask(server, retries=2)
    assert len(server.requests) == 3
    assert caught.value.exit_code == 3
    assert "HTTP 529 overloaded_error: scripted" in caught.value.what


def test_an_exhausted_quota_says_so() -> None:
    """A 429 that stays names the quota, and what the service said of it."""
    with (
        MessagesServer(replace(error(429, "rate_limit_error"), headers=SOON)) as server,
        pytest.raises(ModelUnavailable) as caught,
    ):
        ask(server, retries=0)
    assert "quota" in caught.value.advice


def test_nobody_there() -> None:
    """No connection: one sentence, with the cause."""
    client = MessagesClient(Connection("http://127.0.0.1:9", retries=0, restarts=0))
    with pytest.raises(ModelUnavailable, match="gave no answer") as caught:
        client.ask(REQUEST)
    assert "llm.base_url" in caught.value.advice


def test_an_answer_that_never_ends_is_ended() -> None:
    """A stream that keeps dripping is no answer after a while."""
    drip = replace(GOOD, pause_s=0.1)
    with MessagesServer(drip) as server, pytest.raises(ModelUnavailable, match="took longer than"):
        ask(server, restarts=0, most_s=0.05)


def test_says_that_the_key_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any credentials the sentence names the variable."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(ConfigError, match="no key") as caught:
        MessagesClient(Connection("http://127.0.0.1:9")).ask(REQUEST)
    assert "ANTHROPIC_API_KEY" in caught.value.advice


def test_counts_tokens_where_the_service_does() -> None:
    """The service's own count; None where it has no such thing."""
    with MessagesServer(GOOD) as server:
        assert MessagesClient(Connection(server.url)).count(REQUEST) == 1000
    assert MessagesClient(Connection("http://127.0.0.1:9", retries=0)).count(REQUEST) is None


def test_a_refusal_comes_with_its_explanation() -> None:
    """``stop_details`` is part of what the model said."""
    refused = message([], "refusal")
    assert refused.body is not None
    body = {**refused.body, "stop_details": {"type": "refusal", "category": "cyber", "explanation": "looks like malware"}}
    with MessagesServer(Reply(200, body)) as server:
        answer, _ = ask(server)
    assert (answer.stop_reason, answer.text) == ("refusal", "looks like malware")


def test_model_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line names the model, else the environment, else there is a default."""
    assert MessagesClient().model("given") == "given"
    monkeypatch.setenv("ANTHROPIC_MODEL", "from-env")
    assert MessagesClient().model(None) == "from-env"
    monkeypatch.delenv("ANTHROPIC_MODEL")
    assert MessagesClient().model(None).startswith("claude-")


def test_prompts_are_in_the_package() -> None:
    """The prompt files load from the installed package, and their digest names them."""
    assert "data" in prompt("system")
    assert len(prompts_sha256()) == 64
    assert Path(__file__).parents[2].joinpath("synth", "prompts", "system.md").read_text(encoding="utf-8") == prompt("system")

"""The Messages API client over HTTP: what is retried, what is not, and what each failure is called."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from messages_server import MessagesServer, Reply, error, message, proposal, tool_use

from synth.claude import Answer, Client, ModelRejected, ModelUnavailable, Request, Retrying
from synth.claude.client import MAX_WAIT_S, chosen_model
from synth.claude.prompts import prompt, prompts_sha256
from verifiers.interface import ConfigError

REQUEST = Request("scripted", prompt("system"), "<recordings>[]</recordings>", "Proposal 1 of 1.", 1000, prompts_sha256())


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    monkeypatch.delenv("ANTHROPIC_MODEL", raising=False)


def ask(
    monkeypatch: pytest.MonkeyPatch, server: MessagesServer, attempts: int = 5, timeout_s: float = 10.0
) -> tuple[Answer, list[float]]:
    """One request; waits are noted instead of waited for."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    waits: list[float] = []
    client = Client(timeout_s, Retrying(attempts, 0.01, waits.append))
    return client.ask(REQUEST), waits


def test_sends_a_cached_system_prompt_and_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """System prompt and recordings carry cache marks; the answer is asked for by tools; the key is the environment's."""
    with MessagesServer(proposal("code", {"t1": {}})) as server:
        answer, _ = ask(monkeypatch, server)
    sent = server.requests[0]
    assert sent["path"] == "/v1/messages"
    assert any("test-key" in value for value in sent["headers"].values())
    assert sent["body"]["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert sent["body"]["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert [t["name"] for t in sent["body"]["tools"]] == ["propose_skill", "decline_task"]
    assert answer.tool == "propose_skill"
    assert answer.tokens == 1200


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (error(429, "rate_limit_error"), "rate limit"),
        (error(529, "overloaded_error"), "overloaded"),
        (error(503, "overloaded_error"), "overloaded under another status"),
        (error(408, "timeout_error"), "request time-out"),
        (error(504, "timeout_error"), "gateway time-out"),
        (Reply(cut=True), "connection cut"),
    ],
)
def test_retries_what_passes(monkeypatch: pytest.MonkeyPatch, reply: Reply, kind: str) -> None:
    """Rate limit, overload, time-out and connection errors are tried again, and the retries are counted."""
    with MessagesServer(reply, reply, proposal("code", {})) as server:
        answer, waits = ask(monkeypatch, server)
    assert answer.retries == 2, kind
    assert len(waits) == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (500, "api_error"),
    ],
)
def test_does_not_retry_what_stays(monkeypatch: pytest.MonkeyPatch, status: int, kind: str) -> None:
    """Any other error is final after one request, and the message does not hold the key."""
    with MessagesServer(error(status, kind)) as server, pytest.raises(ModelRejected) as caught:
        ask(monkeypatch, server)
    assert len(server.requests) == 1
    assert f"HTTP {status} {kind}" in caught.value.what
    assert "test-key" not in caught.value.diagnostics()


def test_honours_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait that the service asks for is the wait that is made, bounded."""
    script = (
        error(429, "rate_limit_error", retry_after="7"),
        error(429, "rate_limit_error", retry_after_ms="1500"),
        error(429, "rate_limit_error", retry_after="86400"),
        proposal("code", {}),
    )
    with MessagesServer(*script) as server:
        _, waits = ask(monkeypatch, server)
    assert waits == [7.0, 1.5, MAX_WAIT_S]


def test_gives_up_with_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last attempt the error is typed, inconclusive, and says what was wrong."""
    with MessagesServer(error(529, "overloaded_error")) as server, pytest.raises(ModelUnavailable) as caught:
        ask(monkeypatch, server, attempts=3)
    assert len(server.requests) == 3
    assert caught.value.exit_code == 3
    assert "HTTP 529 overloaded_error" in caught.value.what


def test_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that does not answer in time is unavailable, not a hang."""
    with MessagesServer(Reply(200, {}, delay_s=1.0)) as server, pytest.raises(ModelUnavailable, match="timed out"):
        ask(monkeypatch, server, attempts=1, timeout_s=0.1)


def test_says_that_the_key_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any credentials the sentence names the variable."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(ConfigError, match="no key") as caught:
        Client(1.0).ask(REQUEST)
    assert "ANTHROPIC_API_KEY" in caught.value.advice


def test_asks_without_blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The async form gives the same answer and retries too."""
    declined = message([tool_use("decline_task", {"why": "no"})])
    with MessagesServer(error(429, "rate_limit_error", retry_after="0"), declined) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        answer = asyncio.run(Client(10.0, Retrying(3, 0.01)).ask_async(REQUEST))
    assert answer.tool == "decline_task"
    assert answer.retries == 1


def test_model_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line names the model, else the environment, else there is a default."""
    assert chosen_model("given") == "given"
    monkeypatch.setenv("ANTHROPIC_MODEL", "from-env")
    assert chosen_model(None) == "from-env"
    monkeypatch.delenv("ANTHROPIC_MODEL")
    assert chosen_model(None).startswith("claude-")


def test_prompts_are_in_the_package() -> None:
    """The prompt files load from the installed package, and their digest names them."""
    assert "data" in prompt("system")
    assert len(prompts_sha256()) == 64
    assert Path(__file__).parents[2].joinpath("synth", "prompts", "system.md").read_text(encoding="utf-8") == prompt("system")

"""A server plays back bad, slow, truncated, refusing and odd answers: each ends in one way, every token is counted once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from completions_server import BOTH, CompletionsServer
from messages_server import MessagesServer, Reply, error, message, proposal, tool_use
from test_llm_generator import BINDINGS, EVIDENCE, PATTERN, failing, source

from synth.llm import Connection, ModelError, ModelGenerator, Settings

GOOD = proposal(source(), BINDINGS)
FIELDS: dict[str, Any] = {
    "name": "do_it", "description": "Does it.", "code": source("other"), "notes": "",
    "bindings": [{"task_id": t, "args": [{"name": k, "value": v} for k, v in args.items()]} for t, args in BINDINGS.items()],
}  # fmt: skip
STREAM = {"content-type": "text/event-stream"}
NOW = {"retry-after-ms": "1"}


def answer(**fields: Any) -> Reply:
    """A proposal with some fields replaced; None leaves one out."""
    chosen = {k: v for k, v in {**FIELDS, **fields}.items() if v is not None}
    return message([tool_use("propose_skill", chosen)])


def said(text: str, stop: str) -> Reply:
    return message([{"type": "text", "text": text}], stop)


def status(code: int, kind: str) -> Reply:
    return replace(error(code, kind), headers=NOW)


PASSING = {
    "408": status(408, "timeout_error"),
    "409": status(409, "conflict_error"),
    "429": status(429, "rate_limit_error"),
    "500": status(500, "api_error"),
    "502 with HTML": Reply(502, raw=b"<html>bad gateway</html>", headers={"content-type": "text/html", **NOW}),
    "503": status(503, "api_error"),
    "504": status(504, "timeout_error"),
    "529": status(529, "overloaded_error"),
    "no answer": Reply(cut=True),
    "HTML": Reply(raw=b"<html>sign in</html>", headers={"content-type": "text/html"}),
    "empty object": Reply(200, {}),
    "null": Reply(raw=b"null", headers={"content-type": "application/json"}),
    "empty stream": Reply(raw=b"", headers=STREAM),
    "half an event": Reply(raw=b'event: message_start\ndata: {"type": "mess', headers=STREAM),
    "event without a message": Reply(raw=b'event: message_start\ndata: {"type": "message_start"}\n\n', headers=STREAM),
    "events before the start": Reply(raw=b'event: message_stop\ndata: {"type": "message_stop"}\n\n', headers=STREAM),
    "bytes": Reply(raw=bytes(range(256)), headers=STREAM),
    "error within": Reply(
        raw=b'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "oh"}}\n\n', headers=STREAM
    ),
    **{f"cut after {n} events": replace(GOOD, cut_after=n) for n in (1, 2, 3)},
    "silent in the middle": replace(GOOD, pause_s=0.4),
}
"""What passes by asking again."""

OWN: dict[type[MessagesServer], dict[str, Reply]] = {
    MessagesServer: {
        **{f"cut after {n} events": replace(GOOD, cut_after=n) for n in (4, 5)},
        "half a character": answer(code="x = '\ud800'"),
    },
    CompletionsServer: {
        "chunk that is null": Reply(raw=b"data: null\n\n", headers=STREAM),
        "chunk of other fields": Reply(raw=b'data: {"choices": 3}\n\n', headers=STREAM),
        "only the end mark": Reply(raw=b"data: [DONE]\n\n", headers=STREAM),
        "error in a chunk": Reply(raw=b'data: {"error": {"message": "oh", "type": "server_error"}}\n\n', headers=STREAM),
    },
}
"""What passes too, and can only come from a service of that kind."""
ALL_PASSING = pytest.mark.parametrize(
    ("speaks", "reply"),
    [
        pytest.param(speaks, reply, id=f"{speaks.client.name}-{name}")
        for speaks, own in OWN.items() for name, reply in {**PASSING, **own}.items()
    ],
)  # fmt: skip

FINAL = {code: status(code, kind) for code, kind in (
    (400, "invalid_request_error"), (401, "authentication_error"), (402, "billing_error"), (403, "permission_error"),
    (404, "not_found_error"), (413, "request_too_large"), (422, "invalid_request_error"),
)}  # fmt: skip
"""What does not."""


@dataclass(frozen=True)
class Ends:
    """How a scenario ends: the candidates that come out of it, why there are no more, and the requests that it takes."""

    script: tuple[Reply, ...]
    candidates: int
    why: str
    requests: int
    settings: tuple[tuple[str, Any], ...] = ()


ANSWERS = {
    "text alone, then good": Ends((said("Here it is", "end_turn"), GOOD), 1, "", 2),
    "text alone": Ends((said("Here it is", "end_turn"),), 0, "expected one tool call, got 0", 2),
    "nothing": Ends((message([], "end_turn"),), 0, "expected one tool call, got 0", 2),
    "a stop sequence": Ends((said("x", "stop_sequence"),), 0, "expected one tool call", 2),
    "paused": Ends((said("x", "pause_turn"),), 0, "stopped before it was finished", 2),
    "a reason of the future": Ends((said("x", "tired"),), 0, "expected one tool call", 2),
    **{
        f"without {name}": Ends((answer(**{name: None}),), 0, f"{name}: Field required", 2)
        for name in ("name", "description", "code", "bindings")
    },
    "without notes": Ends((answer(notes=None),), 1, "", 1),
    "a surplus field": Ends((answer(verdict="PASS"),), 1, "", 1),
    "a number as name": Ends((answer(name=3),), 0, "name: ", 2),
    "a list as code": Ends((answer(code=["x"]),), 0, "code: ", 2),
    "no code": Ends((answer(code=""),), 0, "code: ", 2),
    "1 MB of code": Ends((answer(code="x = 1\n" * 170_000),), 0, "code: ", 2),
    "1 MB of notes": Ends((answer(notes="x" * 1_000_000),), 0, "notes: ", 2),
    "bindings as text": Ends((answer(bindings="all"),), 0, "bindings: ", 2),
    "arguments as text": Ends((answer(bindings=[{"task_id": "a", "args": "b"}]),), 0, "bindings.0.args: ", 2),
    "arguments as an object": Ends((answer(bindings=[{"task_id": "rename-00", "args": {"a": 1}}]),), 1, "", 1),
    "an argument twice": Ends((answer(bindings=[{"task_id": "a", "args": [{"name": "x", "value": 1}] * 2}]),), 0, "twice", 2),
    "an argument without a name": Ends(
        (answer(bindings=[{"task_id": "a", "args": [{"value": 1}]}]),), 0, "a name and a value", 2
    ),
    "no such task": Ends((answer(bindings=[{"task_id": "never shown", "args": []}]),), 1, "", 1),
    "code that is no Python": Ends((answer(code="def ("),), 1, "", 1),
    "a name that is a path": Ends((answer(name="../../etc/passwd", code="x = 1"),), 1, "", 1),
    "NUL in the code": Ends((answer(code="x = '\0'"),), 1, "", 1),
    "another tool": Ends((message([tool_use("bash", {"command": "id"})]),), 0, "there is no tool 'bash'", 2),
    "two calls": Ends((message([tool_use("propose_skill", FIELDS), tool_use("decline_task", {"why": "x"})]),), 0, "got 2", 2),
    "declined": Ends((message([tool_use("decline_task", {"why": "it must grow"})]),), 0, "declined the task: it must grow", 1),
    "declined without a reason": Ends((message([tool_use("decline_task", {})]),), 0, "why: Field required", 2),
    "refused": Ends((said("I will not do this", "refusal"),), 0, "refused to answer: I will not do this", 1),
    "refused in silence": Ends((message([], "refusal"),), 0, "refused to answer. Look at the traces", 1),
    "cut off, then good": Ends((said("def", "max_tokens"), GOOD), 1, "", 2),
    "cut off again and again": Ends((said("def", "max_tokens"),), 0, "--llm-max-output", 2),
    "a call that is cut off": Ends((message([tool_use("propose_skill", {"name": "x"})], "max_tokens"), GOOD), 1, "", 2),
    "too much for the model": Ends((message([], "model_context_window_exceeded"),), 0, "do not fit into the model's context", 1),
    "the same code again": Ends((GOOD,), 1, "the same code again", 2, (("rounds", 3),)),
    "wrong in the same way": Ends(
        tuple(proposal(source(f"try_{n}"), BINDINGS) for n in range(9)), 3, "made no progress", 3, (("rounds", 8),)
    ),
    "a budget of 0 tokens": Ends((GOOD,), 0, "budget of 0 tokens a pattern", 0, (("max_tokens", 0),)),
    "a budget of 0 USD": Ends((GOOD,), 0, "budget of 0 USD a pattern", 0, (("max_cost_usd", 0.0),)),
    "a run's budget of 0": Ends((GOOD,), 0, "budget of 0 USD a run", 0, (("max_run_cost_usd", 0.0),)),
}


@pytest.fixture(autouse=True)
def _service(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", "test-key")
        monkeypatch.setenv(f"{name}_MODEL", "claude-sonnet-5-5")
        monkeypatch.setattr(f"{name.lower()}._base_client.INITIAL_RETRY_DELAY", 0.01)


def run(server: MessagesServer, folder: Path, **settings: Any) -> tuple[ModelGenerator, int, str]:
    """A search in which every candidate is refused: the generator, the number of candidates, and how it ended."""
    given = {"candidates": 1, "rounds": 0, "cache": folder, **settings}
    made = ModelGenerator(Settings(**given), server.client(Connection(server.url, 0.3, 1, 1), lambda seconds: None))
    count = 0
    try:
        for candidate in made.generate(PATTERN, EVIDENCE):
            count += 1
            made.rejected(candidate, failing(candidate, "wrong"))
    except ModelError as e:
        return made, count, e.diagnostics()
    return made, count, made.why_none()


def paid(server: MessagesServer, *script: Reply) -> int:
    """Input tokens that the server counted, of every message that it began to send; the most that they can be, where it broke off
    before it counted."""
    played = [*script, *[script[-1]] * len(server.requests)][: len(server.requests)]
    begun = [n for n, reply in enumerate(played) if (reply.body or {}).get("type") == "message"]
    return sum(server.uncounted(n) if played[n].cut_after or played[n].pause_s else 1000 for n in begun)


@ALL_PASSING
def test_what_passes_is_asked_again(tmp_path: Path, speaks: type[MessagesServer], reply: Reply) -> None:
    """One more request, and the good answer counts; every token that the service counted is in the usage."""
    script = (reply, GOOD)
    with speaks(*script) as server:
        made, count, _ = run(server, tmp_path)
    assert (count, len(server.requests)) == (1, 2)
    assert made.take_usage().input_tokens == paid(server, *script)


@ALL_PASSING
def test_what_does_not_pass_ends_with_its_cause(tmp_path: Path, speaks: type[MessagesServer], reply: Reply) -> None:
    """After the retries: one sentence with what to do, the tokens, and nothing kept as if it were an answer."""
    with speaks(reply) as server:
        made, count, why = run(server, tmp_path)
        assert (count, len(server.requests)) == (0, 2)
        assert made.take_usage().input_tokens == paid(server, reply)
        assert why.startswith("the model's service gave no answer: ")
        assert "answers so far are kept" in why
        assert "\n" not in why
        assert list(tmp_path.rglob("*.json")) == []


@BOTH
@pytest.mark.parametrize("code", FINAL)
def test_what_is_final_is_asked_once(tmp_path: Path, speaks: type[MessagesServer], code: int) -> None:
    """The service's own words and what to do, after one request."""
    with speaks(FINAL[code]) as server:
        made, count, why = run(server, tmp_path)
    assert (count, len(server.requests), made.take_usage().tokens) == (0, 1, 0)
    assert why.startswith(f"the model's service refused the request: HTTP {code} ")
    assert ": scripted. " in why


@BOTH
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_ends_in_one_way(tmp_path: Path, speaks: type[MessagesServer], name: str) -> None:
    """So many candidates, so many requests, this reason; and the same again from what was kept, without any request."""
    ends = ANSWERS[name]
    with speaks(*ends.script) as server:
        made, count, why = run(server, tmp_path, **dict(ends.settings))
        usage = made.take_usage()
        assert (count, len(server.requests)) == (ends.candidates, ends.requests)
        assert ends.why in why
        if usage.malformed == 2:
            assert why.startswith("the model's answers could not be used: ")
            assert why.endswith(". Choose another one with --model")
        assert usage.input_tokens == paid(server, *ends.script) if ends.requests else usage.tokens == 0
        again, same, whys = run(server, tmp_path, **dict(ends.settings))
        assert (same, whys) == (count, why)
        assert len(server.requests) == ends.requests
        assert (again.take_usage().tokens, made.take_usage().tokens) == (0, 0)


def test_there_are_enough_scenarios() -> None:
    """At least sixty, as the bar has it."""
    assert 2 * len(PASSING) + len(FINAL) + len(ANSWERS) >= 60

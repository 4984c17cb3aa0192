"""First proposals of many patterns at once: side by side or as a batch, within the run's budget, each paid for once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from messages_server import MessagesServer, error, proposal
from test_llm_generator import BINDINGS, EVIDENCE, PATTERN, source

from synth.interface import TracePattern
from synth.llm import Connection, MessagesClient, ModelGenerator, ModelRejected, Settings
from synth.llm.ahead import PENDING
from synth.llm.exchange import Request
from verifiers.interface import Evidence

GOOD = proposal(source(), BINDINGS)


@pytest.fixture(autouse=True)
def _service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    monkeypatch.setenv("ANTHROPIC_MODEL", "claude-sonnet-5-5")


def generator(server: MessagesServer, folder: Path | None, **settings: Any) -> ModelGenerator:
    given = {"candidates": 1, "rounds": 0, "cache": folder, **settings}
    return ModelGenerator(Settings(**given), MessagesClient(Connection(server.url, 10.0, 0, 0), lambda seconds: None))


def patterns(count: int) -> list[tuple[TracePattern, tuple[Evidence, ...]]]:
    """Patterns that differ in their requests."""
    return [(PATTERN, tuple(replace(e, description=f"{e.description} ({n})") for e in EVIDENCE)) for n in range(count)]


@pytest.mark.parametrize("batch", [False, True], ids=["side by side", "batch"])
def test_what_was_asked_ahead_is_on_the_patterns_bill(tmp_path: Path, batch: bool) -> None:
    """Each pattern then finds its answer and pays for it once: a batch at half the price."""
    with MessagesServer(GOOD) as server:
        made = generator(server, tmp_path)
        assert made.ahead(patterns(5), 3, batch) == 5
        for pattern, evidence in patterns(5):
            assert len(list(made.generate(pattern, evidence))) == 1
            usage = made.take_usage()
            assert (usage.requests, usage.reused, usage.input_tokens) == (1, 0, 1000)
            assert usage.cost_usd == pytest.approx(0.004 * (0.5 if batch else 1.0))
        assert len(server.requests) == 5
        assert {r["path"] for r in server.requests} == {"batch" if batch else "/v1/messages"}


def test_what_was_asked_ahead_in_vain_is_on_the_last_bill(tmp_path: Path) -> None:
    """A run that ends before its patterns do has paid for them all the same; no later bill has it again."""
    with MessagesServer(GOOD) as server:
        made = generator(server, tmp_path)
        assert made.ahead(patterns(3), 3, False) == 3
        assert len(list(made.generate(*patterns(1)[0]))) == 1
        assert made.take_usage(last=True).requests == 3
        assert made.take_usage(last=True).requests == 0


@pytest.fixture
def hears_interrupts() -> Iterator[None]:
    """A job that a shell put into the background ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_interrupts")
def test_answers_under_way_at_an_interrupt_are_kept(tmp_path: Path) -> None:
    """Ctrl-C while four are asked side by side: all are on the bill, and the next run asks for none of them again."""

    def interrupt() -> None:
        while len(server.requests) < 4:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with MessagesServer(replace(GOOD, delay_s=2.0)) as server:
        made = generator(server, tmp_path)
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            made.ahead(patterns(6), 4, False)
        assert len(server.requests) == made.take_usage(last=True).requests == 4
        assert generator(server, tmp_path).ahead(patterns(6), 4, False) == 2
        assert len(server.requests) == 6


def test_an_interrupt_while_they_are_handed_out_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were asked by then are on the bill and kept."""
    with MessagesServer(GOOD) as server:
        made = generator(server, tmp_path)

        def interrupted(requests: Sequence[Request]) -> Iterator[Request]:
            yield from requests[:3]
            raise KeyboardInterrupt

        monkeypatch.setattr(made._asker, "affordable", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.ahead(patterns(6), 3, False)
        asked = len(server.requests)
        assert made.take_usage(last=True).requests == asked
        assert generator(server, tmp_path).ahead(patterns(6), 4, False) == 6 - asked
        assert len(server.requests) == 6


def test_a_request_under_way_counts_when_it_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service was asked, and bills what it was sent."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with MessagesServer(GOOD) as server:
        made = generator(server, tmp_path)
        monkeypatch.setattr(made._asker.client, "ask", interrupt)
        with pytest.raises(KeyboardInterrupt):
            next(made.generate(*patterns(1)[0]))
    usage = made.take_usage(last=True)
    assert usage.requests == 1
    assert usage.input_tokens > 1000
    assert usage.events == ("lost: interrupted; of its cost, what was sent is counted, by an estimate",)


def test_side_by_side_is_faster(tmp_path: Path) -> None:
    """All four requests are there before the first is answered."""
    with MessagesServer(replace(GOOD, delay_s=2.0)) as server:
        assert generator(server, tmp_path).ahead(patterns(4), 4, False) == 4
        assert max(server.times) - min(server.times) < 2.0


@pytest.mark.parametrize("batch", [False, True], ids=["side by side", "batch"])
def test_the_runs_budget_bounds_what_is_asked_ahead(tmp_path: Path, batch: bool) -> None:
    """All together must fit at their dearest; the others are asked in their turn, if there is room then."""
    with MessagesServer(GOOD) as server:
        assert generator(server, tmp_path, max_run_tokens=11_000, max_output_tokens=4_000).ahead(patterns(5), 3, batch) == 2
        assert len(server.requests) == 2


@pytest.mark.parametrize("batch", [False, True], ids=["side by side", "batch"])
def test_what_fails_is_asked_in_its_turn(tmp_path: Path, batch: bool) -> None:
    """One error costs the others nothing. What it was is known before it is asked for again, and in the pattern's report."""
    with MessagesServer(error(400, "invalid_request_error"), GOOD) as server:
        made = generator(server, tmp_path)
        assert made.ahead(patterns(2), 1, batch) == 1
        (why,) = made.lost_ahead
        assert "invalid_request_error: scripted" in why
        found = []
        for pattern, evidence in patterns(2):
            found.append(len(list(made.generate(pattern, evidence))))
            events = made.take_usage().events
            assert events == (() if len(found) > 1 else (f"lost: {why}",))
    assert found == [1, 1]
    assert len(server.requests) == 3
    assert made.lost_ahead == ()


@pytest.mark.parametrize("result", [{"type": "expired"}, {"type": "canceled"}, None])
def test_a_batch_may_lack_an_answer(tmp_path: Path, result: dict[str, str] | None) -> None:
    """It ran out of its day, was cancelled elsewhere, or has no such line: said, never passed over."""
    with MessagesServer(GOOD) as server:
        server.polls_until_ended = 10**6

        def changed(seconds: float) -> None:
            (rows,) = server.batches.values()
            rows[:1] = [rows[0] | {"result": result}] if result is not None else []
            server.polls_until_ended = 0

        made = generator(server, tmp_path)
        made._asker.client.sleep = changed  # type: ignore[attr-defined]
        assert made.ahead(patterns(3), 1, True) == 2
    (why,) = made.lost_ahead
    assert why == (f"the batch has no answer to it: {result['type']}" if result is not None else "the batch has no result of it")


def test_what_broke_off_ahead_is_on_the_bill(tmp_path: Path) -> None:
    """The service counts what it began to send, also where no pattern comes to ask again."""
    with MessagesServer(replace(GOOD, cut_after=3)) as server:
        made = generator(server, tmp_path)
        assert made.ahead(patterns(2), 2, False) == 0
        usage = made.take_usage(last=True)
    assert (usage.requests, usage.input_tokens) == (2, 2000)
    assert usage.events == ("lost: the model's service gave no answer: the answer broke off",) * 2


def test_nothing_is_asked_ahead_without_a_place_to_keep_it() -> None:
    """An answer that is not kept would be paid for twice."""
    with MessagesServer(GOOD) as server:
        assert generator(server, None).ahead(patterns(2), 2, False) == 0
    assert server.requests == []


def test_a_pending_batch_is_collected_not_handed_in_again(tmp_path: Path) -> None:
    """A run that was killed while it waited has paid: the next one fetches the answers."""
    with MessagesServer(GOOD) as server:
        server.polls_until_ended = 10**6

        def killed(seconds: float) -> None:
            raise KeyboardInterrupt

        made = generator(server, tmp_path)
        made._asker.client.sleep = killed  # type: ignore[attr-defined]
        with pytest.raises(KeyboardInterrupt):
            made.ahead(patterns(3), 1, True)
        assert (tmp_path / PENDING).is_file()
        server.polls_until_ended = 2
        assert generator(server, tmp_path).ahead(patterns(3), 1, True) == 3
        assert len(server.requests) == len(server.batches["msgbatch_0"]) == 3
        assert list(server.batches) == ["msgbatch_0"]
    assert not (tmp_path / PENDING).exists()


def test_a_batch_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    """After its day the service does not have it: said once, then the requests are made anew."""
    (tmp_path / PENDING).write_text(json.dumps({"id": "msgbatch_9", "requests": []}), encoding="utf-8")
    with MessagesServer(GOOD) as server:
        with pytest.raises(ModelRejected, match="404"):
            generator(server, tmp_path).ahead(patterns(2), 1, True)
        assert generator(server, tmp_path).ahead(patterns(2), 1, True) == 2


KILLED = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_llm_generator import EVIDENCE, PATTERN, failing
from synth.llm import ModelGenerator, MessagesClient, Connection, Settings
made = ModelGenerator(Settings(candidates=4, rounds=0, cache=Path({folder!r})), MessagesClient(Connection({url!r}, 10.0, 0, 0)))
for candidate in made.generate(PATTERN, EVIDENCE):
    made.rejected(candidate, failing(candidate, "wrong"))
print(made.take_usage().requests, made.why_none())
"""


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """``kill -9`` at four points: at most the answer that was under way is asked for again."""
    script = [replace(proposal(source(f"try_{n}"), BINDINGS), delay_s=0.3) for n in range(9)]
    with MessagesServer(*script) as server:
        code = KILLED.format(path=sys.path, folder=str(tmp_path), url=server.url)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        for killed in range(1, 4):
            process = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.DEVNULL)
            while len(list(tmp_path.glob("*.json"))) < killed and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
        asked = len(server.requests)
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 4 proposals did not pass") or done.stdout.startswith("0 4 proposals did not pass")
    assert asked <= 3 + 3
    sent = [r["body"]["messages"][0]["content"][1]["text"] for r in server.requests]
    assert len(sent) - len(set(sent)) <= 3

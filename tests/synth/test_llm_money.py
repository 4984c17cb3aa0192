"""What a model may cost: budgets a pattern and a run, answers that are never paid for twice, tasks that are not asked again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from completions_server import BOTH
from hypothesis import given
from hypothesis import strategies as st
from messages_server import MessagesServer, error, message, proposal, tool_use
from test_llm_generator import BINDINGS, EVIDENCE, PATTERN, drive, source

from synth.llm import BudgetSpent, Connection, ModelGenerator, ModelUnavailable, Settings
from synth.llm.budget import PRICES, Budget, Price, price_of
from synth.tracing.traces import to_evidence
from synth.usage import Usage, total
from verifiers.interface import Evidence

GOOD = proposal(source(), BINDINGS)


@pytest.fixture(autouse=True)
def _service(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", "test-key")
        monkeypatch.setenv(f"{name}_MODEL", "claude-sonnet-5-5")


def generator(server: MessagesServer, **settings: Any) -> ModelGenerator:
    given = {"candidates": 1, "rounds": 0, **settings}
    return ModelGenerator(Settings(**given), server.client(Connection(server.url, 10.0, 0, 0), lambda seconds: None))


def more(count: int) -> tuple[Evidence, ...]:
    """The evidence with copies of one trace under new names."""
    return (*EVIDENCE, *(replace(EVIDENCE[0], task_id=f"more-{n}") for n in range(count)))


# ---------------------------------------------------------------- budgets


def test_token_budget_ends_the_search() -> None:
    """No request is sent that could go over; why says what was spent, what is needed and what raises it."""
    with MessagesServer(*(proposal(source(f"try_{n}"), BINDINGS) for n in range(9))) as server:
        made = generator(server, candidates=9, max_tokens=8_500)
        drive(made, "wrong")
    usage = made.take_usage()
    assert "budget of 8500 tokens a pattern has no room" in made.why_none()
    assert "3600 spent" in made.why_none()
    assert "--llm-max-tokens" in made.why_none()
    assert (usage.requests, len(server.requests), usage.tokens) == (3, 3, 3600)


def test_an_answer_gets_no_more_than_what_is_left() -> None:
    """The limit of an answer shrinks with the budget; the service's own count of the input is what counts."""
    with MessagesServer(GOOD) as server:
        list(generator(server, max_tokens=9_000).generate(PATTERN, EVIDENCE))
    assert server.counted == 1
    assert server.requests[0]["body"]["max_tokens"] == 8_000


@BOTH
@pytest.mark.parametrize("limit", [{"max_cost_usd": 0.0}, {"max_cost_usd": 0.01}, {"max_tokens": 0}, {"max_run_cost_usd": 0.0}])
def test_a_budget_that_is_too_small_asks_nothing(speaks: type[MessagesServer], limit: dict[str, Any]) -> None:
    """Not one request is sent; the sentence names the budget and its option."""
    with speaks(GOOD) as server:
        made = generator(server, **limit)
        assert list(made.generate(PATTERN, EVIDENCE)) == []
    assert (server.requests, server.counted) == ([], 0)
    assert "has no room for another request (0" in made.why_none()
    assert "Raise it with --llm-max" in made.why_none()


def test_the_runs_budget_holds_over_patterns() -> None:
    """What one pattern spent is missing for the next one; the pattern's own count starts anew."""
    with MessagesServer(GOOD) as server:
        made = generator(server, max_run_tokens=6_000)
        assert len(list(made.generate(PATTERN, EVIDENCE))) == 1
        assert made.take_usage().requests == 1
        assert list(made.generate(PATTERN, more(1))) == []
    assert "budget of 6000 tokens a run" in made.why_none()
    assert "--llm-max-run-tokens" in made.why_none()
    assert made.take_usage().requests == 0


@BOTH
def test_a_model_without_a_price_is_bounded_by_tokens_alone(speaks: type[MessagesServer]) -> None:
    """An unknown price stops nothing and is reported as unknown; a configured one counts."""
    with speaks(GOOD) as server:
        made = generator(server, model="llama", max_cost_usd=0.0)
        assert len(list(made.generate(PATTERN, EVIDENCE))) == 1
        assert made.take_usage().cost_usd is None
        priced = generator(server, model="llama-7b", prices={"llama": Price(1.0, 1.0, 0.0, 1.0)})
        list(priced.generate(PATTERN, EVIDENCE))
        assert priced.take_usage().cost_usd == pytest.approx(0.0012)


@given(st.integers(0, 10**6), st.integers(0, 10**5), st.integers(1, 10**5), st.integers(0, 10**6), st.floats(0, 5))
def test_a_budget_never_lets_more_through(spent: int, sent: int, output: int, tokens: int, money: float) -> None:
    """What is allowed fits at its dearest."""
    price = PRICES["claude-sonnet-5-5"]
    limit = Budget(price, tokens, money)
    limit.count(Usage(input_tokens=spent))
    try:
        room = limit.room(sent, output)
    except BudgetSpent:
        return
    assert 0 < room <= output
    assert spent + sent + room <= tokens
    assert price.cost(Usage(spent, room, cache_write_tokens=sent)) <= money + 1e-9


def test_price_goes_by_the_longest_prefix() -> None:
    """A dated model name has its family's price; an unknown one has none."""
    assert price_of("claude-sonnet-5-5-20261001") == Price(2.0, 10.0, 0.10, 2.5)
    assert price_of("another-model") is None


def test_usages_add_up() -> None:
    """All kinds of tokens together; one unknown price makes the sum unknown."""
    both = total([Usage(1, 2, 3, 4, 1, 0.5, 6, model="a"), Usage(10, reused=2, cost_usd=0.25, model="b")])
    assert both == Usage(11, 2, 3, 4, 1, 0.75, 6, 2, model="a, b")
    assert total([Usage(), Usage(cost_usd=None)]).cost_usd is None


# ---------------------------------------------------------------- nothing is paid for twice


@BOTH
def test_an_answer_is_paid_for_once(speaks: type[MessagesServer], tmp_path: Path) -> None:
    """A run that was ended at any point goes on from the answers that it had: same candidates, no further request for them."""
    script = [proposal(source(f"try_{n}"), BINDINGS) for n in range(3)]
    with speaks(*script) as server:
        first = generator(server, rounds=2, cache=tmp_path).generate(PATTERN, EVIDENCE)
        begun = next(first).source  # and then the process is killed
        made = generator(server, rounds=2, cache=tmp_path)
        found = [c.source for c in drive(made, "wrong", "other", "third")]
    assert found[0] == begun
    assert len(server.requests) == len(found) == 3
    usage = made.take_usage()
    assert (usage.requests, usage.reused, usage.input_tokens) == (2, 1, 2000)


def test_half_a_file_is_no_answer(tmp_path: Path) -> None:
    """What a crash left of a file is asked for again, and replaced."""
    with MessagesServer(GOOD) as server:
        list(generator(server, cache=tmp_path).generate(PATTERN, EVIDENCE))
        kept = next(tmp_path.glob("*.json"))
        whole = kept.read_bytes()
        kept.write_bytes(whole[:100])
        list(generator(server, cache=tmp_path).generate(PATTERN, EVIDENCE))
        assert kept.read_bytes() == whole
    assert len(server.requests) == 2


@BOTH
def test_an_error_is_no_answer(speaks: type[MessagesServer], tmp_path: Path) -> None:
    """What the service could not say once is asked again the next time; recorded errors too."""
    with speaks(error(500, "api_error", x_should_retry="false"), GOOD) as server:
        for where in ({"record": tmp_path}, {"record": tmp_path}):
            made = generator(server, **where)
            try:
                found = list(made.generate(PATTERN, EVIDENCE))
            except ModelUnavailable:
                found = []
    assert len(found) == 1


@BOTH
def test_a_cut_answer_counts_only_without_more_room(speaks: type[MessagesServer], tmp_path: Path) -> None:
    """A larger limit is a reason to ask again; the same one is none."""
    cut = message([{"type": "text", "text": "x"}], "max_tokens")
    with speaks(cut) as server:
        for limit, requests in ((1000, 2), (1000, 2), (5000, 4)):
            list(generator(server, cache=tmp_path, max_output_tokens=limit).generate(PATTERN, EVIDENCE))
            assert len(server.requests) == requests


# ---------------------------------------------------------------- what was refused is not asked again


def refuse(server: MessagesServer, folder: Path, evidence: tuple[Evidence, ...], **settings: Any) -> ModelGenerator:
    made = generator(server, cache=folder, **settings)
    drive(made, "wrong", evidence=evidence)
    return made


def test_a_refused_task_is_not_asked_again_for_each_trace(tmp_path: Path) -> None:
    """Not for one more trace, but for twice as many; and then from there on."""
    with MessagesServer(*(proposal(source(f"try_{n}"), BINDINGS) for n in range(9))) as server:
        refuse(server, tmp_path, EVIDENCE)
        again = refuse(server, tmp_path, more(1))
        assert "no skill passed for 3 of these traces" in again.why_none()
        assert "from 6 traces" in again.why_none()
        refuse(server, tmp_path, more(2))
        assert len(server.requests) == 1
        refuse(server, tmp_path, more(3))
        refuse(server, tmp_path, more(5))
        assert len(server.requests) == 2


def test_a_refused_task_is_asked_again_when_something_changed(tmp_path: Path) -> None:
    """Another model or other settings are worth another try; so are other traces."""
    with MessagesServer(*(proposal(source(f"try_{n}"), BINDINGS) for n in range(9))) as server:
        refuse(server, tmp_path, EVIDENCE)
        refuse(server, tmp_path, more(1), model="another")
        refuse(server, tmp_path, more(1), effort="high")
        refuse(server, tmp_path, tuple(replace(e, task_id=f"x-{e.task_id}") for e in more(1)))
    assert len(server.requests) == 4


def test_a_declined_task_is_remembered_with_its_reason(tmp_path: Path) -> None:
    """The model's reason is what the next trace is told."""
    with MessagesServer(message([tool_use("decline_task", {"why": "a counter must grow"})])) as server:
        refuse(server, tmp_path, EVIDENCE)
        assert "a counter must grow" in refuse(server, tmp_path, more(1)).why_none()
    assert len(server.requests) == 1


@BOTH
def test_a_lost_service_or_a_spent_budget_is_no_refusal(speaks: type[MessagesServer], tmp_path: Path) -> None:
    """Only a task that no skill passed for is remembered."""
    with speaks(error(500, "api_error"), GOOD) as server:
        with pytest.raises(ModelUnavailable):
            refuse(server, tmp_path, EVIDENCE)
        refuse(server, tmp_path, EVIDENCE, max_tokens=0)
        assert not (tmp_path / "refused").exists()
        refuse(server, tmp_path, more(1))
    assert len(server.requests) == 2
    assert to_evidence(PATTERN.traces[0]).task_id in next((tmp_path / "refused").iterdir()).read_text(encoding="utf-8")


def test_candidates_that_nobody_judged_are_no_refusal(tmp_path: Path) -> None:
    """``assay synth`` only shows them."""
    with MessagesServer(GOOD) as server:
        assert len(list(generator(server, cache=tmp_path).generate(PATTERN, EVIDENCE))) == 1
        assert len(list(generator(server, cache=tmp_path).generate(PATTERN, more(1)))) == 1
    assert not (tmp_path / "refused").exists()

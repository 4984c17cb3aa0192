"""Which traces are held out: never too many, never a copy of a shown one, always the same."""

from __future__ import annotations

from dataclasses import replace

from factories import trace
from hypothesis import given
from hypothesis import strategies as st

from synth.crystallization.holdout import LEAST_FOR_HOLD_OUT, LEAST_SEEN, case_key, distinct, split
from synth.tracing.traces import to_evidence
from verifiers.interface import Evidence

BASE = to_evidence(trace(0))


def case(number: int, copy: int = 0) -> Evidence:
    return replace(BASE, task_id=f"t{number}-{copy}", commands=(f"echo {number}",))


cases = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), unique=True, max_size=14).map(
    lambda pairs: [case(n, c) for n, c in pairs]
)


@given(cases, st.integers(0, 5), st.integers(0, 3))
def test_split_keeps_everything_once(evidence: list[Evidence], hold_out: int, seed: int) -> None:
    """Shown and held out together are all traces; a case is on one side with all its copies."""
    parts = split(evidence, hold_out, seed)
    assert sorted(e.task_id for e in (*parts.seen, *parts.held_out)) == sorted(e.task_id for e in evidence)
    assert not {case_key(e) for e in parts.seen} & {case_key(e) for e in parts.held_out}
    assert distinct(parts.held_out) <= hold_out


@given(cases, st.integers(1, 5), st.integers(0, 3))
def test_split_leaves_enough_to_learn_from(evidence: list[Evidence], hold_out: int, seed: int) -> None:
    """With fewer than four cases nothing is held out; else at least three stay and at least one goes."""
    parts = split(evidence, hold_out, seed)
    if distinct(evidence) < LEAST_FOR_HOLD_OUT:
        assert not parts.held_out
    else:
        assert distinct(parts.seen) >= LEAST_SEEN
        assert distinct(parts.held_out) >= 1


@given(cases, st.integers(0, 3))
def test_split_does_not_depend_on_order(evidence: list[Evidence], seed: int) -> None:
    """The same traces in another order give the same hold-out."""
    turned = list(reversed(evidence))
    assert {e.task_id for e in split(evidence, 2, seed).held_out} == {e.task_id for e in split(turned, 2, seed).held_out}

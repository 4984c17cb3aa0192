"""The score: worked examples, the shape of the formula, and that anybody can recompute it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.score import ScoreInputs, Trial, beta_cdf, explain, lower_bound, recompute, score

counts = st.integers(0, 12)
fractions = st.floats(0.0, 1.0)


def trials(count: int, unseen: bool = True, reconstructed: bool = False) -> tuple[Trial, ...]:
    return tuple(Trial(f"t{i:02}", unseen, reconstructed) for i in range(count))


@st.composite
def any_inputs(draw: st.DrawFn) -> ScoreInputs:
    rows = tuple(Trial(f"t{i}", draw(st.booleans()), draw(st.booleans())) for i in range(draw(counts)))
    return ScoreInputs(
        rows, draw(st.integers(0, 1000)), draw(fractions), draw(st.booleans()), draw(st.booleans()), draw(st.integers(0, 5)),
        draw(st.sampled_from([(), ("dict",), ("a", "b")])),
    )  # fmt: skip


def value_of(inputs: ScoreInputs) -> float:
    result = score(inputs)
    assert result is not None
    return result.value


@pytest.mark.parametrize(
    ("inputs", "n", "expected"),
    [
        (ScoreInputs(trials(3), 160, 0.85), 7.65, 0.676),
        (ScoreInputs(trials(3), 160, 0.85, fixed=("dict",)), 3.825, 0.457),
        (ScoreInputs(trials(3), 0, 0.85), 2.55, 0.309),
        (ScoreInputs(trials(5), 200, 0.85), 12.75, 0.791),
        (ScoreInputs(trials(12), 480, 0.85), 30.6, 0.907),
        (ScoreInputs(trials(3, unseen=False, reconstructed=True), 160, 0.85), 1.9125, 0.209),
    ],
)
def test_worked_examples(inputs: ScoreInputs, n: float, expected: float) -> None:
    """The figures of the specification come out."""
    result = score(inputs)
    assert result is not None
    assert result.inputs["N"] == pytest.approx(n)
    assert round(result.value, 3) == expected


def test_no_score_without_mutants() -> None:
    """Without mutants nothing says what the trials are worth."""
    assert score(ScoreInputs(trials(3), 160, None)) is None


def test_no_trials_give_zero() -> None:
    """No evidence: score 0, not an exception and not a default."""
    assert value_of(ScoreInputs((), 500, 1.0)) == 0.0
    assert value_of(ScoreInputs(trials(3), 500, 0.0)) == 0.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: ScoreInputs((Trial("a", True), Trial("a", False))),
        lambda: ScoreInputs((), -1),
        lambda: ScoreInputs((), 0, 1.5),
        lambda: ScoreInputs((), 0, 1.0, failures=-1),
    ],
)
def test_impossible_inputs_are_refused(make: object) -> None:
    """A trace that counts twice or a negative count never becomes a score."""
    with pytest.raises(ValueError):
        make()  # type: ignore[operator]  # a zero-argument callable


@given(any_inputs())
def test_bounded_by_what_the_trial_count_supports(inputs: ScoreInputs) -> None:
    """Never above the bound for three trials per distinct trace, whatever else was measured."""
    value = value_of(inputs)
    assert 0.0 <= value <= lower_bound(3.0 * len(inputs.trials)) <= 1.0


@given(any_inputs())
def test_estimate_is_a_probability_above_the_bound(inputs: ScoreInputs) -> None:
    """The estimate lies in (0, 1) and the bound is the more careful of the two."""
    result = score(inputs)
    assert result is not None
    assert 0.0 < result.estimate < 1.0
    assert result.value <= result.estimate


@given(any_inputs(), st.integers(1, 300))
def test_monotone_in_evidence(inputs: ScoreInputs, more: int) -> None:
    """More traces, more cases never lower the score."""
    longer = (*inputs.trials, Trial("one more", True))
    extra = replace(inputs, trials=longer, generated=inputs.generated + more)
    assert value_of(extra) >= value_of(inputs)


@given(any_inputs())
def test_monotone_in_faults(inputs: ScoreInputs) -> None:
    """A failure, torn writes, residue, a name that nothing varies or less adequacy never raise the score."""
    base = value_of(inputs)
    assert inputs.adequacy is not None
    worse = [
        replace(inputs, adequacy=inputs.adequacy / 2),
        replace(inputs, torn=True),
        replace(inputs, residue=True),
        replace(inputs, failures=inputs.failures + 1),
        replace(inputs, fixed=("dict",)),
        replace(inputs, trials=tuple(Trial(t.task_id, False, True) for t in inputs.trials)),
    ]
    assert all(value_of(w) <= base for w in worse)


@given(any_inputs())
def test_recomputable_from_the_report(inputs: ScoreInputs) -> None:
    """The inputs survive JSON and give the same score; the order of the traces does not matter."""
    first = score(inputs)
    assert first is not None
    assert recompute(json.loads(json.dumps(dict(first.inputs)))) == first
    shuffled = list(inputs.trials)
    random.Random(1).shuffle(shuffled)
    assert score(replace(inputs, trials=tuple(shuffled))) == first


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"formula": "assay-score/1", "traces": [], "generated": 0, "failures": 0, "fixed": []},
        {"formula": "assay-score/2", "traces": 3, "generated": 0, "failures": 0, "fixed": []},
        {"formula": "assay-score/2", "traces": [{}], "generated": 0, "failures": 0, "fixed": []},
        {"formula": "assay-score/2", "traces": [], "generated": 0, "failures": 0, "fixed": [], "adequacy": "high"},
        {"formula": "assay-score/2", "traces": [], "generated": 0, "failures": 0},
        {"formula": "assay-score/2", "traces": [], "generated": 0, "failures": 0, "fixed": [1]},
    ],
)
def test_recompute_refuses_foreign_inputs(bad: dict[str, object]) -> None:
    """Inputs of another formula are an error, not a score."""
    with pytest.raises(ValueError):
        recompute(bad)  # type: ignore[arg-type]  # wrong on purpose


@given(st.floats(0.01, 200.0), st.integers(0, 6))
def test_the_bound_is_the_quantile(n: float, failures: int) -> None:
    """Of the posterior's mass, 5 % lies below the bound."""
    bound = lower_bound(n, failures)
    if bound > 1e-9:
        assert beta_cdf(bound, n, failures) == pytest.approx(0.05, abs=1e-6)


def test_bound_against_published_values() -> None:
    """0.05 quantiles of Beta(5, 2), Beta(10, 3) and Beta(2.5, 4) (by an independent numerical integration)."""

    def mass(x: float, a: float, b: int, steps: int = 20000) -> float:
        xs = [(i + 0.5) / steps for i in range(steps)]
        density = [v ** (a - 1) * (1 - v) ** (b - 1) for v in xs]
        return sum(d for v, d in zip(xs, density, strict=True) if v <= x) / sum(density)

    for a, failures in ((5.0, 1), (10.0, 2), (2.5, 3)):
        assert mass(lower_bound(a, failures), a, 1 + failures) == pytest.approx(0.05, abs=1e-3)


def test_enough_evidence_reaches_any_value() -> None:
    """No ceiling below 1."""
    assert value_of(ScoreInputs(trials(400), 20000, 1.0)) > 0.99


def test_explain_names_every_part() -> None:
    """The parts people see are the parts that were used."""
    result = score(ScoreInputs(trials(3), 160, 0.85, torn=True, fixed=("a", "b", "c", "d", "e", "f")))
    assert result is not None
    parts = dict(explain(result.inputs))
    assert parts["R"].startswith("3 recorded trials")
    assert parts["N"].startswith("3.44")
    assert parts["V"].startswith("0.5")
    assert "a, b, c, d and 2 more" in parts["V"]
    assert list(parts) == ["R", "G", "A", "S", "V", "f", "N"]


def test_the_page_says_what_the_code_does() -> None:
    """Every row of the worked examples in docs/score.md comes out of the formula."""
    page = (Path(__file__).parent.parent.parent / "docs" / "score.md").read_text()
    rows = [line.strip("|").split("|") for line in page.partition("## Worked examples")[2].partition("##")[0].splitlines()]
    examples = [[cell.strip() for cell in row] for row in rows if len(row) == 8 and row[2].strip().isdigit()]
    assert len(examples) == 7
    for what, r, g, generated, adequacy, n, value, estimate in examples:
        reconstructed = "reconstructed" in what
        count = int(float(r) / (0.25 if reconstructed else 1.0))
        failures = 1 if "f = 1" in what else 0
        rows_of = trials(count, unseen=not reconstructed, reconstructed=reconstructed)
        rows_of += (Trial("seen", unseen=False),) if failures else ()  # the refit without it was wrong
        fixed = ("dict.txt",) if "`dict.txt`" in what else ()
        result = score(ScoreInputs(rows_of, int(g), float(adequacy), failures=failures, fixed=fixed))
        assert result is not None
        wanted = {"R": float(r), "G": float(generated), "N": pytest.approx(float(n), abs=0.005)}
        assert {key: result.inputs[key] for key in wanted} == wanted
        assert (round(result.value, 3), round(result.estimate, 3)) == (float(value), float(estimate))

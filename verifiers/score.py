"""The score (docs/semantics.md, "Score"): how sure one can be that the skill does the right thing next time, from measured trials
only.

Pure and recomputable: ``score(inputs)`` writes everything that it used into ``Score.inputs``, and ``recompute`` gives the
same score back from that. The derivation is in ``docs/score.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sandbox.interface import JsonValue
from verifiers.interface import Score

FORMULA = "assay-score/2"
CONFIDENCE = 0.95
"""One-sided. The score is the (1 - CONFIDENCE) quantile of the posterior."""
DISCOUNT_SEEN = 0.5
DISCOUNT_RECONSTRUCTED = 0.5
CASES_PER_TRIAL = 20
"""So many generated cases weigh as much as one recorded trace."""
MAX_GENERATED_PER_RECORDED = 2.0
"""Generated trials count for at most so many times the recorded ones: they are made from the same grammar."""
DISCOUNT_FIXED = 0.5
"""For a name that the skill has fixed and every trace shares: the trials say nothing of another name there."""
DISCOUNT_TORN = 0.9
DISCOUNT_RESIDUE = 0.95
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Trial:
    """One distinct, discriminating, passed trace."""

    task_id: str
    unseen: bool
    """Held out, refitted without it, or recorded after this code existed. False = seen or unknown."""
    reconstructed: bool = False

    @property
    def weight(self) -> float:
        """1, halved if seen or unknown, halved again if its base is reconstructed."""
        return (1.0 if self.unseen else DISCOUNT_SEEN) * (DISCOUNT_RECONSTRUCTED if self.reconstructed else 1.0)


@dataclass(frozen=True, slots=True)
class ScoreInputs:
    """What was measured."""

    trials: tuple[Trial, ...]
    generated: int = 0
    """Generated cases judged by the differential or the renaming oracle with a non-empty expected effect or answer."""
    adequacy: float | None = None
    """Killed fraction of the mutants, 0 to 1; None = mutants did not run, and then there is no score."""
    torn: bool = False
    """Torn writes do not converge."""
    residue: bool = False
    """A killed run leaves extra paths behind."""
    failures: int = 0
    """Leave-one-out failures."""
    fixed: tuple[str, ...] = ()
    """Names that the skill has fixed and no trace varies, see ``verifiers.binding.fixed``."""

    def __post_init__(self) -> None:
        if len({t.task_id for t in self.trials}) != len(self.trials):
            raise ValueError("a trace counts once: two trials have the same task_id")
        if self.generated < 0 or self.failures < 0:
            raise ValueError("counts cannot be negative")
        if self.adequacy is not None and not 0.0 <= self.adequacy <= 1.0:
            raise ValueError(f"adequacy {self.adequacy!r} is not a fraction")

    @property
    def recorded(self) -> float:
        """R: the weighted number of recorded trials."""
        return math.fsum(t.weight for t in self.trials)

    @property
    def generated_trials(self) -> float:
        """G: what the generated cases count for."""
        return min(self.generated / CASES_PER_TRIAL, MAX_GENERATED_PER_RECORDED * self.recorded)

    @property
    def convergence(self) -> float:
        """S: discount for torn writes and residue."""
        return (DISCOUNT_TORN if self.torn else 1.0) * (DISCOUNT_RESIDUE if self.residue else 1.0)

    @property
    def variety(self) -> float:
        """V: discount for names that nothing varied."""
        return DISCOUNT_FIXED if self.fixed else 1.0


def score(inputs: ScoreInputs) -> Score | None:
    """Returns the score of a skill that fully passed; None when mutants have not run (nothing says what the trials are worth)."""
    if inputs.adequacy is None:
        return None
    n = inputs.adequacy * inputs.convergence * inputs.variety * (inputs.recorded + inputs.generated_trials)
    # Rounded down: a rounded score must not claim more than the trials support.
    value = math.floor(lower_bound(n, inputs.failures) * 10**_DIGITS) / 10**_DIGITS
    estimate = round((n + 1) / (n + 2 + inputs.failures), _DIGITS)
    return Score(value, estimate, _as_json(inputs, n))


def lower_bound(n: float, failures: int = 0) -> float:
    """The 0.05 quantile of Beta(n, 1 + failures): the success rate that is exceeded with 95 % confidence. 0 for n = 0."""
    if n <= 0.0:
        return 0.0
    alpha = 1.0 - CONFIDENCE
    if failures == 0:
        return float(alpha ** (1.0 / n))
    low, high = 0.0, 1.0
    for _ in range(64):
        middle = (low + high) / 2.0
        if beta_cdf(middle, n, failures) < alpha:
            low = middle
        else:
            high = middle
    return low


def beta_cdf(x: float, n: float, failures: int) -> float:
    """P(X <= x) for X ~ Beta(n, 1 + failures), by the finite sum that a whole second parameter allows.

    Source: Abramowitz & Stegun 26.5.6, ``I_x(a, b) = x^a sum_{j<b} (a)_j / j! (1-x)^j``.
    """
    if x <= 0.0:
        return 0.0
    term, terms = 1.0, [1.0]
    for j in range(failures):
        term *= (n + j) / (j + 1) * (1.0 - x)
        terms.append(term)
    return float(x**n) * math.fsum(terms)


def recompute(inputs: Mapping[str, JsonValue]) -> Score | None:
    """The score from a report's ``score_inputs``.

    Raises:
        ValueError: the inputs are of another formula, or incomplete.
    """
    if inputs.get("formula") != FORMULA:
        raise ValueError(f"score inputs of formula {inputs.get('formula')!r}, this is {FORMULA!r}")
    traces, adequacy = inputs.get("traces"), inputs.get("adequacy")
    generated, failures, fixed = inputs.get("generated"), inputs.get("failures"), inputs.get("fixed")
    if not isinstance(traces, list) or not isinstance(generated, int) or not isinstance(failures, int):
        raise ValueError("score inputs need traces (a list), generated and failures (counts)")
    if not isinstance(fixed, list) or not all(isinstance(name, str) for name in fixed):
        raise ValueError("score inputs need fixed (a list of names)")
    if adequacy is not None and not isinstance(adequacy, int | float):
        raise ValueError("adequacy is neither a number nor null")
    return score(
        ScoreInputs(
            trials=tuple(_trials(traces)),
            generated=generated,
            adequacy=None if adequacy is None else float(adequacy),
            torn=inputs.get("torn") is True,
            residue=inputs.get("residue") is True,
            failures=failures,
            fixed=tuple(str(name) for name in fixed),
        )
    )


def explain(inputs: Mapping[str, JsonValue]) -> list[tuple[str, str]]:
    """The parts of a score as (name, value with its meaning), for people."""
    numbers = {key: value for key, value in inputs.items() if isinstance(value, int | float)}
    traces = inputs.get("traces")
    count = len(traces) if isinstance(traces, list) else 0
    return [
        ("R", f"{numbers.get('R', 0.0):g} recorded trials ({count} distinct trace{'s' if count != 1 else ''})"),
        ("G", f"{numbers.get('G', 0.0):g} generated trials ({numbers.get('generated', 0):g} judged cases)"),
        ("A", f"{numbers.get('adequacy', 0.0):.3g} mutant adequacy"),
        ("S", f"{numbers.get('S', 1.0):.3g} after torn writes and residue"),
        ("V", f"{numbers.get('V', 1.0):.3g} after names that no trace varies ({unvaried(inputs) or 'none'})"),
        ("f", f"{numbers.get('failures', 0):g} leave-one-out failures"),
        ("N", f"{numbers.get('N', 0.0):.3g} trials in all"),
    ]


def unvaried(inputs: Mapping[str, JsonValue], most: int = 4) -> str:
    """The names that the skill has fixed and no trace varies, for people; "" where there are none."""
    names = inputs.get("fixed")
    if not isinstance(names, list):
        return ""
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def _trials(rows: Iterable[JsonValue]) -> Iterable[Trial]:
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("task_id"), str):
            raise ValueError("a row of traces needs a task_id")
        yield Trial(str(row["task_id"]), row.get("unseen") is True, row.get("reconstructed") is True)


def _as_json(inputs: ScoreInputs, n: float) -> dict[str, JsonValue]:
    rows: list[JsonValue] = [
        {"task_id": t.task_id, "unseen": t.unseen, "reconstructed": t.reconstructed, "weight": t.weight}
        for t in sorted(inputs.trials, key=lambda t: t.task_id)
    ]
    return {
        "formula": FORMULA,
        "traces": rows,
        "generated": inputs.generated,
        "adequacy": inputs.adequacy,
        "torn": inputs.torn,
        "residue": inputs.residue,
        "failures": inputs.failures,
        "fixed": [*inputs.fixed],
        "R": inputs.recorded,
        "G": inputs.generated_trials,
        "S": inputs.convergence,
        "V": inputs.variety,
        "N": round(n, _DIGITS),
    }

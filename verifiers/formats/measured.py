"""What checks measured, laid out for the HTML page: score, crash points, mutants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.interface import JsonValue
from verifiers.formats.page import Page
from verifiers.formats.text import bound
from verifiers.interface import CheckResult, Report
from verifiers.score import unvaried


@dataclass(frozen=True, slots=True)
class Point:
    """One crash point of the strip."""

    state: str
    """``ok``, ``bad`` or ``torn`` (bad, and between truncation and last write)."""
    k: int
    text: str


@dataclass(frozen=True, slots=True)
class Survivor:
    line: int
    operator: str
    description: str
    source: str


@dataclass(frozen=True, slots=True)
class ScoreView:
    value: str
    percent: float
    flow: tuple[tuple[str, str, str], ...]
    """Operator before it, number, what it is."""
    unvaried: str
    """Names that the skill has fixed and no trace varies."""


def score(report: Report) -> ScoreView | None:
    if report.score is None:
        return None
    numbers = {k: v for k, v in report.score.inputs.items() if isinstance(v, int | float)}

    def number(name: str, spec: str = "g") -> str:
        return format(numbers.get(name, 0.0), spec)

    flow = (
        ("", number("R"), "recorded"),
        ("+", number("G"), "generated"),
        ("×", number("adequacy", ".3g"), "adequacy"),
        ("×", number("S", ".3g"), "convergence"),
        ("×", number("V", ".3g"), "variety"),
        ("=", number("N", ".3g"), "trials"),
    )
    value = report.score.value
    return ScoreView(bound(value), round(100 * value, 2), flow, unvaried(report.score.inputs))


def _rows(check: CheckResult | None, key: str) -> list[Mapping[str, JsonValue]]:
    """A list of objects that a check measured; anything of another form is left out."""
    value = check.measured.get(key) if check is not None else None
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def strips(report: Report) -> tuple[tuple[str, tuple[Point, ...]], ...]:
    by_trace: dict[str, list[Point]] = {}
    for row in _rows(report.check("crash-convergent"), "strip"):
        k = row.get("k")
        number = k if isinstance(k, int) else 0
        state = "ok" if row.get("ok") is True else "torn" if row.get("torn") is True else "bad"
        torn = "in the middle of " if row.get("torn") is True else ""
        end = "converges" if row.get("ok") is True else "does not converge"
        text = f"killed {torn or 'before '}call {number}, {row.get('call', '')} {row.get('path', '')}: {end}"
        by_trace.setdefault(str(row.get("trace", "")), []).append(Point(state, number, text))
    return tuple((trace, tuple(points)) for trace, points in by_trace.items())


def survivors(page: Page, report: Report, key: str) -> tuple[Survivor, ...]:
    out = []
    for row in _rows(report.check("mutants-killed"), key):
        line = row.get("line")
        number = line if isinstance(line, int) else 0
        source = page.line(report.path, number) or ""
        out.append(Survivor(number, str(row.get("operator", "")), str(row.get("description", "")), source.strip()))
    return tuple(out)

"""Differences taken apart for showing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from verifiers.formats import render
from verifiers.formats.effects import Side, headline, sides
from verifiers.formats.json_report import report_from_json
from verifiers.interface import CheckResult, Counterexample, Finding, Verdict

CONTENT = "a.txt: content: expected 3 bytes 'abc', observed 2 bytes 'ab'"
texts = st.text(max_size=20)


def test_each_difference_once() -> None:
    """A note, the counterexample and the message tell of one difference: it is shown once."""
    example = Counterexample("trace t", {}, "3 bytes 'abc'", "2 bytes 'ab'")
    finding = Finding(f"trace t: {CONTENT}", counterexample=example, notes=(f"effect: {CONTENT}", "order: reversed"))
    compared, notes = sides(finding)
    assert compared == [Side("a.txt: content", "3 bytes 'abc'", "2 bytes 'ab'")]
    assert notes == ["order: reversed"]
    assert headline(finding) == "trace t: a.txt: content differs"


def test_a_difference_in_the_counterexample() -> None:
    """``expected: no change`` with a whole difference as what was observed is that difference."""
    example = Counterexample("trace t", {}, "no change", CONTENT)
    finding = Finding("second run changed 1 attribute", counterexample=example, notes=(f"effect: {CONTENT}",))
    assert [s.heading for s in sides(finding)[0]] == ["a.txt: content"]
    assert headline(finding) == "second run changed 1 attribute"


def test_other_comparisons_stay() -> None:
    """An answer, or an effect in words, keeps its own two sides."""
    example = Counterexample("trace t", {}, "4", "5")
    finding = Finding("the answer differs", counterexample=example, notes=(f"effect: {CONTENT}",))
    assert [s.heading for s in sides(finding)[0]] == ["", "a.txt: content"]
    words = Finding("m", counterexample=Counterexample("c", {}, "nothing", "created x"), notes=("effect: created x",))
    assert sides(words) == ([Side("", "nothing", "created x")], [])


@given(texts, texts, texts, texts, st.lists(texts, max_size=3))
def test_nothing_is_lost(message: str, case: str, expected: str, observed: str, notes: list[str]) -> None:
    """Whatever a finding says: every note and both sides are still there."""
    finding = Finding(message, counterexample=Counterexample(case, {}, expected, observed), notes=tuple(notes))
    compared, rest = sides(finding)
    shown = "\0".join([*rest, *(f"{s.heading}\0{s.expected}\0{s.observed}\0effect: {s.observed}" for s in compared)])
    if expected or observed:
        assert compared
    assert all(note in shown or note.startswith("effect: ") for note in notes)


def test_many_findings_are_counted() -> None:
    """A terminal gets three of a check, and how many more there are."""
    sample = Path(__file__).parent.parent / "golden" / "reports" / "failing.json"
    report = report_from_json(json.loads(sample.read_text()))
    rows = tuple(Finding(f"finding {n}", "a.py") for n in range(9))
    text = render([replace(report, checks=(CheckResult("contained", Verdict.FAIL, rows),))], "plain", titles={}, sources={})
    assert text.count("FAIL[contained]") == 3
    assert "6 more findings of contained in drafts/rotate_logs/skill.py" in text

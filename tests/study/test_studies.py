"""What the studies make of what they measured: nothing passes for lack of skills, and a broken promise is named."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import cutting
import pytest
from calibration import bins, cumulative, measured, names, part, read
from gate_study import kinds, missed
from halves import Point, cuts
from hypothesis import given
from hypothesis import strategies as st
from labelled import Label, Row, load_labels, spread
from stability_study import differing

from verifiers.interface import EvidenceSummary, Report, Verdict

REPORT = Report(
    name="x", path="x.py", sha256="", verdict=Verdict.PASS, score=None, checks=(), not_checked=(),
    evidence=EvidenceSummary("", 0, 0, 0), bindings={}, sandbox=None, tools={}, seed=0, seconds=1.0, partial=True, budget="fast",
    profile="seed",
)  # fmt: skip
GOOD = Label("a/good.py", "a", True, "good", ())
FAULTY = Label("a/bad.py", "a", False, "wrong_effect", ())


def scored(score: float, held: bool) -> Point:
    return Point("mutant", "m", 2, Verdict.PASS, score, min(1.0, score + 0.3), held)


def refused(held: bool) -> Point:
    return Point("labelled faulty", "f", 2, Verdict.FAIL, 0.0, 0.0, held)


def test_sessions_are_compared_with_what_was_read_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A session that nobody read counts for nothing; one that no importer knows, as a miss. None at all is a bar missed."""
    texts = {"a.txt": "$ ls\na\n", "b.txt": "## one\n$ ls\na\n## two\n$ pwd\n/x\n", "c.txt": "nothing\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    names = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts.values()]
    assert cutting.compared(tmp_path, {names[0]: 1, names[2]: 1}) == [(names[0], 1, 1), (names[2], 1, None)]
    assert cutting.compared(tmp_path, {names[1]: 2}) == [(names[1], 2, 2)]
    assert cutting.main(tmp_path) == 1
    assert len(cutting.read_by_hand()) >= 60
    assert "0 of 0 sessions" in capsys.readouterr().out


def test_nothing_measured_is_a_bar_missed() -> None:
    """No skill judged, no skill scored: said, and not a success."""
    assert missed([]) == ("no skill was judged",)
    assert part([]).missed == ("nothing was scored",)
    assert part([refused(False)]).missed == ("nothing was scored",)


def test_a_refused_good_skill_and_a_faulty_one_let_in_are_named() -> None:
    """The bars of the gate: every good skill passes, 188 of 192 faulty ones do not."""
    fails = replace(REPORT, verdict=Verdict.FAIL)
    assert missed([Row(GOOD, REPORT), Row(FAULTY, fails)]) == ()
    said = " ".join(missed([Row(GOOD, fails), Row(FAULTY, REPORT)]))
    assert "a/good.py" in said
    assert "a/bad.py (wrong_effect)" in said
    assert "| wrong_effect | 1 | 0 |" in kinds([Row(FAULTY, REPORT)])


def test_a_score_that_promised_too_much_is_named() -> None:
    """A bin in which fewer held than the score says, and a threshold over which fewer held."""
    honest = [scored(0.35, True), scored(0.35, True), scored(0.65, True)]
    assert bins(honest)[1] == cumulative(honest)[1] == []
    broken = [*honest, scored(0.95, False)]
    assert len(bins(broken)[1]) == 1
    assert "score >= 0.7" in " ".join(cumulative(broken)[1])
    assert part([*honest, refused(False)]).missed == ()
    assert part([*broken, refused(False)]).missed != ()


def test_an_estimate_that_does_not_rank_is_named() -> None:
    """Among scored skills those that held have to stand above those that did not; the held-out tasks are looked at alone too."""
    ranked = [*[scored(0.35, True)] * 8, replace(scored(0.15, False), folder="heldout"), scored(0.35, False)]
    assert "AUC" not in " ".join(part(ranked).missed)
    flat = [*[scored(0.35, True)] * 8, scored(0.35, False)]
    assert "AUC 0.500" in " ".join(part(flat).missed)
    unseen = [*ranked, replace(scored(0.15, True), folder="heldout")]
    assert "held-out" in " ".join(part(unseen).missed)


def test_names_that_nothing_varied_have_a_row() -> None:
    """How many of them held, by the tasks they are of."""
    rows = names([scored(0.3, True), replace(scored(0.1, False), fixed=True, folder="heldout")]).splitlines()
    assert rows[2].startswith("| fixtures/traces | no | 1 | 1/1")
    assert rows[3].startswith("| fixtures/heldout | yes | 1 | 0/1")


@given(st.lists(st.text(min_size=1), min_size=2, max_size=12, unique=True))
def test_every_cut_is_a_partition(rows: list[str]) -> None:
    """Two traces or more are scored on, one or more are kept from it, none is in both."""
    made = cuts(rows)
    assert bool(made) == (len(rows) > 2)
    for seen, rest in made:
        assert len(seen) >= 2
        assert rest
        assert sorted([*seen, *rest]) == sorted(rows)
    assert made == cuts(list(rows))


def test_a_sample_has_every_kind() -> None:
    """However thin, a sample has a good skill and each fault; every first is all."""
    labels = load_labels()
    assert spread(labels, 1) == labels
    assert {x.fault for x in spread(labels, 1000)} == {x.fault for x in labels}


def test_a_flip_is_told_from_a_difference() -> None:
    """A report may differ without its verdict; both are counted."""
    first = {"a": json.dumps({"verdict": "PASS", "runs": 1}, indent=1), "b": json.dumps({"verdict": "PASS"}, indent=1)}
    assert differing(first, dict(first)) == (0, [])
    flips, places = differing(first, {"a": first["a"].replace("1", "2"), "b": first["b"].replace("PASS", "FAIL")})
    assert flips == 1
    assert len(places) == 2
    assert '"runs": 1 / "runs": 2' in places[0]


def test_points_are_read_again(tmp_path: Path) -> None:
    """What was measured is kept as lines of JSON."""
    file = tmp_path / "points.jsonl"
    points = [scored(0.4, True), refused(False)]
    assert measured(points, file) == read(file)[0] == points

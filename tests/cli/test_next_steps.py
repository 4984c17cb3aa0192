"""What is said while something runs, and what to do where nothing came of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import draft, report
from fake import FakeSandbox, unchanged

from sandbox.interface import RunRequest, SkillJob, Snapshot
from synth.cli.counting import Counted, count_runs
from synth.cli.metrics import path
from synth.cli.next_steps import keep_draft, next_step
from synth.cli.progress import Checks, dynamic_checks
from synth.config import Config
from synth.crystallization.outcome import PatternOutcome
from synth.metrics import Metrics
from verifiers.catalog import DYNAMIC
from verifiers.interface import Behaviour, Decision, GeneratedCase, Question, Verdict

QUESTIONS = (Question("unique-keys", "m", GeneratedCase("t0", Snapshot(), {}), Behaviour(Snapshot()), Behaviour(Snapshot())),)


def outcome(ending: str, **more: object) -> PatternOutcome:
    return PatternOutcome("tidy", ("t0", "t1", "t2"), ending, "why", **more)  # type: ignore[arg-type]  # one of the endings


def test_each_ending_has_a_next_step(tmp_path: Path) -> None:
    """A draft to mend, a generator to try, recordings that are missing, an engine: one step each; none for what is registered."""
    refused = report(draft(), verdict=Verdict.FAIL, score=None)
    unused = {"t0": "its commands need the network", "t1": "it depends on the date"}
    for given, kept, says in (
        (outcome("registered"), None, ""),
        (outcome("refused", report=refused), tmp_path / "a b", f"assay registry add '{tmp_path}/a b'"),
        (outcome("no-candidate"), None, "--generator anthropic"),
        (outcome("inconclusive", unused=unused), None, "record it 2 more times"),
        (outcome("inconclusive", unused={"t0": "its commands need the network"}), None, "record it 1 more time,"),
        (outcome("inconclusive"), None, "assay engine status"),
    ):
        step = next_step(given, kept, 3)
        assert says in step
        assert bool(step) is (given.ending != "registered")


def test_a_registered_skill_with_questions_has_one_too(tmp_path: Path) -> None:
    """They are to be read and answered, in the registry that was named."""
    asks = replace(report(draft()), questions=QUESTIONS)
    step = next_step(outcome("registered", skill="tidy", report=asks), None, 3, tmp_path)
    assert (
        step == f"it leaves 1 question: assay verify tidy --registry {tmp_path}, then assay answer tidy 1 --registry {tmp_path}"
    )


def test_the_draft_of_a_refusal_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the data directory, beside one that a person edited; a disk without room costs a sentence, not the run."""
    settings = Config(tmp_path)
    refused = outcome("refused", draft=draft("tidy"))
    kept = keep_draft(refused, settings)
    assert kept == tmp_path / ".assay" / "drafts" / "tidy"
    (kept / "skill.py").write_text("# mine\n")
    again = keep_draft(refused, settings)
    assert again is not None
    assert again != kept
    assert (kept / "skill.py").read_text() == "# mine\n"
    assert keep_draft(replace(refused, ending="registered"), settings) is None
    says = Decision(QUESTIONS[0], "skill")
    assert keep_draft(outcome("refused", draft=draft("other", decisions=(says,))), settings) is not None
    assert keep_draft(outcome("refused", draft=draft("other", decisions=(replace(says, says="commands"),))), settings) is None
    assert "contradict" in capsys.readouterr().err
    (tmp_path / "file").write_text("x")
    assert keep_draft(refused, Config(tmp_path / "file")) is None
    assert "the draft of tidy cannot be kept" in capsys.readouterr().err


def test_checks_are_counted() -> None:
    """``2/19 id · 7 runs``; what is no check has no number."""
    said: list[str] = []
    checks = Checks(said.append, dynamic_checks(None), "skill.py: ", iter([0, 3, 7]).__next__)
    for what in ("replaying the evidence", DYNAMIC[0].id, DYNAMIC[1].id):
        checks(what)
    n = len(DYNAMIC)
    assert said == [
        "skill.py: replaying the evidence",
        f"skill.py: 1/{n} {DYNAMIC[0].id} · 3 runs",
        f"skill.py: 2/{n} {DYNAMIC[1].id} · 7 runs",
    ]
    assert dynamic_checks(frozenset({DYNAMIC[0].id, "parses"})) == 1


def test_runs_of_dropped_candidates_are_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of the sandbox is in `assay metrics`, whatever became of what it was for."""
    monkeypatch.chdir(tmp_path)
    path().parent.mkdir(parents=True)
    box = Counted(FakeSandbox([unchanged] * 3))
    for label, runs in (("traces", 1), ("skill", 2)):
        with box.session(label) as session:
            session.map([RunRequest(SkillJob("", {}), Snapshot())] * runs)
    assert box.runs == 3
    count_runs(box.runs)
    assert Metrics(path()).values()["sandbox_runs"] == 3

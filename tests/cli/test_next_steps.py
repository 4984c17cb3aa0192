"""What is said while something runs, and what to do where nothing came of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import draft, report
from fake import FakeSandbox, unchanged

from sandbox.interface import ReplayRecord, RunRequest, SkillJob, Snapshot
from synth.cli import console
from synth.cli.bar import StepColumn
from synth.cli.counting import Counted, count_here, count_runs
from synth.cli.crystallize import _tell_checks
from synth.cli.metrics import path
from synth.cli.next_steps import keep_draft, next_step
from synth.cli.program import run
from synth.cli.progress import Checks, Runs, dynamic_checks
from synth.config import Config
from synth.crystallization.judge import SandboxJudge
from synth.crystallization.outcome import PatternOutcome
from synth.crystallization.promotion import Crystallization
from synth.crystallization.search import SearchSettings
from synth.embedded import EmbeddedGenerator
from synth.metrics import Metrics
from verifiers.catalog import DYNAMIC
from verifiers.interface import Behaviour, Decision, GeneratedCase, Question, Verdict

RENAMES = Path(__file__).parents[2] / "fixtures" / "demo" / "rename.jsonl"

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
    runs = iter(["", " · 3 runs", " · 7 runs"])
    checks = Checks(said.append, dynamic_checks(None), "skill.py: ", runs.__next__)
    for what in ("replaying the evidence", DYNAMIC[0].id, DYNAMIC[1].id):
        checks(what)
    n = len(DYNAMIC)
    assert said == [
        "skill.py: replaying the evidence",
        f"skill.py: 1/{n} {DYNAMIC[0].id} · 3 runs",
        f"skill.py: 2/{n} {DYNAMIC[1].id} · 7 runs",
    ]
    assert dynamic_checks(frozenset({DYNAMIC[0].id, "parses"})) == 1


def some(n: int) -> list[RunRequest]:
    return [RunRequest(SkillJob("", {}), Snapshot())] * n


def test_runs_are_counted_while_they_are_made() -> None:
    """With how many there will be and how long these take, as far as a check has said; of one verification alone."""
    told: list[str] = []
    box = Counted(FakeSandbox([unchanged] * 12))
    now = iter(range(100)).__next__
    with box.session("earlier") as session:
        session.map(some(2))
        runs = Runs(lambda: box, clock=lambda: float(now()))
        told.append(runs())
        box.expect(9)
        session.map(some(3))
        told.append(runs())
        session.map(some(6))
        told.append(runs())
        session.run(some(1)[0])
        told.append(runs())
    assert told == ["", " · 3 of 9 runs · ~2 s", " · 9 runs", " · 10 runs"]
    assert Runs(lambda: None)() == ""


def test_a_batch_says_how_large_it_is_before_it_runs() -> None:
    """The last thing that was said while it ran."""
    seen: list[str] = []

    def looking(request: RunRequest) -> ReplayRecord:
        seen.append(runs().partition(" · ~")[0])
        return unchanged(request)

    box = Counted(FakeSandbox([looking] * 3))
    runs = Runs(lambda: box)
    with box.session("skill") as session:
        session.map(some(3))
    assert seen == ["", " · 1 of 3 runs", " · 2 of 3 runs"]


def test_a_bar_asks_anew_at_each_drawing() -> None:
    """What stands beside a step changes without another step; a log has no bar, and gets what each step says."""
    from rich.progress import Progress

    counts = iter((" · 1 runs", " · 2 runs"))
    with Progress(StepColumn(), disable=True) as bar:
        talk = console.Talk(bar, quiet=False)
        talk.step("7/19 generalises")
        assert talk.live is not None
        talk.live(counts.__next__)
        assert [StepColumn().render(bar.tasks[0]).plain for _ in "ab"] == [
            "7/19 generalises · 1 runs",
            "7/19 generalises · 2 runs",
        ]
    assert console.Talk(None, quiet=False).live is None


def test_the_checks_of_a_candidate_are_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where somebody watches: each candidate's from the first on; a log has the candidates alone."""
    said: list[str] = []
    box = Counted(FakeSandbox([]))

    def told(level: int) -> SandboxJudge:
        monkeypatch.setattr(console, "_LEVEL", [level])
        judge = SandboxJudge(box)
        crystallization = Crystallization(EmbeddedGenerator(), judge, None, SearchSettings())
        _tell_checks(crystallization, console.Talk(None, quiet=False), said.append)
        for candidate in ("judging candidate 1", "judging candidate 2"):
            crystallization.say(candidate)
            if judge.progress is not None:
                judge.progress(DYNAMIC[0].id)
        return judge

    assert told(console.NORMAL).planned is None
    assert said == ["judging candidate 1", "judging candidate 2"]
    said.clear()
    assert told(console.VERBOSE).planned == box.expect
    first = f"1/{len(DYNAMIC)} {DYNAMIC[0].id}"
    assert said == [
        "judging candidate 1", f"judging candidate 1: {first}", "judging candidate 2", f"judging candidate 2: {first}",
    ]  # fmt: skip


def test_runs_of_dropped_candidates_are_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of the sandbox is in `assay registry metrics`, whatever became of what it was for."""
    monkeypatch.chdir(tmp_path)
    count_runs(1)
    assert not list(tmp_path.iterdir())  # judging leaves nothing in a project that keeps nothing
    count_here()
    box = Counted(FakeSandbox([unchanged] * 3))
    for label, runs in (("traces", 1), ("skill", 2)):
        with box.session(label) as session:
            session.map([RunRequest(SkillJob("", {}), Snapshot())] * runs)
    assert box.runs == 3
    count_runs(box.runs)
    assert Metrics(path()).values()["sandbox_runs"] == 3


def test_the_first_crystallization_of_a_project_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a fresh directory, with recordings from elsewhere: what it did is in `assay registry metrics`, whatever became of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("synth.cli.settings.Judging.sandbox", lambda *_: FakeSandbox([]))
    run(["crystallize", str(RENAMES), "--registry", "skills"])
    assert Metrics(path()).values()["crystallization_triggers"] == 1

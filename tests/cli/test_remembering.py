"""What was just judged is answered from the cache, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from factories import draft, report

from sandbox.interface import Snapshot
from synth.cli.program import run
from synth.cli.remembering import moved, remember
from synth.cli.settings import Judging
from synth.cli.targets import target_of
from synth.cli.verifying import Verifier
from synth.crystallization.judge import SandboxJudge
from synth.draft import read_draft, write_draft
from synth.interface import Candidate
from synth.registry import Registry
from synth.tracing.traces import to_evidence
from verifiers.formats import render
from verifiers.interface import Behaviour, CheckResult, Finding, GeneratedCase, Question, Report, Verdict
from verifiers.verify import derive_seed

FIXTURES = Path(__file__).parents[2] / "fixtures"
TRACES, BROKEN = FIXTURES / "demo" / "rename.jsonl", FIXTURES / "broken" / "append_line"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A draft, where an engine with a known image is said to be, and the cache is empty."""
    monkeypatch.setattr("synth.cli.verifying.engine_facts", lambda *about: ("image", "engine"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    return write_draft(Path("drafts"), draft())


def judged(place: Path, **more: object) -> Report:
    """A report on it from before it lay there."""
    job = Verifier(Judging()).job(target_of(place))
    seed = derive_seed(job.subject, job.evidence, job.bindings, job.options)
    return report(draft(), path="batch_rename/skill.py", seed=seed, **more)


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL])
def test_what_was_judged_is_cached(place: Path, verdict: Verdict, capsys: pytest.CaptureFixture[str]) -> None:
    """One word says so; the commands of its findings name it where it lies."""
    found = (Finding("changed", "batch_rename/skill.py", reproduce="assay replay batch_rename/skill.py --check x"),)
    checks = (CheckResult("idempotent-replay", verdict, found),)
    remember(place, judged(place, checks=checks, verdict=verdict, score=None), Judging(), None)
    run(["verify", str(place)])
    assert capsys.readouterr().out.endswith("(1 check, 20 runs, cached)\n")
    run(["verify", str(place), "--format", "json"])
    (row,) = json.loads(capsys.readouterr().out)["checks"][0]["findings"]
    assert (row["path"], row["reproduce"]) == (
        "drafts/batch_rename/skill.py", "assay replay drafts/batch_rename/skill.py --check x",
    )  # fmt: skip
    assert run(["gate", str(place)]) in (0, 1)
    assert "cached)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 4711},
        {"name": "another"},
        {"checks": (CheckResult("effect-equivalent", Verdict.FAIL),), "verdict": Verdict.FAIL, "score": None},
    ],
)
def test_what_a_verification_would_say_otherwise_is_not(
    place: Path, other: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    """Other evidence or code; and where bindings in a file would be doubted, which a report without one cannot say."""
    remember(place, replace(judged(place), **other), Judging(), None)  # type: ignore[arg-type]  # fields of a report
    assert run(["verify", str(place)]) == 3
    assert "cached" not in capsys.readouterr().out


def test_other_budgets_and_edits_are_judged(place: Path) -> None:
    """The cache is asked for the same thing alone."""
    remember(place, judged(place), Judging(), None)
    assert run(["verify", str(place)]) == 0
    assert run(["verify", str(place), "--budget", "fast"]) == 3
    assert run(["verify", str(place), "--no-cache"]) == 3
    with (place / "skill.py").open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    assert run(["verify", str(place)]) == 3


def test_nothing_is_in_ci(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was unseen counts for nothing there, in a trusted cache either."""
    monkeypatch.setenv("CI", "true")
    remember(place, judged(place), Judging(), None)
    monkeypatch.delenv("CI")
    assert run(["verify", str(place)]) == 3


def test_commands_name_the_place_and_the_options() -> None:
    """Once, and nothing is made of no command."""
    asked = Question("k", "m", GeneratedCase("t", Snapshot(), {}), Behaviour(Snapshot()), Behaviour(Snapshot()))
    asked = replace(asked, answer="assay answer 'a b/skill.py' 1 --case 12")
    found = moved(report(draft(), path="a b/skill.py", questions=(asked,)), "c/skill.py", ("--registry r",))
    assert found.questions[0].answer == "assay answer c/skill.py 1 --case 12 --registry r"
    assert found.path == "c/skill.py"


def test_some_of_several_are_said() -> None:
    """With the time that the others took."""
    reports = [replace(report(draft()), cached=n < 1) for n in range(3)]
    assert render(reports, "plain", seconds=1.0).endswith("(9 checks, 60 runs, 1 of 3 cached, 1.0 s)\n")
    assert reports[0] == reports[1]


@pytest.mark.engine
def test_verify_after_crystallize_is_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the very report that a verification of the registered files gives."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    assert run(["crystallize", str(TRACES), "--registry", "skills", "--budget", "fast"]) == 0
    with Registry(Path("skills")) as opened:
        name = opened.list("active")[0].name
    again = ["verify", name, "--registry", "skills", "--budget", "fast"]
    capsys.readouterr()
    assert run(again) == 0
    assert "cached)\n" in capsys.readouterr().out
    documents = []
    for more in ([], ["--no-cache"]):
        assert run([*again, *more, "--format", "json"]) == 0
        documents.append(timeless(json.loads(capsys.readouterr().out)))
    assert documents[0] == documents[1]


@pytest.mark.engine
def test_verify_of_a_draft_that_was_refused_is_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its counterexample and the command that shows it again, as a verification of the draft has them."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    refused, judging = read_draft(BROKEN), Judging(budget="fast")
    candidate = Candidate(refused.name, refused.source, refused.bindings, "", "")
    with judging.sandbox() as box:
        evidence = [to_evidence(t) for t in refused.evidence]
        found = SandboxJudge(box, "fast").verify(candidate, evidence, refused.bindings, frozenset(), 0)
    place = write_draft(Path("drafts"), refused)
    remember(place, found, judging, None)
    documents = []
    for more in ([], ["--no-cache"]):
        assert run(["verify", str(place), "--budget", "fast", *more, "--format", "json", "-o", "found.json"]) == 1
        assert capsys.readouterr().out.endswith("cached)\n") is (not more)
        documents.append(timeless(json.loads(Path("found.json").read_text(encoding="utf-8"))))
    assert documents[0] == documents[1]


def timeless(value: object) -> object:
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k != "seconds"}
    return [timeless(v) for v in value] if isinstance(value, list) else value

"""Verification as a whole: verdicts merge, nothing passes for lack of evidence, a lost engine or a crashed check is
INCONCLUSIVE."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import open_sandbox
from sandbox.interface import Cause, ReplayRecord, RunRequest, SandboxError, SandboxInfo
from verifiers import verify as module
from verifiers.catalog import DYNAMIC
from verifiers.checks._examples import APPEND_ARGS, RENAME_ARGS, append, rename
from verifiers.context import Context
from verifiers.evidence import load_evidence
from verifiers.formats.json_report import report_to_json, without_times
from verifiers.interface import Binding, CheckResult, Evidence, Subject, Verdict, merge
from verifiers.subject import parse_subject
from verifiers.verify import Options, derive_seed, verify

EXAMPLES = Path(__file__).parents[2] / "fixtures" / "examples"
ALL_DYNAMIC = frozenset(c.id for c in DYNAMIC)


def renaming() -> tuple[Subject, list[Evidence], dict[str, Binding]]:
    return (
        parse_subject(rename("good").source, "skill.py"),
        load_evidence(EXAMPLES / "rename.jsonl"),
        {t: Binding(t, a) for t, a in RENAME_ARGS.items()},
    )


@given(st.lists(st.sampled_from(Verdict)))
def test_merging_takes_the_worst(verdicts: list[Verdict]) -> None:
    """The merge is the maximum; of nothing it is INCONCLUSIVE."""
    assert merge(verdicts) is (max(verdicts, key=int) if verdicts else Verdict.INCONCLUSIVE)


def test_a_verdict_has_no_truth_value() -> None:
    """Three values do not fit into two."""
    with pytest.raises(TypeError, match="three values"):
        bool(Verdict.PASS)


def test_without_a_sandbox_nothing_passes() -> None:
    """Every dynamic check is listed as not checked, with the reason, and the verdict closes the gate."""
    subject, evidence, bindings = renaming()
    report = verify(subject, evidence, bindings, options=Options(checks=ALL_DYNAMIC), no_sandbox="no engine answers")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert {n.id for n in report.not_checked} == ALL_DYNAMIC
    assert {n.why for n in report.not_checked} == {"no engine answers"}
    assert report.score is None


def test_without_evidence_nothing_passes() -> None:
    """No evidence is INCONCLUSIVE and names the command that records some."""
    subject, _, _ = renaming()
    report = verify(subject, [], {}, sandbox=LostSandbox(), options=Options(checks=ALL_DYNAMIC))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "assay record" in report.why


class LostSandbox:
    """An engine that goes away at the first run."""

    info = SandboxInfo("fake", "fake:1", "0" * 64, "Fake 1", "0", {"supervise": True})
    runs = 0

    def session(self, label: str, workers: int | None = None) -> LostSandbox:
        return self

    def run(self, request: RunRequest) -> ReplayRecord:
        raise SandboxError(Cause.ENGINE_LOST, "the engine stopped answering", "Run `assay engine up`")

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        return [self.run(r) for r in requests]

    def close(self) -> None:
        return None

    def __enter__(self) -> LostSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        return None


def test_a_lost_engine_is_inconclusive_and_says_so() -> None:
    """Never FAIL, never a crash: what was not checked names the cause and what to do."""
    subject, evidence, bindings = renaming()
    report = verify(subject, evidence, bindings, sandbox=LostSandbox(), options=Options(checks=ALL_DYNAMIC))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "the engine stopped answering" in report.why
    assert "assay engine up" in report.why


LITTER = """
import sys
from hypothesis import strategies as st
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify
from verifiers.worlds.draw import draw
verify(parse_subject(sys.argv[1], "skill.py"), [], options=Options(static_only=True, checks=frozenset({"parses"})))
draw(st.text(), 3, 1)
"""


def test_the_working_directory_stays_clean(tmp_path: Path) -> None:
    """What generates cases keeps notes of its own: in a directory that is judged from they have no place."""
    env = {name: value for name, value in os.environ.items() if name != "HYPOTHESIS_STORAGE_DIRECTORY"}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    place = tmp_path / "project"
    place.mkdir()
    subprocess.run([sys.executable, "-c", LITTER, rename("good").source], cwd=place, env=env, check=True)
    assert list(place.iterdir()) == []


def test_narrowed_verification_is_partial_and_has_no_score() -> None:
    """A report on some of the checks cannot be registered."""
    subject, evidence, bindings = renaming()
    report = verify(subject, evidence, bindings, options=Options(static_only=True))
    assert report.partial
    assert report.score is None


def test_the_seed_depends_on_everything_that_is_judged() -> None:
    """Other code, evidence, bindings or salt: other samples."""
    subject, evidence, bindings = renaming()
    seed = derive_seed(subject, evidence, bindings, Options())
    assert seed == derive_seed(subject, list(reversed(evidence)), bindings, Options())
    assert seed != derive_seed(replace(subject, source=subject.source + "#"), evidence, bindings, Options())
    assert seed != derive_seed(subject, evidence[:2], bindings, Options())
    assert seed != derive_seed(subject, evidence, bindings, Options(salt="s"))
    assert seed != derive_seed(subject, evidence, dict(list(bindings.items())[:2]), Options())


class Crashing:
    """A check with a bug."""

    id, stage, version, title, why, good, bad = "contained", "dynamic", 1, "", "", (), ()

    def run(self, context: Context) -> CheckResult:
        raise ZeroDivisionError("a bug")


@pytest.mark.engine
def test_a_crashed_check_is_never_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner catches it, the verdict is INCONCLUSIVE, and the report says which check broke."""
    subject, evidence, bindings = renaming()
    monkeypatch.setattr(module, "DYNAMIC", (Crashing(),))
    with open_sandbox() as sandbox:
        report = verify(subject, evidence, bindings, sandbox=sandbox, options=Options(checks=frozenset({"contained"})))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "crashed (ZeroDivisionError: a bug)" in report.why


@pytest.mark.engine
def test_the_same_bytes_get_the_same_report_with_one_and_two_workers() -> None:
    """Byte-identical but for the times, whoever asks and however many workers there are."""
    subject = parse_subject(append("good").source, "skill.py")
    evidence = load_evidence(EXAMPLES / "append.jsonl")
    bindings = {t: Binding(t, a) for t, a in APPEND_ARGS.items()}
    reports = []
    with open_sandbox() as sandbox:
        for workers in (1, 2):
            options = Options(budget="fast", checks=ALL_DYNAMIC, workers=workers, stop_early=False)
            reports.append(without_times(report_to_json(verify(subject, evidence, bindings, sandbox=sandbox, options=options))))
    assert reports[0] == reports[1]


@pytest.mark.engine
def test_inferred_bindings_are_confirmed_by_behaviour() -> None:
    """Without bindings they are inferred; swapped parameter names are a finding, never silently accepted."""
    subject, evidence, _ = renaming()
    swapped = rename("swapped").source.replace("old_ext", "tmp").replace("new_ext", "old_ext").replace("tmp", "new_ext")
    with open_sandbox() as sandbox:
        options = Options(budget="fast", checks=frozenset({"effect-equivalent"}))
        right = verify(subject, evidence, sandbox=sandbox, options=options)
        wrong = verify(parse_subject(swapped, "skill.py"), evidence, sandbox=sandbox, options=options)
    assert right.verdict is Verdict.PASS
    assert {t: dict(a) for t, a in right.bindings.items()} == {t: dict(a) for t, a in RENAME_ARGS.items()}
    assert right.inferred == tuple(sorted(RENAME_ARGS))
    assert wrong.verdict is not Verdict.PASS

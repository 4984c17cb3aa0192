"""The shipped suite judges engines: what is kept, broken and untried, on a sandbox that plays a script."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake import INFO, FakeSandbox

from sandbox import conformance
from sandbox.conformance import FAMILIES, PROMISES, Hostile, deviations
from sandbox.conformance.suite import Conformance, try_engine
from sandbox.interface import Cause, ExecResult, Leftover, ReplayRecord, Returned, SandboxError, Snapshot

CALM = ReplayRecord(Returned(7), (ExecResult(0, None, b"out", b""),), Snapshot(), "exited")
JOB = Hostile("takes-something", "escape", skill="def attack(): return 7", value=7)


@pytest.fixture
def one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "jobs", lambda: (JOB,))


def tried(*after: ReplayRecord | SandboxError) -> Conformance:
    """The suite of one job, on a sandbox whose canaries are calm at first."""
    with FakeSandbox([CALM] * 4 + list(after)) as sandbox:
        return try_engine(sandbox, ["escape"])  # type: ignore[arg-type]  # a fake of the protocol


@pytest.mark.usefixtures("one_job")
def test_a_promise_is_kept_where_job_and_canary_are_as_they_should_be() -> None:
    """One job, one promise."""
    found = tried(CALM, CALM, CALM)
    assert found.holds is True
    assert found.lines()[1] == f"kept   escape      1 of 1 jobs  {PROMISES['escape']}"


@pytest.mark.usefixtures("one_job")
def test_a_promise_is_broken_by_the_job_or_by_what_comes_after() -> None:
    """Both are said."""
    wrong = replace(CALM, outcome=Returned(8))
    found = tried(wrong, CALM, wrong)
    assert found.holds is False
    assert found.families[0].broken[0].broken == (
        "instead of 7 there is Returned(value=8)", "a run after it is not what it was before",
    )  # fmt: skip


@pytest.mark.usefixtures("one_job")
def test_what_could_not_be_tried_leaves_the_promise_open() -> None:
    """An engine that gives up has not kept anything."""
    found = tried(SandboxError(Cause.ENGINE_LOST, "the engine is gone"))
    assert found.holds is None
    assert found.lines()[2] == "       takes-something: not tried: the engine is gone"


def test_nothing_tried_is_nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty suite is no proof."""
    monkeypatch.setattr(conformance, "jobs", lambda: ())
    assert tried().holds is None


@pytest.mark.usefixtures("one_job")
def test_watched_jobs_need_supervision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where system calls cannot be supervised, what the jobs would show stays open."""
    monkeypatch.setattr(conformance, "jobs", lambda: (replace(JOB, watched=True),))
    with FakeSandbox([CALM] * 4, replace(INFO, probes={})) as sandbox:
        assert try_engine(sandbox).holds is None  # type: ignore[arg-type]  # a fake of the protocol


def test_an_engine_whose_canaries_are_restless_is_refused() -> None:
    """Then no finding would mean anything."""
    sandbox = FakeSandbox([CALM, CALM, CALM, replace(CALM, outcome=Returned(1))])
    with pytest.raises(SandboxError, match="come out differently"):
        try_engine(sandbox)  # type: ignore[arg-type]  # a fake of the protocol


def test_every_job_would_be_missed_if_nothing_were_noticed() -> None:
    """A job that an engine passes whatever it does would be no job: each names something that must be seen."""
    blind = replace(CALM, outcome=None, leftovers=(Leftover("process", "x"),), ended="killed")
    assert [job.name for job in conformance.jobs() if not deviations(job, blind) and not job.inconclusive] == []
    assert {job.family for job in conformance.jobs()} == set(FAMILIES)

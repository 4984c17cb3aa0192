"""The contract of a session, on the scripted fake and on Docker alike; and the fake's own loudness."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest
from fake import FakeSandbox, ScriptExhausted, unchanged

from sandbox import open_sandbox
from sandbox.image import ensure_image
from sandbox.interface import (
    Cause,
    Entry,
    ExecResult,
    NoReturn,
    Raised,
    ReplayRecord,
    Returned,
    RunRequest,
    Sandbox,
    SandboxError,
    ShellJob,
    SkillJob,
    Snapshot,
    effects,
)

BASE = Snapshot({"a": Entry("file", 0o644, b"a\n"), "d": Entry("dir", 0o755)})
ROOT = {".": Entry("dir", 0o755)}
SKILL = "from skill_api import skill_command\n@skill_command\ndef f(x: int):\n    {}\n"


def skill(body: str, x: int = 1) -> RunRequest:
    return RunRequest(SkillJob(SKILL.format(body), {"x": x}), BASE)


def said(code: int | None, out: bytes = b"", signal: int | None = None, cwd: str = ".") -> ExecResult:
    return ExecResult(code, signal, out, b"", stdout_bytes=len(out), cwd=cwd)


def record(outcome: Returned | Raised | NoReturn | None, *steps: ExecResult, **changes: Entry | None) -> ReplayRecord:
    return ReplayRecord(outcome, steps, Snapshot({**BASE, **ROOT}).replace(changes), "exited")


CASES: list[tuple[RunRequest, ReplayRecord]] = [
    (skill("return [x, None]", 7), record(Returned([7, None]), said(0))),
    (skill("print(x); return None"), record(Returned(None), said(0, b"1\n"))),
    (skill("return open('n', 'w').write('x')"), record(Returned(1), said(0), n=Entry("file", 0o644, b"x"))),
    (skill("import os; os.unlink('a')"), record(Returned(None), said(0), a=None)),
    (skill("raise ValueError(x)"), record(Raised("ValueError", "1", "line 4: raise ValueError(x)", 4), said(0))),
    (skill("return {x}"), record(NoReturn("the value is not JSON: Object of type set is not JSON serializable"), said(0))),
    (skill("import os; os._exit(4)"), record(NoReturn("exited 4 without a return value"), said(4))),
    (skill("import os; os.kill(os.getpid(), 9)"), record(NoReturn("killed by signal 9"), said(None, signal=9))),
    (
        RunRequest(ShellJob(("cd d; echo x > y", "cat y; exit 3", "kill $$")), BASE),
        record(
            None, said(0), said(3, b"x\n", cwd="d"), said(None, signal=15, cwd="d"), **{"d/y": Entry("file", 0o644, b"x\n")}
        ),
    ),
    (
        RunRequest(ShellJob(("ln a b",)), BASE),
        record(None, said(0), a=replace(BASE["a"], links=2), b=replace(BASE["a"], links=2)),
    ),
    (
        RunRequest(ShellJob(("echo more >> b",)), BASE.replace({p: Entry("file", 0o644, b"x", links=2) for p in "ab"})),
        record(None, said(0), **{p: Entry("file", 0o644, b"xmore\n", links=2) for p in "ab"}),
    ),
]  # fmt: skip


def fake(cases: list[tuple[RunRequest, ReplayRecord]]) -> AbstractContextManager[Sandbox]:
    return FakeSandbox([answer for _, answer in cases])


def docker(cases: list[tuple[RunRequest, ReplayRecord]]) -> AbstractContextManager[Sandbox]:
    return open_sandbox(image=ensure_image(lambda _: None), workers=2)


Opener = Callable[[list[tuple[RunRequest, ReplayRecord]]], AbstractContextManager[Sandbox]]


@pytest.fixture(params=[fake, pytest.param(docker, marks=pytest.mark.engine)], ids=["fake", "docker"])
def opener(request: pytest.FixtureRequest) -> Opener:
    chosen: Opener = request.param
    return chosen


def facts(found: ReplayRecord) -> tuple[object, ...]:
    return found.outcome, found.steps, found.ended, found.leftovers, found.network, found.protocol_findings


def test_records_are_the_facts_in_the_order_of_the_requests(opener: Opener) -> None:
    """One by one and all at once, each request gets its own record."""
    with opener(CASES * 2) as sandbox, sandbox.session("contract") as session:
        for request, expected in CASES:
            found = session.run(request)
            assert facts(found) == facts(expected)
            assert effects(expected.post, found.post) == ()
        together = session.map(request for request, _ in CASES)
        assert [facts(r) for r in together] == [facts(expected) for _, expected in CASES]
        assert session.runs == 2 * len(CASES)
        session.close()


def test_an_empty_map_is_empty(opener: Opener) -> None:
    """No request, no record, no run."""
    with opener([]) as sandbox, sandbox.session("empty") as session:
        assert session.map([]) == []
        assert session.runs == 0


# ---------------------------------------------------------------- the fake


def test_a_run_too_many_is_loud() -> None:
    """A script that has come to its end does not answer."""
    with FakeSandbox([unchanged]) as sandbox, sandbox.session("x") as session:
        assert session.run(CASES[0][0]).post == BASE
        with pytest.raises(ScriptExhausted, match="run 2"):
            session.run(CASES[0][0])


def test_answers_that_nobody_asked_for_are_loud() -> None:
    """A script that is not played to its end is an error, too."""
    with pytest.raises(AssertionError, match="never asked for"), FakeSandbox([unchanged]):
        pass


def test_errors_are_part_of_a_script() -> None:
    """A scripted SandboxError is raised, and the request is on record."""
    with FakeSandbox([SandboxError(Cause.ENGINE_LOST, "gone")]) as sandbox:
        with pytest.raises(SandboxError, match="gone"):
            sandbox.session("x").run(CASES[0][0])
        assert sandbox.asked == [CASES[0][0]]


def test_a_closed_session_runs_nothing() -> None:
    """Nor does the fake pretend that it would."""
    with FakeSandbox([]) as sandbox:
        session = sandbox.session("x")
        session.close()
        with pytest.raises(AssertionError, match="closed"):
            session.run(CASES[0][0])

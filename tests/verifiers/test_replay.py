"""Which evidence is usable: what a task with an effect prints last need not be the same each time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from sandbox.interface import Entry, ExecResult, Leftover, ReplayRecord, RunRequest, Session, Snapshot
from verifiers.context import Judge
from verifiers.expectation.oracle import Replayed, replay
from verifiers.interface import Evidence


class Printing:
    """A session whose one command makes ``made`` and prints the next of ``answers``."""

    runs = 0

    def __init__(self, answers: Iterable[str], made: dict[str, Entry], left: tuple[Leftover, ...] = ()) -> None:
        self._answers, self._made, self._left = list(answers), made, left

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        return [self._ran(r) for r in requests]

    def _ran(self, request: RunRequest) -> ReplayRecord:
        step = ExecResult(0, None, self._answers.pop(0).encode(), b"")
        return ReplayRecord(None, (step,), request.base.replace(dict(self._made)), "exited", self._left)


def replayed(answers: list[str], recorded: str, made: dict[str, Entry], left: tuple[Leftover, ...] = ()) -> Replayed:
    base = Snapshot({"a": Entry("file", 0o644, b"1")})
    evidence = Evidence("t", "d", ("do",), (recorded,), None, None, base, base.replace(dict(made)), True)
    return replay([evidence], cast(Session, Printing(answers, made, left)))


MADE = {"b": Entry("file", 0o644, b"2")}


@pytest.mark.parametrize("answers", [["10:01", "10:01", "10:01"], ["10:01", "10:02", "10:03"], ["x", "x", "x"]])
def test_a_task_with_an_effect_may_print_something_else(answers: list[str]) -> None:
    (usable,) = replayed(answers, "10:00", MADE).usable
    assert not usable.expectation.answer_known


@pytest.mark.parametrize(
    ("left", "may"),
    [
        (Leftover("file", "/tmp/new.csv"), True), (Leftover("file", "/var/tmp/x"), True), (Leftover("file", "/opt/x"), False),
        (Leftover("process", "sleep 9"), False), (Leftover("home", "/home/somebody/.bashrc"), False),
    ],
)  # fmt: skip
def test_recorded_commands_may_leave_files_below_tmp_and_nothing_else(left: Leftover, *, may: bool) -> None:
    """Agents write to ``/tmp`` and move on; a skill that does so is refused all the same."""
    found = replayed(["7", "7", "7"], "7", MADE, (left,))
    assert bool(found.usable) is may
    assert may or "outside the workspace" in found.unusable["t"]


def test_the_same_output_each_time_is_an_answer() -> None:
    (usable,) = replayed(["7", "7", "7"], "7", MADE).usable
    assert usable.expectation.answer_known


@pytest.mark.parametrize("answers", [["8", "8", "8"], ["7", "8", "7"]])
def test_a_task_that_only_answers_must_print_what_was_recorded(answers: list[str]) -> None:
    assert "t" in replayed(answers, "7", {}).unusable


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("fatal: unable to access 'https://example.org/x.git/': Could not resolve host: example.org", "needs the network"),
        ("error: cannot run ssh: No such file or directory", "needs the network"),
        ("fatal: not a git repository", "ended with 0 when recorded and with 128 when replayed"),
    ],
)
def test_a_remote_elsewhere_is_one_sentence(said: str, why: str) -> None:
    class Failing:
        runs = 0

        def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
            step = ExecResult(128, None, b"", said.encode())
            return [ReplayRecord(None, (step,), r.base, "exited") for r in requests]

    base = Snapshot({"a": Entry("file", 0o644, b"1")})
    evidence = Evidence("t", "d", ("git push",), ("",), None, (0,), base, base, True)
    assert why in replay([evidence], cast(Session, Failing())).unusable["t"]


def test_an_unknown_answer_is_not_compared() -> None:
    (usable,) = replayed(["10:01", "10:02", "10:03"], "10:00", MADE).usable
    judge = Judge(read_only=False, answer_path="output")
    record = ReplayRecord(None, (), usable.expectation.tree, "exited")
    assert judge.answer_wrong(record, usable.expectation) is None

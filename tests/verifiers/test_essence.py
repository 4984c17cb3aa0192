"""A trace without the commands that only look around."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

import pytest

from sandbox.interface import Entry, ExecResult, ReplayRecord, RunRequest, ShellJob, Snapshot
from verifiers.context import Case, Context
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Evidence
from verifiers.worlds.essence import essential


class Shell:
    """Knows ``ls``, ``touch NAME``, ``mkdir -p`` as ``mkdir NAME`` and ``cd DIR``."""

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        return [self._run(r) for r in requests]

    def _run(self, request: RunRequest) -> ReplayRecord:
        assert isinstance(request.job, ShellJob)
        tree, cwd, steps = dict(request.base.items()), ".", []
        for command in request.job.commands:
            name, _, word = command.partition(" ")
            out = "\n".join(sorted(tree)).encode() if name == "ls" else b""
            steps.append(ExecResult(0, None, out, b"", cwd=cwd))
            if name == "touch":
                tree[word if cwd == "." else f"{cwd}/{word}"] = Entry("file", 0o644)
            if name == "mkdir":
                tree.setdefault(word, Entry("dir", 0o755))
            if name == "rm":
                tree.pop(word.split()[-1], None)
            cwd = word if name == "cd" else cwd
        return ReplayRecord(None, tuple(steps), Snapshot(tree), "exited")


def reduced(commands: tuple[str, ...], *, read_only: bool = False, claims: bool = False) -> tuple[str, ...]:
    return together(commands, read_only=read_only, claims=claims)[0]


def together(*traces: tuple[str, ...], read_only: bool = False, claims: bool = False) -> list[tuple[str, ...]]:
    """What is left of the commands of each trace."""
    shell = Shell()
    context = SimpleNamespace(
        traces=shell,
        replayed=SimpleNamespace(read_only=read_only),
        judge=SimpleNamespace(answer_path="output" if claims else None),
    )
    found = essential(cast(Context, context), [recorded(shell, commands) for commands in traces])
    assert all(len(c.expectation.exit_codes) == len(c.evidence.commands) for c in found if c.evidence is not None)
    return [c.evidence.commands for c in found if c.evidence is not None]


def recorded(shell: Shell, commands: tuple[str, ...]) -> Case:
    base = Snapshot({"d": Entry("dir", 0o755)})
    (record,) = shell.map([RunRequest(ShellJob(commands), base)])
    answer = record.steps[-1].stdout.decode()
    zeros, quiet = (0,) * len(commands), (True,) * len(commands)
    x = Expectation(base, record.post, frozenset(), answer, True, zeros, quiet)
    return Case("t", {}, x, "t", Evidence("t", "d", commands, ("",) * len(commands), None, None, base, record.post, True))


@pytest.mark.parametrize(
    ("commands", "kept"),
    [
        (("ls", "touch a", "ls"), ("touch a",)),
        (("touch a",), ("touch a",)),
        (("cd d", "touch a"), ("cd d", "touch a")),
        (("ls", "touch a", "touch b"), ("touch a", "touch b")),
        (("ls", "mkdir d", "touch a"), ("mkdir d", "touch a")),
    ],
)
def test_looking_is_left_out(commands: tuple[str, ...], kept: tuple[str, ...]) -> None:
    """What changes neither the tree nor the directory goes."""
    assert reduced(commands) == kept


def test_what_answers_stays() -> None:
    """The last command of a task that is asked for an answer is the one that gives it."""
    assert reduced(("ls", "ls"), read_only=True) == ("ls",)
    assert reduced(("ls", "touch a", "ls"), claims=True) == ("touch a", "ls")


def test_what_changes_something_in_one_trace_stays_in_all() -> None:
    """A command that had nothing to do here may have something to do elsewhere; one that looks at the like of it stays out."""
    assert together(("touch a", "rm -f d"), ("ls", "touch b", "rm -f q", "ls")) == [
        ("touch a", "rm -f d"),
        ("touch b", "rm -f q"),
    ]
    assert together(("touch a", "rm -f d"), ("rm -n q", "touch b"))[1] == ("touch b",)

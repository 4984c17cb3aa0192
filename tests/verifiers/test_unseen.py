"""What a run changed is told by the calls that it made, or the verdict stays open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sandbox.interface import Call, Entry, ExecResult, ReplayRecord, Returned, RunRequest, SkillJob, Snapshot
from verifiers.context import breaches
from verifiers.expectation.unseen import unlogged

BASE = Snapshot({"a": Entry("file", content=b"1"), "d": Entry("dir", 0o755), "d/x": Entry("file", content=b"2")})
MOVED = Snapshot({"a": Entry("file", content=b"1"), "e": Entry("dir", 0o755), "e/x": Entry("file", content=b"2")})
REQUEST = RunRequest(SkillJob("", {}), BASE)


def ran(post: Snapshot, *calls: tuple[str, str, str]) -> ReplayRecord:
    made = tuple(Call(i, k, k, p, q, changes_tree=True) for i, (k, p, q) in enumerate(calls))  # type: ignore[arg-type]
    return ReplayRecord(Returned(1), (ExecResult(0, None, b"", b""),), post, "exited", calls=made)


@pytest.mark.parametrize(
    ("record", "path"),
    [
        (ran(BASE), ""),
        (ran(MOVED), "d"),
        (ran(MOVED, ("rename", "ROOT/d", "ROOT/e")), ""),
        (ran(MOVED, ("rename", "ROOT/dd", "ROOT/e")), "d"),
        (ran(MOVED, ("rename", "?", "")), ""),
        (ran(Snapshot({**BASE, "a": Entry("file", content=b"3")}), ("chmod", "ROOT/d", "")), "a"),
        (ran(Snapshot({**BASE, "a": Entry("file", 0o600, b"1")}), ("chmod", "ROOT/a", "")), ""),
    ],
)
def test_an_effect_needs_its_call(record: ReplayRecord, path: str) -> None:
    """The first path that changed by itself; a call of an unknown path may have been any."""
    from sandbox.codec import workdir

    root = workdir(REQUEST.surroundings)
    calls = tuple(replace(c, path=c.path.replace("ROOT", root), path2=c.path2.replace("ROOT", root)) for c in record.calls)
    assert unlogged(REQUEST, replace(record, calls=calls)) == path


def test_a_hidden_caller_is_a_finding() -> None:
    """It is said as what it is."""
    record = replace(ran(BASE), outside=("renameat2 ?", "mkdir /etc/x"))
    assert breaches(record) == [
        "hid what it changes: the caller of renameat2 cannot be looked into",
        "changed something outside the workspace: mkdir /etc/x",
    ]

"""Files of others at places where everybody may write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import open_sandbox
from sandbox.interface import Call, Entry, ReplayRecord, Returned, Snapshot
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.evidence import load_evidence
from verifiers.expectation.neighbours import neighbours
from verifiers.interface import Binding, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

EXAMPLES = Path(__file__).parents[2] / "fixtures" / "examples"
CLEAN = ReplayRecord(Returned(1), (), Snapshot({"a": Entry("file")}), "exited")
CALLS = (
    Call(0, "openat", "create", "/ws/a"),
    Call(1, "openat", "create", "/tmp/a"),
    Call(2, "openat", "open-read", "/tmp/b"),
    Call(3, "rename", "rename", "/ws/c", "/dev/shm/c"),
    Call(4, "openat", "create", "/tmp/d"),
    Call(5, "openat", "create", "/tmp/d/e"),
    Call(6, "openat", "open-write", "/dev/null"),
    Call(7, "openat", "create", "/tmp/a"),
)


def test_what_a_run_takes_for_itself() -> None:
    """Paths that it wrote to where everybody may, each once; no file where a directory must be."""
    record = replace(CLEAN, calls=CALLS)
    assert neighbours(record, ()) == ("/tmp/a", "/dev/shm/c", "/tmp/d/e")


def test_what_the_commands_take_too() -> None:
    """Is the task's own, by its whole path or from within the place; a name of the workspace alone says nothing."""
    record = replace(CLEAN, calls=CALLS[:2])
    assert neighbours(record, ("sort x > /tmp/a", "cat a")) == ()
    assert neighbours(record, ("cd /tmp; touch a",)) == ()
    assert neighbours(record, ("touch a",)) == ("/tmp/a",)


def test_a_workspace_in_such_a_place() -> None:
    """Its files are no neighbours."""
    record = replace(CLEAN, calls=CALLS[:2], probe={"cwd": "/tmp"})
    assert neighbours(record, ()) == ()


WAYS = {
    "random": "    import os, tempfile\n    fd, name = tempfile.mkstemp()\n    os.close(fd)\n    os.unlink(name)\n    return {",
    "its own": '    scratch = Path("/tmp/renaming.tmp")\n    scratch.write_text("x")\n    scratch.unlink()\n    return {',
    "theirs": "    for p in files:\n        p = Path('/tmp') / p.name\n        p.touch()\n        p.unlink()\n    return {",
}


@pytest.mark.engine
@pytest.mark.parametrize(("way", "verdict"), [("random", Verdict.PASS), ("its own", Verdict.FAIL), ("theirs", Verdict.FAIL)])
def test_a_name_in_tmp_that_others_may_have(way: str, verdict: Verdict) -> None:
    """A file of theirs that has it is gone afterwards; a drawn name is nobody's."""
    example = rename(way, RENAME_BODY.replace("    return {", WAYS[way]))
    evidence = load_evidence(EXAMPLES / f"{example.evidence}.jsonl")
    bindings = {t: Binding(t, a) for t, a in example.args.items()}
    options = Options(budget="fast", checks=frozenset({"deterministic-replay", "contained"}))
    with open_sandbox() as box:
        report = verify(parse_subject(example.source, "example.py"), evidence, bindings, sandbox=box, options=options)
    assert report.verdict is verdict
    assert (verdict is Verdict.PASS) or "the user's own /tmp/" in report.why

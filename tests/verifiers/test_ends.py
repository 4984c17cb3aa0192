"""What holds of all recorded ends: commands that break it do not say what is right."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Raised, ReplayRecord, Returned, Snapshot
from verifiers.context import Case
from verifiers.expectation.oracle import Expectation
from verifiers.worlds.ends import unlike_the_recorded

ONE, TWO = "12\n40\n59", "3\n8\n77\n101"


def tree(files: dict[str, bytes]) -> Snapshot:
    return Snapshot({p: Entry("file", 0o644, content) for p, content in files.items()})


def end(base: dict[str, bytes], after: dict[str, bytes], answer: str = "") -> Expectation:
    return Expectation(tree(base), tree(after), frozenset(), answer, True, (0,), (True,))


def asked(recorded: list[Expectation], commands: Expectation, after: dict[str, bytes], answer: str = "") -> str:
    """The name of what the skill's end keeps and the commands' breaks."""
    gs: Any = [SimpleNamespace(base=x.base, expectation=x, args={"file": "a"}) for x in recorded]
    context: Any = SimpleNamespace(judge=SimpleNamespace(answer_path="output"))
    record = ReplayRecord(Returned({"ok": True, "output": answer}), (), tree(after), "exited")
    found = unlike_the_recorded(gs, context, Case("c", {"file": "a"}, commands, "t"), record)
    return found.name if found is not None else ""


@pytest.mark.parametrize(
    ("commands", "skill", "name"),
    [
        ("0\n0\n59", "0\n59", "end:unique-keys"),
        ("0\n0\n59", "59", "end:unique-keys"),
        ("0\n0\n59", "0\n0", ""),
        ("0\n0\n59", "0\n60", ""),
        ("10\n10", "", "end:unique-keys"),
        ("0\n59", "0", ""),
    ],
    ids=["each once", "fewer", "twice all the same", "other lines", "none", "nothing unusual"],
)
def test_an_answer_that_never_said_a_line_twice(commands: str, skill: str, name: str) -> None:
    """A skill that says it twice too, or something else where nothing is unusual, is just wrong."""
    recorded = [end({"a": b"x"}, {"a": b"x"}, answer) for answer in (ONE, TWO)]
    assert asked(recorded, end({"a": b"x"}, {"a": b"x"}, commands), {"a": b"x"}, skill) == name


def packed(*contents: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for content in contents:
            info = tarfile.TarInfo("f")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.mark.parametrize(
    ("made", "name"),
    [(b"new\n", "end:copied"), (b"old\n", "end:copied"), (b"new\nold\n", ""), (b"1\n", "")],
    ids=["last", "first", "other", "not from there"],
)
def test_what_was_always_a_copy_is_one(made: bytes, name: str) -> None:
    """``tar -xO`` puts two members of one name one after the other."""
    one, two, both = packed(b"1\n"), packed(b"2\n"), packed(b"old\n", b"new\n")
    recorded = [end({"a": one}, {"a": one, "f": b"1\n"}), end({"a": two}, {"a": two, "f": b"2\n"})]
    commands = end({"a": both}, {"a": both, "f": b"old\nnew\n"})
    assert asked(recorded, commands, {"a": both, "f": made}) == name


def test_a_file_that_is_removed_has_no_end() -> None:
    """The last line goes, and an empty file is left, which no recording has; the skill removes the file."""
    recorded = [end({"a": b"1\n2\n"}, {"a": b"1\n"}), end({"a": b"3\n4\n"}, {"a": b"4\n"})]
    commands = end({"a": b"5\n"}, {"a": b""})
    assert asked(recorded, commands, {}) == ""
    assert asked(recorded, commands, {"a": b"6\n"}) == ""


def test_a_run_that_fails_has_no_end() -> None:
    x = end({"a": b"x"}, {"a": b"x"}, ONE)
    gs: Any = [SimpleNamespace(base=x.base, expectation=x, args={})]
    context: Any = SimpleNamespace(judge=SimpleNamespace(answer_path=None))
    record = ReplayRecord(Raised("ValueError", "no"), (), x.base, "exited")
    assert unlike_the_recorded(gs, context, Case("c", {}, replace(x, answer="1\n1"), "t"), record) is None


@given(st.lists(st.text("ab1,\n", max_size=12), min_size=1, max_size=3), st.text("ab1,\n", max_size=12))
def test_who_does_as_the_commands_is_never_asked(answers: list[str], answer: str) -> None:
    """Whatever was recorded."""
    base = {"a": b"x"}
    recorded = [end(base, base, text) for text in answers]
    assert asked(recorded, end(base, base, answer), base, answer) == ""

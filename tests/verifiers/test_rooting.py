"""Absolute paths of recordings: mounted, rewritten, or of no importance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from verifiers.evidence import evidence_from_record
from verifiers.expectation.rooting import mountable, rooted
from verifiers.interface import Evidence


def evidence(root: str | None, *commands: str, output: str = "", base: Snapshot | None = None) -> Evidence:
    return Evidence("t", "x", commands, (output,) * len(commands), None, None, base, None, True, workspace_root=root)


def test_a_root_that_nothing_mentions_is_dropped() -> None:
    """The workspace may lie anywhere."""
    assert rooted(evidence("/home/dev/notes", "ls")).workspace_root is None


def test_a_mountable_root_stays() -> None:
    """Commands are left as they were."""
    found = rooted(evidence("/home/dev/notes/", "cat /home/dev/notes/a"))
    assert (found.workspace_root, found.rewritten) == ("/home/dev/notes", False)
    assert found.commands == ("cat /home/dev/notes/a",)


def test_another_root_is_rewritten_as_a_whole_word() -> None:
    """In commands, outputs and link targets; longer names that begin alike are left alone."""
    base = Snapshot({"l": Entry("symlink", 0o777, target="/data/x/a"), "f": Entry("file", 0o644, b"/data/x")})
    found = rooted(evidence("/data/x", "cat '/data/x/a' /data/xy ./data/x", output="/data/x\n", base=base))
    assert found.commands == ("cat '/ws/a' /data/xy ./data/x",)
    assert found.outputs == ("/ws\n",)
    assert (found.rewritten, found.workspace_root) == (True, None)
    assert found.base is not None
    assert found.base["l"].target == "/ws/a"
    assert found.base["f"].content == b"/data/x"


@pytest.mark.parametrize(
    ("root", "yes"),
    [
        ("/home/me/x", True),
        ("/testbed", True),
        ("/workspace/a", True),
        ("/tmp/x", True),
        ("/tmp", False),
        ("/home", False),
        ("/etc", False),
    ],
)
def test_only_harmless_places_are_mountable(root: str, yes: bool) -> None:
    """Never over what the image needs."""
    assert mountable(root) is yes


def test_records_are_settled_when_they_are_read() -> None:
    """A file's evidence comes rewritten; a trace keeps its own words."""
    record = {
        "task_id": "t", "task_description": "x", "commands": ["ls /srv/w"], "outputs": ["a\n"], "success": True,
        "metadata": {"workspace_root": "/srv/w"},
    }  # fmt: skip
    assert evidence_from_record(record, "x").commands == ("ls /ws",)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")), st.text(min_size=1))
def test_any_root_and_text(command: str, root: str) -> None:
    """Never an error, and settled once is settled."""
    once = rooted(evidence("/" + root, command))
    assert rooted(once) == once

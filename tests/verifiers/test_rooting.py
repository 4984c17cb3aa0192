"""Absolute paths of recordings: mounted, rewritten, or of no importance."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, Snapshot
from verifiers.evidence import evidence_from_record
from verifiers.expectation.rooting import mountable, names_its_place, rooted
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


def cloned(root: str, *commands: str, output: str = "") -> Evidence:
    """A recording in which git noted where a remote lies: in a repository that was there, and in one that was made."""

    def config(place: str) -> Entry:
        return Entry("file", 0o644, f"url = {place}/hub.git\n".encode())

    base = {
        ".git/HEAD": Entry("file", 0o644, b"x"),
        ".git/config": config(root),
        "notes": config(root),
        "app/config": config(root),
    }
    made = {"copy/.git/HEAD": Entry("file", 0o644, b"x"), "copy/.git/config": config(root), "log": config(root + "y")}
    return replace(
        evidence(root, *commands, output=output, base=Snapshot(base)), post=Snapshot({**base, **made}),
    )  # fmt: skip


@pytest.mark.parametrize("root", ["/home/me/x", "/data/x"])
def test_what_a_program_noted_of_the_place_is_rewritten(root: str) -> None:
    """So several recordings lie at one path; texts about it stay, as do longer names."""
    found = rooted(cloned(root, "git clone -q hub.git copy", output=f"To {root}/hub.git"))
    assert (found.rewritten, found.workspace_root, found.outputs) == (True, None, ("To /ws/hub.git",))
    assert found.base is not None
    assert found.post is not None
    assert {p: e.content.decode().split()[-1] for p, e in found.post.items() if e.type == "file" and not p.endswith("HEAD")} == {
        ".git/config": "/ws/hub.git", "copy/.git/config": "/ws/hub.git", "notes": f"{root}/hub.git", "log": f"{root}y/hub.git",
        "app/config": f"{root}/hub.git",
    }  # fmt: skip
    assert found.base[".git/config"] == found.post[".git/config"]
    assert names_its_place(found)
    assert rooted(found) == found


def test_a_place_that_commands_say_is_mounted() -> None:
    """Its files are right there, and no skill is to know another place."""
    found = rooted(cloned("/home/me/x", "git clone -q /home/me/x/hub.git copy"))
    assert (found.rewritten, found.workspace_root) == (False, "/home/me/x")
    assert not names_its_place(found)

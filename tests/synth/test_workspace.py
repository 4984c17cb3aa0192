"""Directories as snapshots, and effects copied back: everything that should happen, and nothing outside."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import ROOT, Effect, Entry, Snapshot, effects
from synth.tracing.workspace import WorkspaceError, apply, snapshot_of, write_tree

NAMES = st.text("ab é-*$'\n ", min_size=1, max_size=4).filter(lambda n: n not in (".", ".."))
MODES = st.sampled_from([0o644, 0o600, 0o755])
FILES = st.builds(lambda mode, content: Entry("file", mode, content), MODES, st.binary(max_size=12))
LINKS = st.builds(lambda target: Entry("symlink", 0o777, target=target), st.sampled_from(["a", "../x", "/etc/hosts"]))
LEAVES = st.one_of(FILES, LINKS)


@st.composite
def trees(draw: st.DrawFn) -> Snapshot:
    """Two levels of names, with files, links and directories."""
    entries: dict[str, Entry] = {}
    for name in draw(st.lists(NAMES, max_size=4, unique=True)):
        if draw(st.booleans()):
            entries[name] = draw(LEAVES)
        else:
            entries[name] = Entry("dir", draw(st.sampled_from([0o755, 0o700])))
            for below in draw(st.lists(NAMES, max_size=2, unique=True)):
                entries[f"{name}/{below}"] = draw(LEAVES)
    return Snapshot(entries)


def bare(directory: Path) -> Snapshot:
    """The snapshot without the directory's own mode."""
    return Snapshot({p: e for p, e in snapshot_of(directory).items() if p != ROOT})


def modes_set(tree: Snapshot, directory: Path) -> None:
    for path, entry in tree.items():
        if entry.type == "dir":
            (directory / path).chmod(entry.mode)


@given(trees())
def test_written_trees_read_back(tree: Snapshot) -> None:
    """What is written is what is read, byte for byte and mode for mode."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "tree"
        write_tree(tree, target)
        modes_set(tree, target)
        assert bare(target) == tree


@given(trees(), trees())
def test_applied_effects_lead_to_the_other_tree(before: Snapshot, after: Snapshot) -> None:
    """Any tree becomes any other, and a second application is refused since the start is gone."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "tree"
        write_tree(before, target)
        modes_set(before, target)
        changes = effects(before, after)
        apply(changes, target)
        assert bare(target) == after
        if changes:
            with pytest.raises(WorkspaceError, match="changed while the skill ran"):
                apply(changes, target)
        assert bare(target) == after
        assert [p.name for p in Path(folder).iterdir()] == ["tree"]


def change(path: str, before: Entry | None, after: Entry | None) -> Effect:
    return Effect(path, "created" if before is None else "content", before, after)


@pytest.mark.parametrize("path", ["../outside", "a/../../outside", "link/inner"])
def test_nothing_outside_is_touched(tmp_path: Path, path: str) -> None:
    """Neither ``..`` nor a directory that is a link leads out."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    with pytest.raises((WorkspaceError, OSError)):
        apply([change(path, None, Entry("file", 0o644, b"x"))], inside)
    assert list(outside.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out"]


def test_nothing_is_applied_over_a_newer_file(tmp_path: Path) -> None:
    """A file that was edited meanwhile stops everything before the first change."""
    (tmp_path / "a").write_bytes(b"edited")
    old = Entry("file", 0o644, b"old")
    with pytest.raises(WorkspaceError, match="a changed while"):
        apply([change("new", None, old), change("a", old, Entry("file", 0o644, b"new"))], tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a"]


def test_set_user_id_is_left_out(tmp_path: Path) -> None:
    """A skill cannot make a set-user-ID program of its output."""
    apply([change("tool", None, Entry("file", 0o4755, b"#!"))], tmp_path)
    assert (tmp_path / "tool").stat().st_mode & 0o7777 == 0o755


def test_special_files_are_refused(tmp_path: Path) -> None:
    """FIFOs and devices are not made on the host."""
    with pytest.raises(WorkspaceError, match="would become a fifo"):
        apply([change("pipe", None, Entry("fifo", 0o644))], tmp_path)


def test_reading_follows_no_link_and_knows_special_files(tmp_path: Path) -> None:
    """A link is a link; a FIFO is read as what it is, without blocking."""
    (tmp_path / "link").symlink_to("/etc/hosts")
    os.mkfifo(tmp_path / "pipe", 0o600)
    tree = bare(tmp_path)
    assert tree["link"] == Entry("symlink", 0o777, target="/etc/hosts")
    assert tree["pipe"].type == "fifo"


def test_a_missing_directory_is_said(tmp_path: Path) -> None:
    """With advice, not a traceback."""
    with pytest.raises(WorkspaceError, match="is not a directory"):
        snapshot_of(tmp_path / "nowhere")

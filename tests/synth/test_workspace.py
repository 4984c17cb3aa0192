"""Directories as snapshots, and effects copied back: everything that should happen, and nothing outside."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

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


BIG = Entry("file", 0o644, b"x" * (1 << 20))


def file(content: bytes) -> Entry:
    return Entry("file", 0o644, content)


@contextmanager
def limited(size: int) -> Iterator[None]:
    """No file of this process becomes larger: the system refuses the write in its middle, as a full disk does."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_file_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    """What the skill would remove or replace is still there, nothing else is, and the error names the path."""
    before = Snapshot({"a": file(b"old"), "b": file(b"gone"), "d": Entry("dir", 0o755), "d/x": file(b"deep"), "f": file(b"leaf")})
    after = Snapshot({"a": file(b"new"), "d": file(b"now a file"), "f": Entry("dir", 0o755), "f/y": file(b""), "z": BIG})
    target = tmp_path / "tree"
    write_tree(before, target)
    with limited(1 << 16), pytest.raises(WorkspaceError, match="could not be applied: File too large") as e:
        apply(effects(before, after), target)
    assert bare(target) == before
    assert e.value.diagnostics().startswith(f"{target / 'z'}: ")
    apply(effects(before, after), target)
    assert bare(target) == after


@pytest.mark.parametrize("call", ["mkdir", "replace", "symlink", "fsync"])
def test_whatever_fails_nothing_is_lost(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any one call of the system may be refused before all that is new is in place: nothing goes, nothing is left lying about."""
    link = Entry("symlink", 0o777, target="b")
    before = Snapshot({"b": file(b"gone"), "d": Entry("dir", 0o755), "d/x": file(b"deep"), "f": file(b"leaf")})
    after = Snapshot({"c": file(b"c"), "d": link, "f": Entry("dir", 0o755), "f/y": Entry("dir", 0o755), "f/y/z": link})
    real, refused = getattr(os, call), 0
    for at in range(10):
        target = tmp_path / str(at)
        write_tree(before, target)
        calls = count()

        def refusing(*args: Any, at: int = at, calls: Iterator[int] = calls, **more: Any) -> Any:
            if next(calls) == at:
                raise OSError(28, "No space left on device")
            return real(*args, **more)

        with monkeypatch.context() as patched:
            patched.setattr(os, call, refusing)
            try:
                apply(effects(before, after), target)
            except WorkspaceError:
                refused += 1
                assert bare(target) == before
            else:
                assert bare(target) == after
    assert refused

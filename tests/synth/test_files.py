"""Files put in place whole, and digests of directories that miss nothing."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.files import inside, manifest, manifest_digest, manifest_of, write_atomic, write_tree

PATHS = st.lists(
    st.from_regex(r"[a-zé _.]{1,6}", fullmatch=True).filter(lambda s: s not in (".", "..")), min_size=1, max_size=3
).map("/".join)


@given(st.dictionaries(PATHS, st.binary(max_size=30), max_size=5))
def test_what_is_written_has_the_digest_that_was_foretold(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    """The manifest of files in memory is the manifest of the directory made of them."""
    names = sorted(files)
    if any(b.startswith(f"{a}/") for a in names for b in names):
        return
    root = tmp_path_factory.mktemp("t") / "tree"
    write_tree(root, files)
    assert manifest(root) == manifest_of(files)
    assert {p: (root / p).read_bytes() for p in files} == files


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda p: (p / "a").write_bytes(b"2"),
    "mode": lambda p: (p / "a").chmod(0o755),
    "name": lambda p: (p / "a").rename(p / "b"),
    "a link in place of a file": lambda p: ((p / "a").unlink(), (p / "a").symlink_to("d/x")),
    "another link target": lambda p: ((p / "l").unlink(), (p / "l").symlink_to("b")),
    "an empty directory": lambda p: (p / "e").mkdir(),
    "a removed file": lambda p: (p / "d" / "x").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_kind_of_change_changes_the_digest(tmp_path: Path, change: str) -> None:
    """Content, mode, name, type, target, empty directories, presence."""
    root = tmp_path / "t"
    write_tree(root, {"a": b"1", "d/x": b""})
    (root / "l").symlink_to("a")
    before = manifest_digest(manifest(root))
    CHANGES[change](root)
    assert manifest_digest(manifest(root)) != before


def test_who_may_read_a_copy_is_no_change(tmp_path: Path) -> None:
    """A clone has the modes of its own umask."""
    root = tmp_path / "t"
    write_tree(root, {"a": b"1", "d/x": b"#!/bin/sh\n"})
    before = manifest(root)
    (root / "a").chmod(0o600)
    (root / "d" / "x").chmod(0o700)
    (root / "d").chmod(0o775)
    assert manifest(root) == before
    (root / "d" / "x").chmod(0o4700)
    assert manifest(root) != before


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    """Mode kept, nothing left beside it, and nothing changed when it cannot be done."""
    path = tmp_path / "f"
    write_atomic(path, b"1")
    path.chmod(0o640)
    write_atomic(path, b"2")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"2", 0o640)
    (tmp_path / "dir").mkdir()
    with pytest.raises(OSError):
        write_atomic(tmp_path / "dir", b"3")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dir", "f"]


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../b", "a//b", "", ".", "a/.", "a\0b"])
def test_paths_that_lead_outside_are_refused(tmp_path: Path, name: str) -> None:
    """Before anything is written there."""
    with pytest.raises(ValueError):
        inside(name)
    with pytest.raises(ValueError):
        write_tree(tmp_path / "t", {name: b""})

"""Same effect: per path and attribute, archives and repositories by what they hold."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from dulwich import porcelain
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import ROOT, Entry, Snapshot
from verifiers.expectation.equivalence import BEFORE, content_digest, differences, durable_effects, parted


def file(content: bytes, mode: int = 0o644) -> Entry:
    return Entry("file", mode, content)


entries = st.one_of(
    st.builds(Entry, st.just("file"), st.sampled_from([0o644, 0o600, 0o755]), st.binary(max_size=12)),
    st.builds(lambda m: Entry("dir", m), st.sampled_from([0o755, 0o700])),
    st.builds(lambda t: Entry("symlink", 0o777, target=t), st.sampled_from(["a", "../b"])),
)
trees = st.dictionaries(st.sampled_from(["a", "b", "c d", "é", "-x"]), entries).map(Snapshot)


@given(trees)
def test_a_tree_equals_itself(tree: Snapshot) -> None:
    """No difference is found where there is none."""
    assert differences(tree, tree) == ()


@given(trees, trees)
def test_different_trees_differ_both_ways(a: Snapshot, b: Snapshot) -> None:
    """Two trees of plain files differ exactly when they are not equal, and symmetrically."""
    assert bool(differences(a, b)) == (a != b) == bool(differences(b, a))


@given(trees, trees)
def test_volatile_attributes_are_not_compared(a: Snapshot, b: Snapshot) -> None:
    """What is volatile is left out, and nothing else."""
    found = {(d.path, d.kind) for d in differences(a, b)}
    assert differences(a, b, volatile=found) == ()
    for one in found:
        assert {(d.path, d.kind) for d in differences(a, b, volatile={one})} == found - {one}


def test_root_mode_counts_only_where_both_know_it() -> None:
    """A recording without the workspace's own mode is not contradicted by a replay that has it."""
    with_root = Snapshot({ROOT: Entry("dir", 0o700)})
    assert differences(Snapshot(), with_root) == ()
    assert [d.kind for d in differences(with_root, Snapshot({ROOT: Entry("dir", 0o755)}))] == ["mode"]


def tar_bytes(names: list[str], mtime: int, mode: int = 0o644) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = 3, mtime, mode
            tar.addfile(info, io.BytesIO(b"abc"))
    return out.getvalue()


def zip_bytes(names: list[str], second: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if second else zipfile.ZIP_STORED) as z:
        for name in names:
            z.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, second)), "abc")
    return out.getvalue()


def sqlite_bytes(rows: list[int], vacuum: bool) -> bytes:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (n INTEGER)")
    db.executemany("INSERT INTO t VALUES (?)", [(r,) for r in [*rows, 99]])
    db.execute("DELETE FROM t WHERE n = 99")
    db.commit()
    if vacuum:
        db.execute("VACUUM")
    data = db.serialize()
    db.close()
    return data


@pytest.mark.parametrize(
    ("one", "other", "unlike"),
    [
        (gzip.compress(b"abc", mtime=1), gzip.compress(b"abc", mtime=2), gzip.compress(b"abd", mtime=1)),
        (bz2.compress(b"abc" * 99, 1), bz2.compress(b"abc" * 99, 9), bz2.compress(b"x")),
        (lzma.compress(b"abc", preset=0), lzma.compress(b"abc", preset=6), lzma.compress(b"x")),
        (tar_bytes(["a", "b"], 1), tar_bytes(["./b", "a"], 2), tar_bytes(["a", "b"], 1, mode=0o600)),
        (
            gzip.compress(tar_bytes(["a"], 1), mtime=1),
            gzip.compress(tar_bytes(["a"], 9), mtime=5),
            gzip.compress(tar_bytes(["c"], 1)),
        ),
        (zip_bytes(["a", "b"], 0), zip_bytes(["b", "a"], 4), zip_bytes(["a"], 0)),
        (sqlite_bytes([1, 2], False), sqlite_bytes([1, 2], True), sqlite_bytes([1, 3], False)),
    ],
    ids=["gzip", "bzip2", "xz", "tar", "tar.gz", "zip", "sqlite"],
)
def test_archives_are_compared_by_content(one: bytes, other: bytes, unlike: bytes) -> None:
    """Times, order and compression level do not count; what is inside does."""
    assert one != other
    assert content_digest(one) == content_digest(other)
    assert content_digest(one) != content_digest(unlike)


@given(st.binary(max_size=64), st.sampled_from([b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"PK\x03\x04", b"SQLite format 3\x00"]))
def test_broken_archives_are_compared_as_bytes(junk: bytes, magic: bytes) -> None:
    """What only looks like an archive is never an error, and never equal to something else."""
    assert content_digest(magic + junk) != content_digest(magic + junk + b"!")


def test_a_bomb_is_compared_as_bytes() -> None:
    """What expands beyond the bound is not expanded."""
    bomb = gzip.compress(b"\0" * (33 << 20), mtime=0)
    assert content_digest(bomb) != content_digest(gzip.compress(b"\0" * (33 << 20), mtime=9))


@pytest.fixture
def commit(tmp_path: Path) -> Callable[[str, bytes, str], Snapshot]:
    """Makes a repository with one commit and gives its tree."""

    def make(name: str, content: bytes, message: str) -> Snapshot:
        top = tmp_path / name
        top.mkdir()
        repo = porcelain.init(str(top))
        (top / "f").write_bytes(content)
        porcelain.add(repo, paths=[str(top / "f")])
        porcelain.commit(
            repo,
            message=message.encode(),
            author=b"A <a@example.org>",
            committer=b"A <a@example.org>",
            commit_timestamp=hash(name) % 9999,
        )
        repo.close()
        found = {}
        for p in sorted(top.rglob("*")):
            rel = p.relative_to(top).as_posix()
            found[rel] = Entry("dir", 0o755) if p.is_dir() else file(p.read_bytes())
        return Snapshot(found)

    return make


def test_repositories_are_compared_by_history(commit: Callable[[str, bytes, str], Snapshot]) -> None:
    """Two repositories with the same trees and messages are equal whatever their dates; another message is a difference."""
    a, b = commit("a", b"1", "first"), commit("b", b"1", "first")
    assert differences(a, b) == ()
    assert [d.path for d in differences(a, commit("c", b"1", "other"))] == [".git"]
    assert {d.path for d in differences(a, commit("d", b"2", "first"))} == {".git", "f"}


def test_repacking_is_no_effect() -> None:
    """A repacked archive of the same content is no durable effect."""
    a, b = Snapshot({"a.tar": file(tar_bytes(["x"], 1))}), Snapshot({"a.tar": file(tar_bytes(["x"], 2))})
    assert durable_effects(a, b) == ()
    assert [e.kind for e in durable_effects(a, Snapshot())] == ["removed"]


def test_what_is_shown_of_two_long_contents_is_where_they_part() -> None:
    """Not the beginning that both have; short ones are shown whole."""
    same = "line of text\n" * 40
    (d,) = differences(Snapshot({"a": file(f"{same}one".encode())}), Snapshot({"a": file(f"{same}two".encode())}))
    for word, told in (("one", d.expected), ("two", d.observed)):
        assert told == f"523 bytes {'…' + (same + word)[-BEFORE - 3 :]!r}"
    (d,) = differences(Snapshot({"a": file(b"x one")}), Snapshot({"a": file(b"x two")}))
    assert d.expected == "5 bytes 'x one'"


def test_what_is_no_text_is_told_by_its_digest() -> None:
    """Bytes of an archive say nothing to a reader, and may move a terminal's cursor; letters of an old encoding do."""
    one, other = b"\x1f\x8b\x08\x00one", b"\x1f\x8b\x08\x00two"
    (found,) = differences({"a.gz": Entry("file", content=one)}, {"a.gz": Entry("file", content=other)})
    assert str(found) == (
        f"a.gz: content: expected 7 bytes of no text (sha256 {hashlib.sha256(one).hexdigest()[:12]}…), "
        f"observed 7 bytes of no text (sha256 {hashlib.sha256(other).hexdigest()[:12]}…)"
    )
    (made,) = differences({}, {"a.gz": Entry("file", content=one)})
    assert made.observed.startswith("7 bytes of no text")
    (latin,) = differences({"a": Entry("file", content=b"caf\xe9\t1\n")}, {"a": Entry("file", content=b"caf\xe9\t2\n")})
    assert latin.expected == "7 bytes 'caf\ufffd\\t1\\n'"


@given(st.text(max_size=200), st.text(max_size=20), st.text(max_size=20))
def test_texts_part_somewhere(shared: str, one: str, other: str) -> None:
    """Equal ones are shown whole; of others nothing is left out from where they part on."""
    shown = parted(shared + one, shared + other)
    assert (shown[0] == shown[1]) is (one == other)
    for whole, text in zip((shared + one, shared + other), shown, strict=True):
        assert whole.endswith(text.removeprefix("…"))
        assert text == whole or len(text) < len(whole)

"""Trees: written, read back and removed without following anything."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest import tree
from sandbox.guest.store import Store, digest, manifest
from sandbox.guest.tree import Scan, TooMuch, WireEntry, creation_order, materialise, wipe

NAMES = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda n: n not in (".", "..") and len(n.encode()) < 200
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def put(contents: dict[str, bytes], data: bytes) -> str:
    ref = hashlib.sha256(data).hexdigest()
    contents[ref] = data
    return ref


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[WireEntry], dict[str, bytes]]:
    contents: dict[str, bytes] = {}
    entries: dict[str, WireEntry] = {}
    for path in draw(st.lists(PATHS, max_size=8)):
        parents = [path[:i] for i, c in enumerate(path) if c == "/"]
        if path in entries or any(p in entries and entries[p].type != "dir" for p in parents):
            continue
        if any(e.startswith(path + "/") for e in entries):
            continue
        for p in parents:
            entries.setdefault(p, WireEntry(p, "dir", draw(st.sampled_from([0o755, 0o700, 0o750])), ""))
        kind = draw(st.sampled_from(["file", "dir", "symlink", "fifo"]))
        ref = put(contents, draw(st.binary(max_size=50))) if kind == "file" else "to where" if kind == "symlink" else ""
        mode = 0o777 if kind == "symlink" else draw(st.sampled_from([0o644, 0o600, 0o755, 0o4755]))
        entries[path] = WireEntry(path, kind, mode, ref)
    return list(entries.values()), contents


@pytest.fixture(autouse=True)
def _no_umask() -> object:
    before = os.umask(0)
    yield None
    os.umask(before)


@given(tree_and_contents=trees(), order=st.sampled_from(["sorted", "reversed", "shuffled:7"]))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, tree_and_contents: tuple[list[WireEntry], dict[str, bytes]], order: str
) -> None:
    """Type, mode, content and target survive in every order, and wiping leaves nothing."""
    entries, contents = tree_and_contents
    os.umask(0)
    root = str(tmp_path_factory.mktemp("ws"))
    materialise(root, entries, contents.__getitem__, order)
    scan = Scan(root, {}, lambda _: None)
    assert [e for e in scan.entries if e.path != "."] == sorted(entries)
    assert scan.contents == {e.ref: contents[e.ref] for e in entries if e.type == "file"}
    again = Scan(root, {e.path: e for e in entries}, contents.get)
    assert again.entries == scan.entries
    assert not again.contents, "what equals the base is not sent again"
    assert wipe(root) == len(entries)
    assert not list(Path(root).iterdir())


@given(st.lists(PATHS, unique=True), st.integers(0, 5))
def test_parents_come_first_in_every_order(paths: list[str], seed: int) -> None:
    """A shuffled order is still a permutation that can be created."""
    known = {p for path in paths for p in [path, *(path[:i] for i, c in enumerate(path) if c == "/")]}
    for order in ("sorted", "reversed", f"shuffled:{seed}"):
        found = creation_order(known, order)
        assert sorted(found) == sorted(known)
        assert all(found.index(p.rpartition("/")[0]) < found.index(p) for p in found if "/" in p)


def test_every_time_stamp_is_the_same(tmp_path: Path) -> None:
    """Nothing that is materialised tells when it was."""
    contents: dict[str, bytes] = {}
    file = WireEntry("d/f", "file", 0o644, put(contents, b"x"))
    entries = [WireEntry("d", "dir", 0o755, ""), file, WireEntry("l", "symlink", 0o777, "d")]
    materialise(str(tmp_path), entries, contents.__getitem__)
    times = {os.lstat(p).st_mtime_ns for p in [tmp_path, *tmp_path.rglob("*")]}
    assert times == {tree.FIXED_TIME_NS}


def test_a_scan_opens_no_fifo_and_follows_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FIFOs and sockets do not block it, and links out of the tree or in circles stay links."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "up").symlink_to("..")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # a socket's path may not be long
        listener.bind("sock")
        kinds = {e.path: e.type for e in Scan(str(tmp_path), {}, lambda _: None).entries}
    assert kinds == {".": "dir", "fifo": "fifo", "loop": "symlink", "sock": "socket", "up": "symlink"}


def test_bounds_are_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too deep, too many and too large are said, and the scan still ends."""
    monkeypatch.setattr(tree, "MAX_DEPTH", 2)
    monkeypatch.setattr(tree, "MAX_SCAN_BYTES", 10)
    (tmp_path / "a/b/c/d").mkdir(parents=True)
    (tmp_path / "big").write_bytes(b"x" * 11)
    scan = Scan(str(tmp_path), {}, lambda _: None)
    assert "a/b/c/d" not in {e.path for e in scan.entries}
    assert len(scan.findings) == 2
    assert all(e.ref in scan.contents for e in scan.entries if e.type == "file"), "the client can build the snapshot"
    monkeypatch.setattr(tree, "MAX_ENTRIES", 2)
    assert any("more than 2 entries" in f for f in Scan(str(tmp_path), {}, lambda _: None).findings)


def test_what_no_snapshot_holds_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes are not read into the snapshot, so they are told; a host's own labels and a system without any are not."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d/\udcff").touch()
    given = {"user.x": ["security.selinux", "user.x"], "": ["security.selinux"]}
    monkeypatch.setattr(os, "listxattr", lambda fd: given["user.x" if stat.S_ISREG(os.fstat(fd).st_mode) else ""])
    found = Scan(str(tmp_path), {}, lambda _: None).findings
    assert found == [r"1 extended attributes or access lists, which no snapshot holds (user.x of d/\udcff)"]

    def refuse(number: int) -> list[str]:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "listxattr", lambda _: refuse(errno.ENOTSUP))
    assert not Scan(str(tmp_path), {}, lambda _: None).findings
    monkeypatch.setattr(os, "listxattr", lambda _: refuse(errno.E2BIG))
    assert Scan(str(tmp_path), {}, lambda _: None).findings[0].startswith("3 extended attributes")


def test_what_is_not_worth_wiping_is_refused(tmp_path: Path) -> None:
    """A large or deep tree is left to the container's end."""
    for i in range(20):
        (tmp_path / str(i)).touch()
    with pytest.raises(TooMuch):
        wipe(str(tmp_path), budget=10)
    (tmp_path / "/".join("d" * (tree.MAX_DEPTH + 2))).mkdir(parents=True)
    with pytest.raises(TooMuch):
        wipe(str(tmp_path))


def test_wiping_leaves_what_links_point_to(tmp_path: Path) -> None:
    """A link is removed, its target is not."""
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep/file").write_text("x")
    ws = tmp_path / "ws"
    ws.mkdir()
    (ws / "link").symlink_to(tmp_path / "keep")
    assert wipe(str(ws)) == 1
    assert (tmp_path / "keep/file").exists()


def test_the_store_forgets_the_oldest() -> None:
    """Contents stay within the bound; what a run has asked for last goes last."""
    store = Store(max_bytes=10)
    for name in "abc":
        store.put(name, name.encode() * 4)
    assert store.get("a") == b"aaaa"
    store.trim()
    assert store.get("a") == b"aaaa"
    assert store.get("b") is None
    text = manifest([WireEntry("f", "file", 0o644, "b")])
    assert store.put_manifest(text) == digest(text)
    assert store.missing((store.tree(digest(text)) or {}).values()) == ["b"]

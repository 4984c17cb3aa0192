"""Archives with other members: what is put in comes out, and what is no archive stays."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.worlds.packed import MAX_BYTES, Member, contents, edited, remade
from verifiers.worlds.variations.in_archives import AGAIN, BYTES, LONG, NEAR, ODD, PARTS, refilled


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in files.items():
            z.writestr(name, data)
    return out.getvalue()


def tarred(files: dict[str, bytes], mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as t:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


MADE: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "zip": zipped,
    "tar": lambda f: tarred(f, "w"),
    "tar.gz": lambda f: tarred(f, "w:gz"),
}


@pytest.mark.parametrize("kind", MADE)
def test_each_member_may_become_others(kind: str) -> None:
    """With their contents, in their order."""
    data = MADE[kind]({"d/a": b"1\n", "b": b"2\n"})
    assert contents(data) == [b"1\n", b"2\n"]
    assert contents(refilled(data, BYTES)) == [b"1\n" + ODD, b"2\n" + ODD]
    assert len(contents(refilled(data, NEAR))) == 10
    assert contents(refilled(data, PARTS)) == [b"1\n", b"2\n"]
    assert contents(refilled(data, LONG, (2, 5))) == [b"1\n" * 3, b"2\n" * 3]


def test_a_compressed_file_comes_in_two_parts() -> None:
    """As `cat a.gz b.gz` makes it."""
    data = gzip.compress(b"one two\n")
    parted = refilled(data, PARTS)
    assert gzip.decompress(parted) == b"one two\n"
    assert parted.count(b"\x1f\x8b\x08") == 2
    assert refilled(data, NEAR) == gzip.compress(b"one two\n", mtime=0)


@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b", b"\x1f\x8b\x08" + bytes(7)]))
def test_what_cannot_be_read_stays(data: bytes, head: bytes) -> None:
    """No error, whatever the bytes."""
    assert isinstance(edited(head + data, lambda name, content: [(name, content)]), bytes)
    assert isinstance(contents(head + data), list)


@pytest.mark.parametrize("kind", MADE)
def test_members_of_every_kind_are_put_beside(kind: str) -> None:
    """A directory and a link keep their kinds; what is there keeps its mode."""
    more = [Member("new/", b"", "dir"), Member("link", b"there", "link"), Member("c", b"3\n")]
    data = remade(MADE[kind]({"a": b"1\n"}), lambda old: [*old, *more])
    seen: list[Member] = []
    remade(data, lambda old: seen.extend(old) or old)  # type: ignore[func-returns-value]
    assert [(m.name.rstrip("/"), m.kind) for m in seen] == [("a", "file"), ("new", "dir"), ("link", "link"), ("c", "file")]
    assert contents(data) == [b"1\n", b"3\n"]
    assert remade(data, lambda _: []) != data


def test_what_is_too_large_inside_stays() -> None:
    """A small file with much in it is not cut short."""
    bomb = gzip.compress(bytes(MAX_BYTES + 1))
    assert edited(bomb, lambda name, content: []) is bomb
    much = zipped({"a": bytes(MAX_BYTES // 2 + 1), "b": bytes(MAX_BYTES // 2)})
    assert len(much) > MAX_BYTES or edited(much, lambda name, content: []) is much


def test_a_tar_has_older_states() -> None:
    """The last member of a name is what comes out."""
    data = tarred({"a": b"1", "b/c": b"2"}, "w:gz")
    with tarfile.open(fileobj=io.BytesIO(refilled(data, AGAIN))) as t:
        assert len(t.getmembers()) == 4
        last = t.extractfile("a")
        assert last is not None
        assert last.read() == b"1"

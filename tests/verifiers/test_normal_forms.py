"""Normal forms hide nothing but what is said here: every byte of a small example is flipped, and what stays unseen is listed."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from dulwich import porcelain
from hypothesis import given
from hypothesis import strategies as st

from sandbox.codec import snapshot_of, tree_of
from sandbox.interface import Entry, Snapshot
from verifiers.expectation.archives import canonical
from verifiers.expectation.equivalence import content_digest, differences
from verifiers.expectation.git_objects import check_objects
from verifiers.expectation.repositories import repository_summary


def gzip_file() -> bytes:
    return gzip.compress(b"some text, some text", mtime=0)


def tar_file(**more: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT if more else tarfile.USTAR_FORMAT) as tar:
        info = tarfile.TarInfo("name")
        info.size, info.pax_headers = 4, dict(more)
        tar.addfile(info, io.BytesIO(b"text"))
    return out.getvalue()[:2048]


def zip_file(attributes: int = 0o100644, comment: bytes = b"", extra: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        info = zipfile.ZipInfo("name")
        info.external_attr, info.comment, info.extra = attributes << 16, comment, extra
        z.writestr(info, b"text")
    return out.getvalue()


def database(pragma: str = "") -> bytes:
    db = sqlite3.connect(":memory:")
    db.execute("PRAGMA page_size=512")
    db.execute("CREATE TABLE t(a)")
    db.execute("INSERT INTO t VALUES('row')")
    db.commit()
    if pragma:
        db.execute(f"PRAGMA {pragma}")
        db.commit()
    data = db.serialize()
    db.close()
    return bytes(data)


def unseen(data: bytes) -> list[range]:
    """Runs of bytes whose change the normal form does not see."""
    whole, out = canonical(data), []
    for n in range(len(data)):
        flipped = data[:n] + bytes([data[n] ^ 0x01]) + data[n + 1 :]
        if canonical(flipped) == whole:
            if out and out[-1].stop == n:
                out[-1] = range(out[-1].start, n + 1)
            else:
                out.append(range(n, n + 1))
    return out


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (gzip_file(), {"hint that it is text": (3, 4), "time": (4, 8), "level": (8, 9), "system": (9, 10)}),
        (bz2.compress(b"some text"), {"level": (3, 4), "filling of the last byte": (46, 47)}),
        (lzma.compress(b"some text"), {}),
    ],
    ids=["gzip", "bzip2", "xz"],
)
def test_what_a_stream_hides(data: bytes, expected: dict[str, tuple[int, int]]) -> None:
    """When, how well and where it was packed; of xz nothing."""
    allowed = {n for begin, end in expected.values() for n in range(begin, end)}
    assert {n for run in unseen(data) for n in run} <= allowed


def test_what_a_tar_file_hides() -> None:
    """A flip in a header breaks its sum; what stays are spellings of numbers, and padding of fields."""
    hidden = {n for run in unseen(tar_file()) for n in run}
    assert hidden <= set(range(512)), "only in the header"
    assert not hidden & set(range(4)), "never in the name"


def test_what_a_zip_file_hides() -> None:
    """Times, versions, and lengths that say again what is there; no name, content, mode, comment or byte between."""
    data = zip_file()
    directory, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    local = range(4, 26)  # version, flags, times, and sizes that the directory says again
    central = {*range(4, 10), *range(12, 16), *range(20, 40)}  # the same, and attributes of MS-DOS
    last = {*range(4, 12), 20, 21}  # numbers of disks, counts, length of no comment
    assert {n for run in unseen(data) for n in run} <= {*local, *(directory + n for n in central), *(end + n for n in last)}


def test_what_a_database_hides() -> None:
    """Counters and free room of a page; no row, no schema, no version of the user's."""
    data = database()
    hidden = {n for run in unseen(data) for n in run}
    assert not hidden & {*range(60, 64), *range(68, 72)}, "user_version and application_id"
    assert data.index(b"row") not in hidden
    assert data.index(b"CREATE") not in hidden


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        (database(), database("user_version=7")),
        (database(), database("application_id=7")),
        (database(), database() + b"payload"),
        (gzip_file(), gzip_file() + b"payload"),
        (gzip_file(), gzip_file()[:3] + b"\x04" + gzip_file()[4:10] + b"\x04\x00evil" + gzip_file()[10:]),
        (gzip_file(), gzip_file()[:3] + b"\x10" + gzip_file()[4:10] + b"comment\x00" + gzip_file()[10:]),
        (gzip_file(), gzip_file()[:3] + b"\x08" + gzip_file()[4:10] + b"../../name\x00" + gzip_file()[10:]),
        (bz2.compress(b"x"), bz2.compress(b"x") + b"payload"),
        (lzma.compress(b"x"), lzma.compress(b"x") + b"payload"),
        (tar_file(), tar_file() + b"payload"),
        (tar_file(), tar_file(comment="payload")),
        (zip_file(), zip_file() + b"payload"),
        (zip_file(), zip_file(comment=b"payload")),
        (zip_file(), zip_file(extra=b"\xfe\xca\x04\x00evil")),
        (zip_file(), zip_file(0o120644)),
    ],
)
def test_a_payload_beside_the_contents_is_seen(plain: bytes, other: bytes) -> None:
    """Behind the end, in a comment, in a header, or a link where a file should be."""
    assert content_digest(plain) != content_digest(other)


def test_what_does_not_matter_does_not_count() -> None:
    """Time, level and the name of the packed file, as `gzip` and Python write them."""
    named = gzip_file()[:3] + b"\x08" + gzip_file()[4:10] + b"notes.txt\x00" + gzip_file()[10:]
    times = zip_file(extra=b"UT\x05\x00\x01\x00\x00\x00\x00")
    assert content_digest(gzip_file()) == content_digest(named)
    assert content_digest(zip_file()) == content_digest(times)


# ---------------------------------------------------------------- repositories


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A repository with one commit."""
    top = tmp_path_factory.mktemp("repo")
    porcelain.init(str(top))
    (top / "a.txt").write_text("text")
    porcelain.add(str(top), [str(top / "a.txt")])
    porcelain.commit(str(top), message=b"first", author=b"x <x@y>", committer=b"x <x@y>")
    entries = {}
    for p in sorted(top.rglob("*")):
        entries[p.relative_to(top).as_posix()] = Entry("dir", 0o755) if p.is_dir() else Entry("file", 0o644, p.read_bytes())
    return Snapshot(entries)


@pytest.mark.parametrize(
    "path",
    ["hooks/post-commit", "config", "info/attributes", "info/exclude", "info/grafts", "objects/info/alternates", "shallow",
     "MERGE_HEAD",      "modules/sub/config", "modules/sub/hooks/pre-push", "worktrees/w/gitdir", "config.worktree", "commondir"],
)  # fmt: skip
def test_what_git_acts_on_is_compared(repository: Snapshot, path: str) -> None:
    """A file that is new, changed, or executable is a difference under its own name."""
    planted = repository.replace({f".git/{path}": Entry("file", 0o755, b"evil")})
    assert f".git/{path}" in {d.path for d in differences(repository, planted)}
    assert differences(planted, planted) == ()


def test_a_link_in_a_git_directory_is_compared(repository: Snapshot) -> None:
    """Hooks may lie elsewhere."""
    planted = repository.replace({".git/hooks": None}).replace({".git/hooks": Entry("symlink", 0o777, target="../h")})
    assert differences(repository, planted)


def test_flipped_bytes_of_a_repository(repository: Snapshot) -> None:
    """Each byte of refs, index and objects: what stays unseen are times, device numbers and logs."""
    hidden = set()
    for path, e in repository.items():
        if not path.startswith(".git/") or e.type != "file":
            continue
        for n in range(0, len(e.content), 7):
            flipped = e.content[:n] + bytes([e.content[n] ^ 1]) + e.content[n + 1 :]
            if not differences(repository, repository.replace({path: Entry("file", e.mode, flipped)})):
                hidden.add(path)
                break
    assert {p for p in hidden if not p.startswith(".git/logs/")} <= {".git/index"}


# ---------------------------------------------------------------- bombs


def test_objects_that_inflate_too_far_are_not_inflated() -> None:
    """A small object of much, a pack of much, and one that only says so."""
    bomb = zlib.compress(b"\0" * (80 << 20))
    with pytest.raises(ValueError, match="too far"):
        check_objects({f"objects/ab/{'c' * 38}": bomb})
    head = b"PACK\0\0\0\2\0\0\0\1"
    with pytest.raises(ValueError, match="inflate"):
        check_objects({"objects/pack/x.pack": head + b"\x3f" + bomb})
    with pytest.raises(ValueError, match="more objects"):
        check_objects({"objects/pack/x.pack": b"PACK\0\0\0\2\xff\xff\xff\xff"})


def test_an_object_under_a_false_name_is_seen(repository: Snapshot) -> None:
    """Trees are compared by name: the name must be true."""
    path, e = next((p, e) for p, e in repository.items() if p.startswith(".git/objects/") and e.type == "file")
    other = zlib.compress(zlib.decompress(e.content) + b" ")
    assert differences(repository, repository.replace({path: Entry("file", 0o644, other)}))


@given(st.binary(max_size=300))
def test_any_pack_is_read_or_refused(data: bytes) -> None:
    """No pack loops, and nothing but the named errors comes out."""
    try:
        check_objects({"objects/pack/x.pack": b"PACK\0\0\0\2\0\0\0\3" + data, f"objects/ab/{'c' * 38}": data})
    except (ValueError, IndexError, zlib.error):
        return


NAMES = ("index", "packed-refs", "refs/heads/x", "HEAD", f"objects/ab/{'c' * 38}")


@given(st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=200)))
def test_any_git_directory_has_a_summary(files: dict[str, bytes]) -> None:
    """Whatever a guest wrote there."""
    base = {"HEAD": b"ref: refs/heads/x\n", **files}
    tree = Snapshot({f"g/{p}": Entry("file", 0o644, c) for p, c in base.items()}).replace(
        {"g/objects": Entry("dir", 0o755), "g/refs": Entry("dir", 0o755)}
    )
    assert repository_summary(tree, "g")


@pytest.mark.parametrize("make", [gzip_file, tar_file, zip_file, database], ids=lambda f: f.__name__)
@given(data=st.data())
def test_damaged_archives_are_read_or_compared_raw(make: Callable[[], bytes], data: st.DataObject) -> None:
    """Any cut, any change: no error comes out."""
    whole = make()
    at = data.draw(st.integers(0, len(whole)))
    new, gone = data.draw(st.binary(max_size=40)), data.draw(st.integers(0, 40))
    assert isinstance(canonical(whole[:at] + new + whole[at + gone :]), bytes)


def test_sums_of_members_are_bounded() -> None:
    """Many members of one large hole each: the bytes themselves are compared, at once."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for n in range(3):
            info = tarfile.TarInfo(f"{n}")
            info.size = 12 << 20
            tar.addfile(info, io.BytesIO(bytes(info.size)))
    data = out.getvalue()
    assert content_digest(data) == hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------- hard links


def test_a_file_under_two_names_is_not_two_files() -> None:
    """It is a difference, unless a recording is one side; it survives the way to the sandbox and back."""
    pair = Snapshot({p: Entry("file", 0o644, b"x", links=2) for p in ("a", "b")} | {"c": Entry("file", 0o644, b"x")})
    apart = Snapshot({p: Entry("file", 0o644, b"x") for p in "abc"})
    assert {(d.path, d.kind) for d in differences(apart, pair)} == {("a", "target"), ("b", "target")}
    assert differences(apart, pair, links=False) == ()
    assert snapshot_of(*tree_of(pair)) == pair
    assert pair.digest != apart.digest


def test_a_lost_second_name_makes_a_plain_file(tmp_path: Path) -> None:
    """A snapshot that was cut needs no other name."""
    lone = Snapshot({"a": Entry("file", 0o644, b"x", links=2)})
    assert snapshot_of(*tree_of(lone))["a"].links == 1

"""Same effect: two snapshots compared per path and attribute, archives and repositories by what they hold (SEMANTICS §3).

Contents of foreign archives are read here, on the host, so every reader is bounded and falls back to comparing raw bytes.
"""

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
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sandbox.interface import ROOT, Effect, EffectKind, Entry, Snapshot
from verifiers.expectation.repositories import repository_roots, repository_summary

MAX_EXPANDED_BYTES = 32 << 20
"""Of one compressed file; what expands to more is compared byte by byte."""
MAX_DEPTH = 4
"""Of archives within archives."""

Attribute = tuple[str, EffectKind]


@dataclass(frozen=True, slots=True)
class Difference:
    """One attribute of one path where two trees disagree."""

    path: str
    kind: EffectKind
    expected: str
    observed: str

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}: expected {self.expected}, observed {self.observed}"


def differences(
    expected: Mapping[str, Entry], observed: Mapping[str, Entry], *, volatile: Collection[Attribute] = (), root: bool = True
) -> tuple[Difference, ...]:
    """Where ``observed`` differs from ``expected`` under SEMANTICS §3.

    Args:
        volatile: attributes that are not compared; a volatile ``created`` of a path leaves the whole path out.
        root: compare the workspace directory's own mode too (only where both sides know it).
    """
    out: list[Difference] = []
    a, b = normal_form(expected), normal_form(observed)
    for path in sorted(a.keys() | b.keys()):
        if path == ROOT and (not root or path not in a or path not in b):
            continue
        if any((path, kind) in volatile for kind in ("created", "removed")):
            continue
        out.extend(d for d in _compare(path, a.get(path), b.get(path)) if (path, d.kind) not in volatile)
    return tuple(out)


def durable_effects(before: Snapshot, after: Snapshot, volatile: Collection[Attribute] = ()) -> tuple[Effect, ...]:
    """The effects from ``before`` to ``after`` under the same rules (a repacked archive of equal content is none)."""
    kinds = {(d.path, d.kind) for d in differences(before, after, volatile=volatile)}
    return tuple(Effect(path, kind, before.get(path), after.get(path)) for path, kind in sorted(kinds))


@dataclass(frozen=True, slots=True)
class Normal:
    """One path in normal form: what is compared of it."""

    type: str
    mode: int
    content: str
    """Digest of the content, or of what an archive holds."""
    target: str
    show: str
    """For people: the content's size and beginning."""


def normal_form(tree: Mapping[str, Entry]) -> dict[str, Normal]:
    """Path -> what is compared. The inside of a git directory becomes one pseudo path ``…/.git`` with its summary."""
    roots = repository_roots(tree)
    out: dict[str, Normal] = {}
    for path, e in tree.items():
        if any(path.startswith(r + "/") for r in roots):
            continue
        if path in roots:
            text = repository_summary(tree, path)
            out[path] = Normal("dir", e.mode, _sha(text.encode()), "", _clip(text))
        elif e.type == "file":
            out[path] = Normal("file", e.mode, content_digest(e.content), "", show(e))
        else:
            out[path] = Normal(e.type, 0o777 if e.type == "symlink" else e.mode, "", e.target, show(e))
    return out


def _compare(path: str, a: Normal | None, b: Normal | None) -> list[Difference]:
    if a is None or b is None:
        kind: EffectKind = "created" if a is None else "removed"
        return [Difference(path, kind, a.show if a else "no such path", b.show if b else "no such path")]
    if a.type != b.type:
        return [Difference(path, "type", a.type, b.type)]
    out = []
    if a.mode != b.mode:
        out.append(Difference(path, "mode", f"{a.mode:04o}", f"{b.mode:04o}"))
    if a.content != b.content:
        out.append(Difference(path, "content", a.show, b.show))
    if a.target != b.target:
        out.append(Difference(path, "target", a.target, b.target))
    return out


def show(entry: Entry) -> str:
    """One entry for people: type, size and the beginning of the content."""
    if entry.type == "file":
        return f"{len(entry.content)} bytes {_clip(entry.content.decode('utf-8', 'replace'))}"
    return f"symlink to {entry.target}" if entry.type == "symlink" else f"{entry.type} {entry.mode:04o}"


def _clip(text: str, most: int = 160) -> str:
    return repr(text if len(text) <= most else text[:most] + "…")


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=4096)
def content_digest(data: bytes) -> str:
    """Digest of what a file holds: of the members of an archive, the dump of a database, else of the bytes."""
    return _sha(_canonical(data, MAX_DEPTH))


def _canonical(data: bytes, depth: int) -> bytes:
    if depth:
        for is_one, read in _READERS:
            if is_one(data):
                try:
                    return read(data, depth - 1)
                except _UNREADABLE:
                    break
    return data


_UNREADABLE = (
    OSError, EOFError, ValueError, KeyError, RuntimeError, NotImplementedError, OverflowError, MemoryError,
    lzma.LZMAError, zlib.error, tarfile.TarError, zipfile.BadZipFile, sqlite3.Error,
)  # fmt: skip
"""What the readers raise on data that only looks like theirs."""


def _stream(name: str, opener: Callable[[io.BytesIO], io.BufferedIOBase]) -> Callable[[bytes, int], bytes]:
    def read(data: bytes, depth: int) -> bytes:
        with opener(io.BytesIO(data)) as f:
            inner = f.read(MAX_EXPANDED_BYTES + 1)
        if len(inner) > MAX_EXPANDED_BYTES:
            raise ValueError("expands too far")
        return f"{name}\0".encode() + _canonical(inner, depth)

    return read


def _tar(data: bytes, depth: int) -> bytes:
    members: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        for m in tar:
            body = b""
            if m.isfile():
                f = tar.extractfile(m)
                body = f.read(MAX_EXPANDED_BYTES) if f else b""
            kind = "file" if m.isfile() else "dir" if m.isdir() else "symlink" if m.issym() else m.type.decode("latin-1")
            members[_member(m.name)] = f"{kind} {m.mode & 0o7777:o} {m.linkname} {_sha(_canonical(body, depth))}"
    return _map("tar", members)


def _zip(data: bytes, depth: int) -> bytes:
    members: dict[str, str] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        if sum(i.file_size for i in z.infolist()) > MAX_EXPANDED_BYTES:
            raise ValueError("expands too far")
        for i in z.infolist():
            mode = (i.external_attr >> 16) & 0o7777
            members[_member(i.filename)] = f"{i.is_dir()} {mode:o} {_sha(_canonical(z.read(i), depth))}"
    return _map("zip", members)


def _member(name: str) -> str:
    while name.startswith("./"):
        name = name[2:]
    return name.rstrip("/") or "."


def _map(kind: str, members: Mapping[str, str]) -> bytes:
    members = {k: v for k, v in members.items() if k != "."}
    return "\0".join([kind, *(f"{k}\0{v}" for k, v in sorted(members.items()))]).encode("utf-8", "surrogateescape")


def _sqlite(data: bytes, depth: int) -> bytes:
    del depth
    db = sqlite3.connect(":memory:")
    try:
        db.deserialize(data)
        db.execute("PRAGMA trusted_schema=OFF")
        steps = iter(range(2_000))
        db.set_progress_handler(lambda: 1 if next(steps, None) is None else 0, 10_000)
        return "\n".join(["sqlite", *db.iterdump()]).encode("utf-8", "surrogateescape")
    finally:
        db.close()


_READERS: tuple[tuple[Callable[[bytes], bool], Callable[[bytes, int], bytes]], ...] = (
    (lambda d: d[:2] == b"\x1f\x8b", _stream("gzip", lambda f: gzip.GzipFile(fileobj=f))),
    (lambda d: d[:3] == b"BZh", _stream("bzip2", bz2.BZ2File)),
    (lambda d: d[:6] == b"\xfd7zXZ\x00", _stream("xz", lzma.LZMAFile)),
    (lambda d: d[257:262] == b"ustar", _tar),
    (lambda d: d[:4] in (b"PK\x03\x04", b"PK\x05\x06"), _zip),
    (lambda d: d[:16] == b"SQLite format 3\x00", _sqlite),
)

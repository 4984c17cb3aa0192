"""What archives and databases hold, as bytes that are equal for equal contents.

They come from foreign programs and are read on the host: every reader is bounded, and whatever a reader does not understand
raises, so that the bytes themselves are compared.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import sqlite3
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Protocol

MAX_EXPANDED_BYTES = 32 << 20
"""Of one file; what expands to more is compared byte by byte."""
MAX_MEMBERS = 20_000
MAX_DEPTH = 4
"""Of archives within archives."""

UNREADABLE = (
    OSError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError, RuntimeError, NotImplementedError,
    OverflowError, MemoryError, StopIteration,
    struct.error, lzma.LZMAError, zlib.error, tarfile.TarError, zipfile.BadZipFile, sqlite3.Error,
)  # fmt: skip
"""What the readers raise on data that only looks like theirs."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def canonical(data: bytes, depth: int = MAX_DEPTH) -> bytes:
    """What a file holds: the members of an archive, the dump of a database, else the bytes."""
    if depth:
        for is_one, read in _READERS:
            if is_one(data):
                try:
                    return read(data, depth - 1)
                except UNREADABLE:
                    break
    return data


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------- one stream


def _expanded(data: bytes, new: Callable[[], _Decompressor]) -> bytes:
    """All streams of a compressed file, one behind the other, and nothing but streams."""
    out, total = [], 0
    while data:
        stream = new()
        out.append(stream.decompress(data, MAX_EXPANDED_BYTES + 1 - total))
        total += len(out[-1])
        if not stream.eof or total > MAX_EXPANDED_BYTES:
            raise ValueError("expands too far, or is cut off")
        data = stream.unused_data
    return b"".join(out)


def _stream(name: str, new: Callable[[], _Decompressor]) -> Callable[[bytes, int], bytes]:
    def read(data: bytes, depth: int) -> bytes:
        return f"{name}\0".encode() + canonical(_expanded(data, new), depth)

    return read


def _gzip(data: bytes, depth: int) -> bytes:
    extra, rest, total, out = b"", data, 0, []
    while rest:
        extra += _gzip_header(rest)
        stream = zlib.decompressobj(31)
        out.append(stream.decompress(rest, MAX_EXPANDED_BYTES + 1 - total))
        total += len(out[-1])
        if not stream.eof or total > MAX_EXPANDED_BYTES:
            raise ValueError("expands too far, or is cut off")
        rest = stream.unused_data
    return b"gzip\0" + extra + canonical(b"".join(out), depth)


def _gzip_header(data: bytes) -> bytes:
    """What a gzip header says beyond time, level and system, and a plain file name: RFC 1952."""
    flags, at, said = data[3], 10, b""
    if flags & 0xE0:
        raise ValueError("reserved flags")
    if flags & 4:
        size = int.from_bytes(data[10:12], "little")
        said += b"extra" + data[12 : 12 + size]
        at += 2 + size
    for flag in (8, 16):
        if flags & flag:
            end = data.index(b"\0", at)
            name, at = data[at:end], end + 1
            plain = flag == 8 and len(name) < 256 and b"/" not in name and min(name, default=32) >= 32
            said += b"" if plain else b"text" + name
    return said


# ---------------------------------------------------------------- many members


def _tar(data: bytes, depth: int) -> bytes:
    members: list[tuple[str, str]] = []
    total = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        for m in tar:
            total += m.size if m.isfile() else 0
            if m.issparse() or total > MAX_EXPANDED_BYTES or len(members) >= MAX_MEMBERS:
                raise ValueError("expands too far")
            body = data[m.offset_data : m.offset_data + m.size] if m.isfile() else b""
            kind = "file" if m.isfile() else "dir" if m.isdir() else "symlink" if m.issym() else m.type.decode("latin-1")
            device = f" {m.devmajor} {m.devminor}" if m.isdev() else ""
            said = f"{kind} {m.mode & 0o7777:o} {m.linkname}{device} {_sha(canonical(body, depth))}{_more(_pax(m.pax_headers))}"
            end = m.offset_data + len(body)
            members.append((_member(m.name), said + _more(data[end : end + -end % 512].strip(b"\0"))))
        behind = data[tar.offset :].strip(b"\0")
    return _map("tar", [*members, ("", f"{_more(behind)}")])


_PAX = frozenset({"path", "linkpath", "size", "uid", "gid", "uname", "gname", "mtime", "atime", "ctime"})
"""Keywords that say what is compared anyway, or what is not: names, sizes, owners, times."""


def _pax(headers: Mapping[str, str]) -> bytes:
    return repr(sorted((k, v) for k, v in headers.items() if k not in _PAX)).encode("utf-8", "surrogateescape").strip(b"[]")


def _more(rest: bytes) -> str:
    """What is there beyond the members, "" for nothing."""
    return f" and {_sha(rest)}" if rest else ""


_TIMES_AND_OWNERS = frozenset({0x5455, 0x5855, 0x7855, 0x7875, 0x000A})
"""Ids of zip extra fields: Info-ZIP's ``extrafld.txt``."""


def _zip(data: bytes, depth: int) -> bytes:
    members: list[tuple[str, str]] = []
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        listed = z.infolist()
        if sum(i.file_size for i in listed) > MAX_EXPANDED_BYTES or len(listed) > MAX_MEMBERS:
            raise ValueError("expands too far")
        for i in listed:
            attributes = i.external_attr >> 16
            kind = {0: "file", stat.S_IFREG: "file", stat.S_IFDIR: "file"}.get(stat.S_IFMT(attributes), f"{attributes >> 12:o}")
            with z.open(i) as f:
                body = f.read(i.file_size + 1)
            said = f"{kind} {i.is_dir()} {attributes & 0o7777:o} {_sha(canonical(body, depth))}"
            members.append((_member(i.filename), said + _more(i.comment + _unusual(i.extra))))
        beside = _beside(data, listed, z.start_dir)
    end = data.rindex(b"PK\5\6")
    return _map("zip", [*members, ("", _more(beside + data[end + 22 :]))])


def _beside(data: bytes, listed: list[zipfile.ZipInfo], directory: int) -> bytes:
    """What lies before, between and behind the members, data descriptors apart, and their own extra fields."""
    out, at = b"", 0
    for i in sorted(listed, key=lambda i: i.header_offset):
        out += data[at : i.header_offset]
        name, extra = struct.unpack_from("<HH", data, i.header_offset + 26)
        start = i.header_offset + 30 + name + extra
        out += _unusual(data[start - extra : start])
        at = start + i.compress_size
        if i.flag_bits & 8:
            at += 16 if data[at : at + 4] == b"PK\7\x08" else 12
    return out + data[at:directory]


def _unusual(extra: bytes) -> bytes:
    """Extra fields of a member that are not times or owners."""
    out, at = b"", 0
    while at + 4 <= len(extra):
        field, size = struct.unpack_from("<HH", extra, at)
        out += b"" if field in _TIMES_AND_OWNERS else extra[at : at + 4 + size]
        at += 4 + size
    return out + extra[at:]


def _member(name: str) -> str:
    while name.startswith("./"):
        name = name[2:]
    return name.rstrip("/") or "."


def _map(kind: str, members: list[tuple[str, str]]) -> bytes:
    """Members by name; those of one name in their order, for the last one wins."""
    ordered = sorted(((k, v) for k, v in members if k != "." and v), key=lambda m: m[0])
    return "\0".join([kind, *(f"{k}\0{v}" for k, v in ordered)]).encode("utf-8", "surrogateescape")


# ---------------------------------------------------------------- databases


def _sqlite(data: bytes, depth: int) -> bytes:
    del depth
    page = int.from_bytes(data[16:18], "big")
    behind = data[(65536 if page == 1 else page) * int.from_bytes(data[28:32], "big") :]
    with closing(opened(data)) as db:
        said = [f"{p} {db.execute(f'PRAGMA {p}').fetchone()}" for p in ("user_version", "application_id", "encoding")]
        lines, total = ["sqlite", *said, _more(behind)], 0
        for line in db.iterdump():
            total += len(line)
            if total > 2 * MAX_EXPANDED_BYTES:
                raise ValueError("expands too far")
            lines.append(line)
        return "\n".join(lines).encode("utf-8", "surrogateescape")


def opened(data: bytes) -> sqlite3.Connection:
    """A foreign database, in memory, for no more work than a dump should take."""
    db = sqlite3.connect(":memory:")
    try:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_EXPANDED_BYTES)
        db.deserialize(data)
        db.execute("PRAGMA trusted_schema=OFF")
        steps = iter(range(2_000))
        db.set_progress_handler(lambda: 1 if next(steps, None) is None else 0, 10_000)
    except UNREADABLE:
        db.close()
        raise
    return db


def is_database(data: bytes) -> bool:
    return data[:16] == b"SQLite format 3\x00"


_READERS: tuple[tuple[Callable[[bytes], bool], Callable[[bytes, int], bytes]], ...] = (
    (lambda d: d[:3] == b"\x1f\x8b\x08", _gzip),
    (lambda d: d[:3] == b"BZh", _stream("bzip2", bz2.BZ2Decompressor)),
    (lambda d: d[:6] == b"\xfd7zXZ\x00", _stream("xz", lambda: lzma.LZMADecompressor(memlimit=256 << 20))),
    (lambda d: d[257:262] == b"ustar", _tar),
    (lambda d: d[:4] in (b"PK\x03\x04", b"PK\x05\x06"), _zip),
    (is_database, _sqlite),
)

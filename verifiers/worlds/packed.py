"""Archives taken apart and put together again with other members. Pure; what cannot be read stays as it is."""

from __future__ import annotations

import copy
import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Edit: TypeAlias = Callable[[str, bytes], list[tuple[str, bytes]]]
"""Name and content of a file in an archive -> the files in its place."""
MAX_BYTES = 1 << 20
"""Larger archives, and such with more in them, are left alone."""
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error)
_MODES = {"file": 0o100644, "dir": 0o040755, "link": 0o120777}
_TYPES = {"file": tarfile.REGTYPE, "dir": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive; of a compressed file that is no archive the only one, without a name."""

    name: str
    content: bytes
    """Of a link its target."""
    kind: Literal["file", "dir", "link", "other"] = "file"
    like: zipfile.ZipInfo | tarfile.TarInfo | None = None
    """Its mode, owner and times; None for a new one."""


def members(data: bytes) -> list[Member]:
    """What stands in an archive; nothing for what is none."""
    found: list[Member] = []

    def note(there: list[Member]) -> list[Member]:
        found.extend(there)
        return there

    remade(data, note)
    return found


def contents(data: bytes) -> list[bytes]:
    """What the files in an archive hold; nothing for what is none."""
    return [m.content for m in members(data) if m.kind == "file"]


def edited(data: bytes, edit: Edit) -> bytes:
    """The archive with each of its files edited."""

    def change(members: list[Member]) -> list[Member]:
        return [m for old in members for m in (_files(old, edit) if old.kind == "file" else [old])]

    return remade(data, change)


def damaged(data: bytes) -> bytes:
    """The archive with a byte of each member other than its checksum says; ``data`` itself where no member has one (tar)."""
    inside = [m for m in members(data) if m.kind == "file"]
    if any(isinstance(m.like, tarfile.TarInfo) for m in inside):
        return data
    out = edited(data, lambda name, content: [(name, _spoilt(content))])
    for m in inside:
        out = out.replace(_checksum(_spoilt(m.content)), _checksum(m.content))
    return out


def _spoilt(content: bytes) -> bytes:
    """With the lowest bit of its middle byte turned over: text stays text."""
    middle = len(content) // 2
    return content[:middle] + bytes(b ^ 1 for b in content[middle : middle + 1]) + content[middle + 1 :]


def _checksum(content: bytes) -> bytes:
    return struct.pack("<I", zlib.crc32(content))


def remade(data: bytes, change: Callable[[list[Member]], list[Member]]) -> bytes:
    """The archive with other members; ``data`` itself where it is none, is too large or cannot be read."""
    try:
        if len(data) > MAX_BYTES:
            return data
        if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            with zipfile.ZipFile(io.BytesIO(data)) as z:
                return _zipped(change(list(_in_zip(z))))
        if data[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(data)) as stream:
                inner = stream.read(MAX_BYTES + 1)
            if len(inner) > MAX_BYTES:
                return data
            if _is_tar(inner):
                return gzip.compress(remade(inner, change), mtime=0)
            return b"".join(gzip.compress(m.content, mtime=0) for m in change([Member("", inner)]) if not m.name)
        if _is_tar(data):
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as t:
                return _tarred(change(list(_in_tar(t))))
    except _BROKEN:
        pass
    return data


def _files(member: Member, edit: Edit) -> list[Member]:
    return [replace(member, name=name, content=content) for name, content in edit(member.name, member.content)]


def _is_tar(data: bytes) -> bool:
    return data[257:262] == b"ustar"


def _in_zip(z: zipfile.ZipFile) -> Iterator[Member]:
    if sum(i.file_size for i in z.infolist()) > MAX_BYTES:
        raise ValueError("too large")
    for info in z.infolist():
        link = stat.S_ISLNK(info.external_attr >> 16)
        yield Member(info.filename, z.read(info), "dir" if info.is_dir() else "link" if link else "file", info)


def _in_tar(t: tarfile.TarFile) -> Iterator[Member]:
    if any(i.issparse() for i in t) or sum(i.size for i in t) > MAX_BYTES:
        raise ValueError("too large")
    for info in t:
        stream = t.extractfile(info) if info.isfile() else None
        kind: Literal["file", "dir", "link", "other"] = (
            "file" if stream else "dir" if info.isdir() else "link" if info.issym() else "other"
        )
        yield Member(info.name, stream.read() if stream else info.linkname.encode("utf-8", "surrogateescape"), kind, info)


def _zipped(members: list[Member]) -> bytes:
    out = io.BytesIO()
    seen = set()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for m in members:
            info = zipfile.ZipInfo(m.name, m.like.date_time if isinstance(m.like, zipfile.ZipInfo) else (2020, 1, 1, 0, 0, 0))
            info.external_attr = m.like.external_attr if isinstance(m.like, zipfile.ZipInfo) else _MODES[m.kind] << 16
            info.compress_type = m.like.compress_type if isinstance(m.like, zipfile.ZipInfo) else zipfile.ZIP_STORED
            if m.name not in seen:  # a name that comes twice is an error to most readers
                z.writestr(info, m.content)
            seen.add(m.name)
    return out.getvalue()


def with_fields(info: tarfile.TarInfo, **other: object) -> tarfile.TarInfo:
    """A copy of a header with other fields: ``TarInfo.replace`` is younger than Python 3.11.2, which Debian 12 has."""
    out = copy.deepcopy(info)
    for name, value in other.items():
        setattr(out, name, value)
    return out


def _tarred(members: list[Member]) -> bytes:
    out = io.BytesIO()
    with tarfile.TarFile.open(fileobj=out, mode="w") as t:
        for m in members:
            if isinstance(m.like, tarfile.TarInfo):
                info = with_fields(m.like, name=m.name)
            else:
                info = tarfile.TarInfo(m.name.rstrip("/"))
                info.type, info.mode = _TYPES[m.kind], _MODES[m.kind] & 0o777
                info.linkname = m.content.decode() if m.kind == "link" else ""
            info.size = len(m.content) if m.kind == "file" else 0
            t.addfile(info, io.BytesIO(m.content) if m.kind == "file" else None)
    return out.getvalue()

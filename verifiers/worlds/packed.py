"""Archives taken apart and put together again with other members. Pure; what cannot be read stays as it is."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import TypeAlias

Edit: TypeAlias = Callable[[str, bytes], list[tuple[str, bytes]]]
"""Name and content of a member -> the members in its place."""
MAX_BYTES = 1 << 20
"""Larger archives, and such with more in them, are left alone."""
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error)


def contents(data: bytes) -> list[bytes]:
    """What is in an archive; nothing for what is none."""
    found: list[bytes] = []

    def note(name: str, content: bytes) -> list[tuple[str, bytes]]:
        found.append(content)
        return [(name, content)]

    edited(data, note)
    return found


def edited(data: bytes, edit: Edit) -> bytes:
    """The archive with other members; of a compressed file that is no archive the one that it is, without a name."""
    try:
        if len(data) > MAX_BYTES:
            return data
        if data[:4] == b"PK\x03\x04":
            return _zip(data, edit)
        if data[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(data)) as stream:
                inner = stream.read(MAX_BYTES)
            if inner[257:262] == b"ustar":
                return gzip.compress(_tar(inner, edit), mtime=0)
            return b"".join(gzip.compress(content, mtime=0) for _, content in edit("", inner))
        return _tar(data, edit) if data[257:262] == b"ustar" else data
    except _BROKEN:
        return data


def _zip(data: bytes, edit: Edit) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if sum(i.file_size for i in old.infolist()) > MAX_BYTES:
                return data
            kept = [(info.filename, b"")] if info.is_dir() else edit(info.filename, old.read(info))
            for name, content in kept:
                made = zipfile.ZipInfo(name, info.date_time)
                made.external_attr, made.compress_type = info.external_attr, info.compress_type
                new.writestr(made, content)
    return out.getvalue()


def _tar(data: bytes, edit: Edit) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as old, tarfile.TarFile.open(fileobj=out, mode="w") as new:
        for info in old:
            stream = old.extractfile(info) if info.isfile() else None
            if stream is None:
                new.addfile(info)
                continue
            for name, content in edit(info.name, stream.read(MAX_BYTES)):
                made = info.replace(name=name, deep=True)
                made.size = len(content)
                new.addfile(made, io.BytesIO(content))
    return out.getvalue()

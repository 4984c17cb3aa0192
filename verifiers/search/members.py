"""Invented starts whose archives have unusual members."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sandbox.interface import Entry
from verifiers.search.states import Start

ESCAPED = "escaped-member.txt"
DATA = b"a member\n"
MOST_FOLDERS = 4
Member = tuple[str, bytes, str]
"""Name, content, and ``file``, ``dir`` or ``link``."""

_KINDS: tuple[tuple[str, tuple[Member, ...]], ...] = (
    ("a directory as a member", (("extra-dir/", b"", "dir"),)),
    ("a member two directories down", (("extra-dir/deep/member.txt", DATA, "file"),)),
    ("a member that goes up", ((f"../{ESCAPED}", DATA, "file"),)),
    ("a member with an absolute name", ((f"/tmp/{ESCAPED}", DATA, "file"),)),
    ("a link as a member", (("extra-link", b"nowhere", "link"),)),
    ("a member twice", (("twice.txt", DATA, "file"), ("twice.txt", DATA + DATA, "file"))),
)


def archives(start: Start) -> Iterator[Start]:
    """The start with each of its archives given an unusual member, or none at all."""
    for path, entry in start.base.items():
        add = _writer(entry)
        if entry.type != "file" or add is None:
            continue
        for what, members in _KINDS:
            made = start.changed({path: replace(entry, content=add(entry.content, members))}, f"{path} has {what}")
            if made is not None:
                # The archive itself is still the user's, though its content is made here.
                yield replace(made, forbidden=frozenset({ESCAPED}))
        empty = start.changed({path: replace(entry, content=add(b"", ()))}, f"{path} is an empty archive")
        if empty is not None:
            yield empty


def _writer(entry: Entry) -> Callable[[bytes, tuple[Member, ...]], bytes] | None:
    if entry.content[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _zip
    if entry.content[:2] == b"\x1f\x8b" or entry.content[257:262] == b"ustar":
        return _gzipped if entry.content[:2] == b"\x1f\x8b" else _plain
    return None


def _beside(names: Sequence[str], members: tuple[Member, ...]) -> list[Member]:
    """The members at the top and in the directories of those that are there: a skill may take only some of them."""
    folders = list(dict.fromkeys(["", *(f"{n.rpartition('/')[0]}/" for n in names if "/" in n)]))[:MOST_FOLDERS]
    free = [m for m in members if not m[0].startswith(("../", "/"))]
    bound = [m for m in members if m not in free]
    return [*bound, *((folder + name, data, kind) for folder in folders for name, data, kind in free)]


def _zip(content: bytes, members: tuple[Member, ...]) -> bytes:
    out = io.BytesIO(content)
    try:
        with zipfile.ZipFile(out, "a") as z:
            for name, data, kind in _beside(z.namelist(), members):
                info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
                info.external_attr = {"file": 0o100644, "dir": 0o040755, "link": 0o120777}[kind] << 16
                if name not in z.namelist():
                    z.writestr(info, data)
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return content
    return out.getvalue()


def _plain(content: bytes, members: tuple[Member, ...]) -> bytes:
    return _tar(content, members, "")


def _gzipped(content: bytes, members: tuple[Member, ...]) -> bytes:
    return _tar(content, members, ":gz")


def _tar(content: bytes, members: tuple[Member, ...], packed: str) -> bytes:
    out = io.BytesIO()
    try:
        with tarfile.TarFile.open(fileobj=out, mode="w:gz" if packed else "w") as new:
            names: list[str] = []
            if content:
                with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as old:
                    for info in old:
                        names.append(info.name)
                        new.addfile(info, old.extractfile(info) if info.isfile() else None)
            for name, data, kind in _beside(names, members):
                info = tarfile.TarInfo(name.rstrip("/"))
                info.type = {"file": tarfile.REGTYPE, "dir": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}[kind]
                info.mode = 0o755 if kind == "dir" else 0o644
                if kind == "link":
                    info.linkname = data.decode()
                info.size = len(data) if kind == "file" else 0
                new.addfile(info, io.BytesIO(data) if kind == "file" else None)
    except (tarfile.TarError, OSError, EOFError):
        return content
    return out.getvalue()

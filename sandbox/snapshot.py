"""Normalised pictures of a workspace, and the differences between two of them. Part of the contract: ``sandbox.interface``."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

EntryType = Literal["file", "dir", "symlink", "fifo", "socket", "device"]

ROOT = "."
"""The path under which a snapshot may hold the workspace directory itself (its mode)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a workspace. Times and owners are not facts we keep."""

    type: EntryType
    mode: int = 0o644
    """Permission bits (12 of them). 0o777 for symlinks."""
    content: bytes = b""
    """Of a regular file, whole."""
    target: str = ""
    """Of a symbolic link, as stored."""
    links: int = 1
    """Of a regular file: under how many paths of the workspace it stands (hard links). Recordings do not say it: 1."""


class Snapshot(Mapping[str, Entry]):
    """Normalised picture of a workspace: relative POSIX path -> Entry, sorted by path. Immutable and hashable.

    Names that are not UTF-8 are held with ``surrogateescape``. Parents of every path are present.
    """

    __slots__ = ("_digest", "_entries")

    def __init__(self, entries: Mapping[str, Entry] | Iterable[tuple[str, Entry]] = ()) -> None:
        items = dict(entries)
        for path in list(items):
            parent = path.rpartition("/")[0]
            while parent and parent not in items:
                items[parent] = Entry("dir", 0o755)
                parent = parent.rpartition("/")[0]
        self._entries: dict[str, Entry] = dict(sorted(items.items()))
        self._digest: str | None = None

    def __getitem__(self, path: str) -> Entry:
        return self._entries[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self._entries == other._entries

    def __repr__(self) -> str:
        return f"Snapshot({len(self)} paths, {self.digest[:12]})"

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over path, type, mode, target and content of every entry, in path order."""
        if self._digest is None:
            h = hashlib.sha256()
            for path, e in self._entries.items():
                head = f"{path}\0{e.type}\0{e.mode:o}\0{e.target}\0{len(e.content)}\0"
                head += f"{e.links} names\0" if e.links > 1 else ""
                h.update(head.encode("utf-8", "surrogateescape"))
                h.update(e.content)
            self._digest = h.hexdigest()
        return self._digest

    def replace(self, changes: Mapping[str, Entry | None]) -> Snapshot:
        """This snapshot with some paths set or (``None``) removed together with what lies below them."""
        gone = {p for p, e in changes.items() if e is None}
        kept = {p: e for p, e in self._entries.items() if not any(p == g or p.startswith(g + "/") for g in gone)}
        kept.update({p: e for p, e in changes.items() if e is not None})
        return Snapshot(kept)

    def to_json(self) -> dict[str, dict[str, str]]:
        """The trace format's ``workspace`` object (docs/design.md, "The trace format"). The root entry is left out."""
        out: dict[str, dict[str, str]] = {}
        for path, e in self._entries.items():
            if path == ROOT:
                continue
            if e.type == "symlink":
                out[path] = {"type": "symlink", "target": e.target}
            elif e.type == "file":
                content = base64.b64encode(e.content).decode("ascii")
                out[path] = {"type": "file", "mode": f"{e.mode:04o}", "content_b64": content}
            else:
                out[path] = {"type": e.type, "mode": f"{e.mode:04o}"}
        return out

    @classmethod
    def from_json(cls, data: object, where: str = "workspace") -> Snapshot:
        """Parses the trace format's ``workspace`` object.

        Raises:
            ValueError: names the path and what is wrong with it (type, mode, base64, absolute or ``..`` path).
        """
        if not isinstance(data, dict):
            raise ValueError(f"{where}: expected an object of paths, got {type(data).__name__}")
        entries = {path: _parsed(path, raw, f"{where}[{path!r}]") for path, raw in data.items()}
        for path in entries:
            parent = path.rpartition("/")[0]
            while parent:
                if parent in entries and entries[parent].type != "dir":
                    raise ValueError(f"{where}[{path!r}]: its parent {parent!r} is not a directory")
                parent = parent.rpartition("/")[0]
        return cls(entries)


def _parsed(path: object, raw: object, at: str) -> Entry:
    """One path of the trace format. Raises ValueError."""
    parts = str(path).split("/")
    if not isinstance(path, str) or "\0" in path or (path != ROOT and {"", ".", ".."} & set(parts)):
        raise ValueError(f"{at}: not a clean relative path")
    if not isinstance(raw, dict):
        raise ValueError(f"{at}: expected an object, got {type(raw).__name__}")
    kind = raw.get("type")
    if kind == "symlink":
        target = raw.get("target")
        if not isinstance(target, str) or not target:
            raise ValueError(f"{at}: a symlink needs a non-empty target")
        return Entry("symlink", 0o777, target=target)
    if kind not in ("file", "dir", "fifo"):
        raise ValueError(f"{at}: unknown type {kind!r} (file, dir, symlink or fifo)")
    mode = _mode(raw.get("mode", "0755" if kind == "dir" else "0644"), at)
    return Entry(kind, mode, _content(raw, at) if kind == "file" else b"")


def _mode(text: object, at: str) -> int:
    try:
        mode = int(str(text), 8)
    except ValueError:
        raise ValueError(f"{at}: mode {text!r} is not octal") from None
    if not 0 <= mode <= 0o7777:
        raise ValueError(f"{at}: mode {text!r} is out of range")
    return mode


def _content(raw: Mapping[str, object], at: str) -> bytes:
    text = raw.get("content_b64")
    if text is None:
        raise ValueError(f'{at}: a file needs content_b64, its bytes in base64 ("" for none)')
    if not isinstance(text, str):
        raise ValueError(f"{at}: content_b64 is not text")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError(f"{at}: content_b64 is not base64") from None


EffectKind = Literal["created", "removed", "type", "mode", "content", "target"]


@dataclass(frozen=True, slots=True)
class Effect:
    """One durable difference between two snapshots: one attribute of one path."""

    path: str
    kind: EffectKind
    before: Entry | None
    after: Entry | None


def effects(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> tuple[Effect, ...]:
    """Every difference from ``before`` to ``after``, in path order, one per attribute. Bytes are compared raw."""
    out: list[Effect] = []
    for path in sorted(before.keys() | after.keys()):
        a, b = before.get(path), after.get(path)
        if a is None or b is None:
            out.append(Effect(path, "created" if a is None else "removed", a, b))
            continue
        if a.type != b.type:
            out.append(Effect(path, "type", a, b))
            continue
        if a.mode != b.mode:
            out.append(Effect(path, "mode", a, b))
        if a.content != b.content:
            out.append(Effect(path, "content", a, b))
        if a.target != b.target:
            out.append(Effect(path, "target", a, b))
    return tuple(out)

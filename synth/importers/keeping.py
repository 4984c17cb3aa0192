"""What of a start belongs to a task, and how a trace holds it."""

from __future__ import annotations

import base64
import posixpath
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from synth.importers.common import Builder


class DoesNotApply(ValueError):
    """An edit that does not fit the text it is said to have changed."""


BYSTANDERS = 12
"""Files kept besides those that a task names: enough to see that nothing else is touched."""


def reduced(files: Mapping[str, tuple[int, bytes]], shown: Mapping[str, str | None], builder: Builder) -> dict[str, Any]:
    """Of a start what the task edits, and what its commands and outputs name, with some bystanders. Replay says whether that is
    enough."""
    edited = {e["edit"]["path"] for e in builder.edits}
    there = {p for p in files if p not in shown} | {p for p, text in shown.items() if text is not None}
    kept = worth_keeping(there, [*builder.commands, *builder.outputs, builder.description], edited)
    return {p: entry for p in kept if (entry := _held(files.get(p), shown.get(p))) is not None}


def worth_keeping(there: Collection[str], said: Sequence[str], edited: Collection[str]) -> list[str]:
    """Of the paths of a start those that are edited, that are named or lie below what is named, and some bystanders."""
    names = set(re.findall(r"[^\s'\"`:;,()\[\]{}<>|&=]+", "\n".join(said)))
    parts = {posixpath.basename(n.rstrip("/")) for n in names} | names
    kept = {p for p in there if p in edited or p in parts or posixpath.basename(p) in parts or _below(p, names)}
    others = sorted(set(there) - kept, key=lambda p: (p.count("/"), p))[:BYSTANDERS]
    return sorted([*kept, *others])


def _held(held: tuple[int, bytes] | None, text: str | None) -> dict[str, str] | None:
    """What a commit holds, or the text that the session showed since; a link stays one."""
    if held is not None and (text is None or stat.S_ISLNK(held[0])):
        return file_entry(*held)
    return file_entry(held[0] if held is not None else 0o644, text) if text is not None else None


def _below(path: str, names: set[str]) -> bool:
    """Whether a directory that is named holds the path."""
    parents = path.split("/")[:-1]
    return any("/".join(parents[: n + 1]) in names or "/".join(parents[: n + 1]) + "/" in names for n in range(len(parents)))


def file_entry(mode: int, content: bytes | str) -> dict[str, str]:
    """A file or symbolic link as the trace format has it."""
    if stat.S_ISLNK(mode) and isinstance(content, bytes):
        return {"type": "symlink", "target": content.decode("utf-8", "surrogateescape")}
    try:
        raw = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    except UnicodeEncodeError as e:
        raise DoesNotApply("a file is said to hold half of a character, which no text does") from e
    return {"type": "file", "mode": f"{mode:04o}", "content_b64": base64.b64encode(raw).decode("ascii")}

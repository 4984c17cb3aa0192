"""Effects as a person reads them: what text changed to what, and of everything else what it is now."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.interface import Effect, Entry

MOST_LINES = 200
"""Of one file's diff."""


def diff_lines(changes: Iterable[Effect]) -> Iterator[str]:
    """A unified diff of each text, one line for anything else, in path order."""
    for change in changes:
        before, after = _text(change.before), _text(change.after)
        if before is None or after is None or change.kind not in ("created", "removed", "content"):
            yield f"{change.kind} {change.path}: {_what(change.before)} -> {_what(change.after)}"
            continue
        names = (f"a/{change.path}" if change.before else "/dev/null", f"b/{change.path}" if change.after else "/dev/null")
        lines = list(difflib.unified_diff(before, after, *names, lineterm=""))
        yield from lines[:MOST_LINES] or [f"{change.kind} {change.path} (empty)"]
        if len(lines) > MOST_LINES:
            yield f"... {len(lines) - MOST_LINES} more lines"


def _text(entry: Entry | None) -> list[str] | None:
    """The lines of a file; none of what is not there; None of what is no text."""
    if entry is None:
        return []
    if entry.type != "file" or b"\0" in entry.content:
        return None
    try:
        text = entry.content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    ended = text.endswith("\n") or not text
    return text.splitlines() if ended else [*text.splitlines()[:-1], f"{text.splitlines()[-1]} (no newline at the end)"]


def _what(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    told = {"file": f"{len(entry.content)} bytes", "symlink": f"link to {entry.target}"}.get(entry.type, entry.type)
    return f"{told}, mode {entry.mode:o}" if entry.type != "symlink" else told

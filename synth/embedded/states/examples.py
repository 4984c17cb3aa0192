"""What synthesis looks at of a recording: the request, and the texts before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sandbox.interface import ROOT, Snapshot
from verifiers.interface import Evidence

Texts = Mapping[str, str]
"""Path -> content."""


@dataclass(frozen=True)
class Example:
    """One recording: the request, the start and the end, text files only."""

    task_id: str
    request: str
    start: Texts
    end: Texts

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Files with another content at the end, in order of their names."""
        return tuple(p for p in sorted(self.start) if p in self.end and self.start[p] != self.end[p])

    @cached_property
    def created(self) -> tuple[str, ...]:
        return tuple(p for p in sorted(self.end) if p not in self.start)

    @cached_property
    def removed(self) -> tuple[str, ...]:
        return tuple(p for p in sorted(self.start) if p not in self.end)


def example_of(evidence: Evidence) -> Example | str:
    """The recording as an example, or why it is none."""
    start, end = evidence.base, end_of(evidence)
    if start is None or end is None:
        return "a recording without its start or its end shows no edits"
    for path in {*start, *end} - {ROOT}:
        a, b = start.get(path), end.get(path)
        if a == b or (a is not None and b is not None and a.type == b.type == "dir"):
            continue
        kinds = {e.type for e in (a, b) if e is not None}
        if not kinds <= {"file", "dir"} or (a is not None and b is not None and (a.type != b.type or a.mode != b.mode)):
            return f"what was done to {path} is more than an edit of its text"
        if any(e is not None and e.type == "file" and _text(e.content) is None for e in (a, b)):
            return f"{path} is no text"
    return Example(evidence.task_id, evidence.description, _texts(start), _texts(end))


def end_of(evidence: Evidence) -> Snapshot | None:
    """The recorded end, or the one that the edits alone lead to."""
    if evidence.post is not None or evidence.base is None or evidence.commands:
        return evidence.post
    tree = dict(evidence.base)
    for edit in evidence.edits:
        if edit.after is None:
            tree.pop(edit.path, None)
        else:
            tree[edit.path] = edit.after
    return Snapshot(tree)


def _texts(tree: Snapshot) -> dict[str, str]:
    found = {p: _text(e.content) for p, e in tree.items() if e.type == "file"}
    return {p: t for p, t in found.items() if t is not None}


def _text(content: bytes) -> str | None:
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None

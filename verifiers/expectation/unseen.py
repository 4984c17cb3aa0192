"""Effects of a run that no recorded system call accounts for: whoever hides calls hides them from every fault as well."""

from __future__ import annotations

from dataclasses import replace

from sandbox.codec import workdir
from sandbox.interface import ROOT, Entry, ReplayRecord, RunRequest, Snapshot

UNKNOWN = "?"
"""Path of a call whose caller could not be looked into."""


def unlogged(request: RunRequest, record: ReplayRecord) -> str:
    """The first path that a watched run changed without a call that could have done it; "" where there is none."""
    changes = [c for c in record.calls if c.changes_tree and c.in_workspace]
    named = {path for c in changes for path in (c.path, c.path2)}
    if UNKNOWN in named:
        return ""  # a point that runs can be stopped at, and a finding of its own
    root = workdir(request.surroundings)
    shared = {e.content for p, e in record.post.items() if e.links > 1 and _accounted(p, root, named)}
    for path in changed(request.base, record.post):
        entry = record.post.get(path)
        written_elsewhere = entry is not None and entry.links > 1 and entry.content in shared
        if not _accounted(path, root, named) and not written_elsewhere:
            return path
    return ""


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    """Paths that differ in existence, type, mode, content or target, sorted."""
    return sorted(p for p in {*before, *after} if p != ROOT and _alone(before.get(p)) != _alone(after.get(p)))


def _alone(entry: Entry | None) -> Entry | None:
    """An entry without its other names: those change with calls on them."""
    return replace(entry, links=1) if entry is not None else None


def _accounted(path: str, root: str, named: set[str]) -> bool:
    """Whether a call named the path or a directory above it, which a rename moves with all it holds."""
    parts = path.split("/")
    return any(f"{root}/{'/'.join(parts[:n])}" in named for n in range(1, len(parts) + 1))

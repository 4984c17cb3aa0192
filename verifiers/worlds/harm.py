"""What is wrong on any start, whatever the commands do: bytes lost that they leave as they are. Pure."""

from __future__ import annotations

from sandbox.interface import ReplayRecord, Snapshot
from verifiers.context import Case, Wrong
from verifiers.expectation.equivalence import differences, durable_effects, show


def untouched(base: Snapshot, record: ReplayRecord) -> bool:
    """Whether a refusing run left its workspace alone: raising after the damage is no refusal."""
    return not durable_effects(base, record.post)


def harmless(case: Case, record: ReplayRecord) -> bool:
    """Whether everything is as it was or as it should be: what a refusing run may leave."""
    changed = {(d.path, d.kind) for d in differences(case.base, record.post, root=False)}
    wrong = {(d.path, d.kind) for d in differences(case.expectation.tree, record.post, root=False)}
    return not changed & wrong


def lost(case: Case, record: ReplayRecord) -> Wrong | None:
    """A file that the commands leave as it is and whose bytes are nowhere after the run: removed, or overwritten by something
    that shares no line with it. What a careful skill edits, moves or packs, where naive commands pass it over, is not lost."""
    after = {e.content for e in record.post.values() if e.type == "file"}
    for path, e in case.base.items():
        if e.type != "file" or not e.content.strip() or case.expectation.tree.get(path) != e or e.content in after:
            continue
        now = record.post.get(path)
        if now is not None and now.type == "file" and _share_a_line(e.content, now.content):
            continue
        shown = show(now) if now is not None else "no such path"
        found = differences({path: e}, {path: now} if now is not None else {})
        return Wrong("effect", f"{path} is lost, which the trace's commands leave as it is", show(e), shown, found)
    return None


def _share_a_line(old: bytes, new: bytes) -> bool:
    return bool({x for x in old.split(b"\n") if x.strip()} & {x for x in new.split(b"\n") if x.strip()})

"""Tasks of the store as traces: the trees before and after from the pictures, the steps between from the events."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from synth.hooks.steps import asked, steps_of
from synth.importers.keeping import file_entry, worth_keeping
from synth.importers.repository import Repository, RepositoryError, Tree
from synth.importers.turns import State, Turn
from synth.interface import ExecutionTrace
from synth.store.pictures import MOST_NAMED, Picture
from synth.store.tasks import LOST, Event, Store
from verifiers.interface import EvidenceError

SMALL = 64
"""Files of a tree that is kept whole."""
_NO_COMMIT = "the commit that the task began with is gone, or of a kind of repository that is not read (SHA-256)"


@dataclass(frozen=True, slots=True)
class _Seen:
    """A picture with the commit that it leaves unsaid."""

    picture: Picture
    commit: Tree | None
    store: Store

    def paths(self) -> set[str]:
        return {*self.picture.files, *(p for p in self.commit or () if p not in self.picture.absent)} - set(self.picture.gone)

    def absent(self) -> dict[str, str]:
        """What was left out -> why."""
        return {**(self.commit.absent if self.commit is not None else {}), **self.picture.absent}

    def entry(self, path: str) -> dict[str, str] | None:
        """A path as traces have it; None where there is none, or its contents are not kept."""
        picture = self.picture
        if path in picture.gone or path in picture.absent:
            return None
        if path not in picture.files:
            held = self.commit.get(path) if self.commit is not None else None
            return file_entry(*held) if held is not None else None
        kind, mode, what = picture.files[path]
        if kind == "symlink":
            return {"type": "symlink", "target": what}
        if kind == "dir":
            return {"type": "dir", "mode": mode}
        data = self.store.objects.get(what)
        return file_entry(_by_git(int(mode, 8)) if picture.commit else int(mode, 8), data) if data is not None else None


def trace_of(store: Store, task: Path) -> ExecutionTrace | str:
    """The trace of a closed task, or why there is none, in one sentence."""
    events = store.events(task)
    if LOST in task.name:
        return "an event of it was lost: `assay hook status` says why"
    try:
        seen = _both_ends(store, events)
        if isinstance(seen, str):
            return seen
        trace = steps_of(store, task, events, Captured(seen[0]))
        return _with_trees(trace, *seen, events[0], events[-1]) if isinstance(trace, ExecutionTrace) else trace
    except (EvidenceError, LookupError, ValueError, TypeError, AttributeError) as e:
        return f"the store's own record is damaged ({e})"


def ends_of(store: Store, task: Path) -> ExecutionTrace | str:
    """A closed task as its request, start and end, whatever was done between; or why there is none."""
    events = store.events(task)
    seen = _both_ends(store, events)
    if isinstance(seen, str):
        return seen
    began, ended = (float(e["time"]) for e in (events[0], events[-1]))
    when = datetime.fromtimestamp(began, UTC)
    trace = ExecutionTrace(task.stem, asked(events) or "?", (), (), True, (ended - began) * 1000, when, {})
    return _with_trees(trace, *seen, events[0], events[-1])


def _both_ends(store: Store, events: Sequence[Event]) -> tuple[_Seen, _Seen] | str:
    begin, end = (next((e for e in events if e.get("event") == name), None) for name in ("begin", "end"))
    if begin is None or end is None or end.get("how") != "ended":
        return "the agent stopped before the end of its turn"
    start, stop = (_seen(store, e.get("picture")) for e in (begin, end))
    if isinstance(start, _Seen) and isinstance(stop, _Seen):
        return start, stop
    return start if isinstance(start, str) else str(stop)


def _seen(store: Store, digest: object) -> _Seen | str:
    picture = store.picture(digest)
    if picture is None or picture.failed:
        return picture.failed if picture is not None else "the picture of the tree is not in the store any more"
    if not picture.commit:
        return _Seen(picture, None, store)
    try:
        commit = Repository(Path(picture.root)).tree(picture.commit)
    except RepositoryError as e:
        return e.diagnostics()
    return _Seen(picture, commit, store) if commit is not None else _NO_COMMIT


@dataclass(frozen=True, slots=True)
class _Files(Mapping[str, tuple[int, bytes]]):
    """Files and links of what was seen, read when asked for."""

    seen: _Seen

    def __getitem__(self, path: str) -> tuple[int, bytes]:
        entry = self.seen.entry(path)
        if entry is None or entry["type"] == "dir":
            raise KeyError(path)
        if entry["type"] == "symlink":
            return stat.S_IFLNK, os.fsencode(entry["target"])
        return int(entry["mode"], 8), base64.b64decode(entry["content_b64"])

    def __iter__(self) -> Iterator[str]:
        kinds = self.seen.picture.files
        return (p for p in self.seen.paths() if p not in kinds or kinds[p][0] != "dir")

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class Captured:
    """The start that was captured, for whoever reads the agent's session."""

    seen: _Seen

    def starts(self, turn: Turn) -> Iterator[State]:
        yield State(_Files(self.seen), {"by": "capture"})


# ---------------------------------------------------------------- trees


def _with_trees(trace: ExecutionTrace, start: _Seen, stop: _Seen, begin: Event, end: Event) -> ExecutionTrace:
    unseen = {*start.picture.absent, *stop.picture.absent}  # at one end only, it may be kept at the other
    changed = {p for p in _candidates(start, stop) - unseen if start.entry(p) != stop.entry(p)}
    there = start.paths()
    edited = {s["edit"]["path"] for s in trace.steps or () if "edit" in s} | changed
    said = [*trace.commands, *trace.outputs, trace.task_description]
    kept = sorted(there) if len(there) <= SMALL else worth_keeping(there, said, edited)
    facts: dict[str, Any] = {**trace.metadata, "workspace_root": str(begin["root"])}
    base = {p: e for p in kept if (e := start.entry(p)) is not None}
    if trace.steps and not trace.commands and (others := changed - {s["edit"]["path"] for s in trace.steps or ()}):
        facts["changed_by_others"] = sorted({*facts.get("changed_by_others", ()), *others})
    after = {p: stop.entry(p) if p in changed else base.get(p) for p in {*base, *changed}}
    if len(there) > len(kept):
        facts["reduced_from"] = len(there)
    if absent := start.absent():
        facts["absent"] = dict(islice(absent.items(), MOST_NAMED))
    if start.picture.commit:
        facts["commit"] = start.picture.commit
    if alongside := [*begin.get("alongside", ()), *end.get("alongside", ())]:
        facts["alongside"] = alongside
    return replace(
        trace, workspace=base, post_workspace={p: e for p, e in sorted(after.items()) if e is not None}, metadata=facts
    )  # fmt: skip


def _candidates(start: _Seen, stop: _Seen) -> set[str]:
    """Paths that may differ between two pictures."""
    out = {*start.picture.files, *stop.picture.files, *start.picture.gone, *stop.picture.gone}
    if start.picture.commit != stop.picture.commit and start.commit is not None and stop.commit is not None:
        out |= start.commit.differing(stop.commit)
    return out


def _by_git(mode: int) -> int:
    """A mode as far as git keeps it: else a file would change it by being changed."""
    return 0o755 if mode & 0o100 else 0o644


def traces_of(store: Store) -> tuple[list[ExecutionTrace], list[tuple[Path, str]]]:
    """The traces of all closed tasks, and why others give none."""
    traces: list[ExecutionTrace] = []
    lost: list[tuple[Path, str]] = []
    for task in store.tasks():
        found = trace_of(store, task)
        if isinstance(found, ExecutionTrace):
            traces.append(found)
        else:
            lost.append((task, found))
    return traces, lost

"""Commits of a kind as traces: the tree before, reduced, the edits, and the message as the request."""

from __future__ import annotations

import base64
import difflib
import posixpath
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from synth.history.commits import Change, Commit
from synth.history.facts import MOST_FILES, changed_lines, operation, subject_of
from synth.history.objects import File, Objects
from synth.history.shapes import role
from synth.history.values import values
from synth.importers.common import task_id_for
from synth.importers.keeping import worth_keeping
from synth.interface import ExecutionTrace
from synth.tracing.secret_rules import secrets_in
from synth.tracing.traces import trace_from_record
from verifiers.interface import EvidenceError

_CACHED = 64 << 20
"""Bytes of files kept between trees: most are the same in the next."""
_MOST_HOLDERS = 40
"""Files kept because a value of the change stands in them too."""
_MOST_SIBLINGS = 12
"""Files kept beside one that is added: it may be made after one of them."""
_LARGEST_BYSTANDER, _LARGEST_UNRELATED = 256 << 10, 16 << 10
"""Bytes of a file that is kept though the commit leaves it alone: of one that has to do with the change, and of others."""
_POINTER = b"version https://git-lfs.github.com/spec/"
_TRAILER = re.compile(r"^[A-Z][A-Za-z-]+-by: .*$|^Change-Id: .*$|^git-svn-id: .*$", re.MULTILINE)

Entry = Mapping[str, str]


class Traces:
    """Makes traces of commits of one repository.

    Args:
        objects: The repository.
        name: What it is called in task ids.
    """

    def __init__(self, objects: Objects, name: str) -> None:
        self._objects, self._name = objects, name
        self._held: OrderedDict[str, bytes | None] = OrderedDict()
        self._size = 0
        self._secrets: dict[str, bool] = {}

    def trace(self, commit: Commit, kind: str) -> ExecutionTrace | str:
        """The trace of a commit with one parent, or why there is none, in one sentence."""
        try:
            return self._trace(commit, kind)
        except EvidenceError as e:  # a path that leads out of the tree, say
            return e.what

    def _trace(self, commit: Commit, kind: str) -> ExecutionTrace | str:
        if len(commit.changes) > MOST_FILES:
            return f"it changes {len(commit.changes)} files, more than {MOST_FILES}"
        why = next(filter(None, map(self._unfit, commit.changes)), "")
        if why:
            return why
        done = {c.path: (self._entry(c, False), self._entry(c, True)) for c in commit.changes}
        files = {p: f for p, f in self._objects.files(commit.parents[0]).items() if f.mode in (0o100644, 0o100755, 0o100664)}
        kept = self._kept(commit, files)
        base = {p: _file(files[p].mode, data) for p in kept if (data := self._content(files[p].oid)) is not None}
        end: dict[str, Entry | None] = {**base, **{path: after for path, (_, after) in done.items()}}
        steps = [{"edit": {"path": path, "before": before, "after": after}} for path, (before, after) in done.items()]
        return trace_from_record(
            {
                "task_id": task_id_for("git", self._name, commit.oid), "task_description": request_of(commit), "commands": [],
                "outputs": [], "success": True, "duration_ms": 0, "timestamp": commit.authored.isoformat(), "task_family": kind,
                "metadata": {
                    "source": "git", "repository": self._name, "kind": kind, "commit": commit.oid,
                    "start": {"commit": commit.parents[0], "by": "parent"},
                    "date": commit.authored.date().isoformat(), "reduced_from": len(files),
                },
                "workspace": base, "post_workspace": {p: e for p, e in sorted(end.items()) if e is not None}, "steps": steps,
            },
            f"commit {commit.oid}",
        )  # fmt: skip

    def _unfit(self, change: Change) -> str:
        if operation(change) == "submodule":
            return f"it moves a submodule ({change.path}), whose commits are elsewhere"
        if operation(change) == "link":
            return f"it changes a symbolic link ({change.path})"
        for mode, oid in ((change.mode_before, change.before), (change.mode_after, change.after)):
            data = self._content(oid) if mode else b""
            if data is None:
                return f"the content of {change.path} is damaged, not in this clone, or larger than 8 MiB"
            if data.startswith(_POINTER):
                return f"{change.path} is kept elsewhere (LFS)"
        return ""

    def _entry(self, change: Change, after: bool) -> Entry | None:
        mode, oid = (change.mode_after, change.after) if after else (change.mode_before, change.before)
        data = self._content(oid) if mode else None
        return _file(mode, data) if data is not None else None

    def _kept(self, commit: Commit, files: Mapping[str, File]) -> list[str]:
        """Of a start: what is changed, what holds a value of the change, what an added file may be made after, what the message
        names, and some bystanders."""
        changed = {c.path for c in commit.changes if c.mode_before}
        wanted = [v.encode("utf-8", "surrogateescape") for v in self._values(commit)]
        small = {p for p, f in files.items() if f.size <= _LARGEST_BYSTANDER and p not in changed}
        holders: list[str] = []
        for path in sorted(small, key=lambda p: (p.count("/"), p)) if wanted else []:
            data = self._content(files[path].oid)
            if data is not None and any(v in data for v in wanted):
                holders.append(path)
            if len(holders) >= _MOST_HOLDERS:
                break
        added = [c.path for c in commit.changes if not c.mode_before]
        siblings = {s for path in added for s in _siblings(path, files)}
        tiny = {p for p in small if files[p].size <= _LARGEST_UNRELATED}
        found = {*changed, *holders, *siblings}
        named = worth_keeping(changed | tiny, [commit.message], changed)
        # What nobody needs is not kept where it holds a secret: taking that out would change the file.
        return sorted(found & files.keys() | {p for p in named if p in found or not self._secret(files[p].oid)})

    def _secret(self, oid: str) -> bool:
        if oid not in self._secrets:
            text = (self._content(oid) or b"").decode("utf-8", "surrogateescape")
            self._secrets[oid] = bool(secrets_in(text))
        return self._secrets[oid]

    def _values(self, commit: Commit) -> set[str]:
        """Values that the change takes out or puts in, or its message names; short ones are everywhere and say nothing."""
        found = set(values(subject_of(commit)))
        for change in commit.changes:
            found |= set(values(change.path)) if operation(change) == "add" else set()
            for hunk in changed_lines(change, self._objects) or ():
                found |= set(values("".join(hunk.old))) ^ set(values("".join(hunk.new)))
        return {v for v in found if len(v) >= 3}

    def _content(self, oid: str) -> bytes | None:
        if oid in self._held:
            self._held.move_to_end(oid)
            return self._held[oid]
        data = self._objects.read(oid)
        self._held[oid] = data
        self._size += len(data or b"")
        while self._size > _CACHED and len(self._held) > 1:
            self._size -= len(self._held.popitem(last=False)[1] or b"")
        return data


def _siblings(path: str, files: Iterable[str]) -> Sequence[str]:
    """Files beside an added one that are called like it, the nearest in name first."""
    folder, name = posixpath.split(path)
    beside = [p for p in files if posixpath.dirname(p) == folder]
    alike = [p for p in beside if role(p) == role(path)] or [p for p in beside if _ending(p) == _ending(path)] or beside
    return sorted(alike, key=lambda p: -difflib.SequenceMatcher(None, posixpath.basename(p), name).ratio())[:_MOST_SIBLINGS]


def _ending(path: str) -> str:
    return posixpath.splitext(path)[1]


def request_of(commit: Commit) -> str:
    """The message as a request: subject and body on one line, without trailers and the number of a pull request."""
    body = " ".join(_TRAILER.sub("", commit.body).split())
    return f"{subject_of(commit)}\n\n{body}" if body else subject_of(commit) or "(no message)"


def _file(mode: int, data: bytes) -> dict[str, str]:
    said = "0755" if mode & 0o100 else "0644"
    return {"type": "file", "mode": said, "content_b64": base64.b64encode(data).decode("ascii")}

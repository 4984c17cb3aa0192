"""Commits as data: who, when, the message, and the files before and after."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

from synth.history.objects import HistoryError, Objects

_LONGEST = 1 << 16
"""Bytes of a message that are read."""
MOST = 20_000
"""Commits that are read, the newest; the newest counts anyway."""


@dataclass(frozen=True, slots=True)
class Change:
    """One path that a commit changed."""

    path: str
    mode_before: int
    """As git has it (0o100644, 0o160000 for a submodule ...); 0 = not there."""
    mode_after: int
    before: str
    """Object id."""
    after: str


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit."""

    oid: str
    parents: tuple[str, ...]
    author: str
    """``name <address>``."""
    time: datetime
    """When it was committed."""
    authored: datetime
    """When it was written, in the author's own time zone: the date that a changelog has."""
    message: str
    changes: tuple[Change, ...] = ()
    """Of those with one parent."""

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0].strip()

    @property
    def body(self) -> str:
        return self.message.partition("\n")[2].strip()


@dataclass(frozen=True, slots=True)
class History:
    """What was read, newest first."""

    commits: tuple[Commit, ...]
    total: int
    """That there are."""
    shallow: bool
    """Whether it ends where a shallow clone does."""


def read_history(objects: Objects, until: str = "HEAD", since: str | None = None) -> History:
    """The commits reachable from one revision and not from another.

    Raises:
        HistoryError: a revision names no commit, or the history is damaged.
    """
    last = objects.resolve(until)
    first = objects.resolve(since) if since is not None else None
    ids = objects.commits(last, first, MOST)
    if not ids:
        raise HistoryError(f"has no commit between {since} and {until}", "Name an earlier one with --since", objects.repository)
    total = len(ids) if len(ids) < MOST else objects.count(last, first)
    plain = [_parsed(oid, objects.read(oid), objects) for oid in ids]
    known = dict(objects.changes(c.oid for c in plain if len(c.parents) == 1))
    return History(tuple(_with(c, known.get(c.oid, ())) for c in plain), total, not objects.boundary.isdisjoint(ids))


def _with(commit: Commit, changes: Iterable[tuple[int, int, str, str, str]]) -> Commit:
    found = tuple(Change(path, before, after, old, new) for before, after, old, new, path in changes)
    return replace(commit, changes=found)


def _parsed(oid: str, raw: bytes | None, objects: Objects) -> Commit:
    if raw is None:
        raise HistoryError(f"cannot be read: commit {oid} is missing or too large", "Make a full clone", objects.repository)
    head, _, message = raw.partition(b"\n\n")
    parents: list[str] = []
    facts: dict[bytes, bytes] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"parent":
            parents += [value.decode("ascii", "replace")] if oid not in objects.boundary else []
        elif key in (b"author", b"committer", b"encoding"):
            facts.setdefault(key, value)
    author, _, _ = facts.get(b"author", b"").rpartition(b"> ")
    encoding = facts.get(b"encoding", b"utf-8").decode("ascii", "replace")
    name = _text(author, encoding) + ">" if author else ""
    times = _time(facts.get(b"committer", b"")), _time(facts.get(b"author", b""))
    return Commit(oid, tuple(parents), name, *times, _text(message[:_LONGEST], encoding))


def _text(raw: bytes, encoding: str) -> str:
    """Text in the encoding that the commit names, or in UTF-8; what is in none stays as escapes."""
    for name in ("utf-8", encoding):
        with suppress(LookupError, ValueError):
            return raw.decode(name)
    return raw.decode("utf-8", "backslashreplace")


def _time(person: bytes) -> datetime:
    """The time at the end of an ``author`` or ``committer`` line; one that no calendar has is 1970."""
    found = re.search(rb"> (-?\d{1,18}) ([+-])(\d\d)(\d\d)$", person)
    if found is None:
        return datetime.fromtimestamp(0, UTC)
    away = timedelta(hours=int(found[3]), minutes=int(found[4]))
    try:
        return datetime.fromtimestamp(int(found[1]), timezone(away if found[2] == b"+" else -away))
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)

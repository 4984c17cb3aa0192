"""What no dump of a SQLite database shows: the numbers of rows where no column is one, which other tables may go by, and whether
its indexes hold its rows. Pure."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import lru_cache

from sandbox.interface import Entry
from verifiers.expectation.archives import UNREADABLE, is_database, opened

_NAMES = (b"rowid", b"_rowid_", b"oid")
"""Of the number of a row, unless a column is called so."""


def renumbered(base: Mapping[str, Entry], wanted: Mapping[str, Entry], post: Mapping[str, Entry]) -> str:
    """The path of a database with a row that stands in ``base`` and ``wanted`` under one number, and in ``post`` under another;
    "" where there is none."""
    for path, e in base.items():
        kept, now = wanted.get(path), post.get(path)
        if kept is None or now is None or now.content in (e.content, kept.content):
            continue
        if is_database(e.content) and is_database(now.content):
            moved = (_numbered(e.content) & _numbered(kept.content)) - _numbered(now.content)
            if _rows(moved) & _rows(_numbered(now.content)):
                return path
    return ""


def spoilt(wanted: Mapping[str, Entry], post: Mapping[str, Entry]) -> str:
    """The path of a database that SQLite itself finds broken in ``post`` (an index that lacks a row, which no dump shows) and
    whole in ``wanted``; "" where there is none."""
    both = ((path, now.content, wanted[path].content) for path, now in post.items() if path in wanted)
    changed = ((path, new, old) for path, new, old in both if new != old and is_database(new) and is_database(old))
    return next((path for path, new, old in changed if not _sound(new) and _sound(old)), "")


@lru_cache(maxsize=1024)
def _sound(data: bytes) -> bool:
    """What takes too long to look at, or cannot be read, is not called broken."""
    try:
        with closing(opened(data)) as db:
            return [row[0] for row in db.execute("PRAGMA integrity_check(1)")] == ["ok"]
    except UNREADABLE:
        return True


def _rows(numbered: frozenset[tuple[str, int, str]]) -> set[tuple[str, str]]:
    return {(table, row) for table, _, row in numbered}


@lru_cache(maxsize=256)
def _numbered(data: bytes) -> frozenset[tuple[str, int, str]]:
    """Table, number and digest of each row whose number is in no column; nothing for what cannot be read."""
    try:
        with closing(opened(data)) as db:
            db.text_factory = bytes  # nobody has to be able to read it
            return frozenset(_of(db))
    except UNREADABLE:
        return frozenset()


def _of(db: sqlite3.Connection) -> Iterator[tuple[str, int, str]]:
    for schema, name, kind, _, without, _ in db.execute("PRAGMA table_list").fetchall():
        if (schema, kind, without) != (b"main", b"table", 0) or name.startswith(b"sqlite_"):
            continue
        table = _quoted(name)
        columns = db.execute(f"PRAGMA table_info({table})").fetchall()
        called = {column[1].lower() for column in columns}
        number = next((n.decode() for n in _NAMES if n not in called), "")
        if not number or [column[2].upper() for column in columns if column[5]] == [b"INTEGER"]:
            continue
        for at, *row in db.execute(f"SELECT {number}, * FROM {table}"):
            yield table, at, hashlib.sha256(repr(row).encode()).hexdigest()


def _quoted(name: bytes) -> str:
    return '"' + name.decode("utf-8", "surrogateescape").replace('"', '""') + '"'

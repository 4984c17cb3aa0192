"""SQLite databases with other texts, or with more rows. Pure; what cannot be read stays as it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from random import Random

from verifiers.worlds.mixed import mixed

Reword = Callable[[str], str]
MAGIC = b"SQLite format 3\0"
MAX_BYTES = 1 << 20
"""Larger ones are left alone."""
LEAST_ROWS = 3
"""Of a table whose values change places."""
STEPS = 200
"""Of 10,000 instructions: what a trigger of the user's may cost."""


def is_database(data: bytes) -> bool:
    return data.startswith(MAGIC)


def texts(data: bytes) -> list[str]:
    """Every text value, each once."""
    found: list[str] = []

    def note(text: str) -> str:
        found.append(text)
        return text

    reworded(data, note)
    return list(dict.fromkeys(found))


def reworded(data: bytes, word: Reword) -> bytes:
    """The database with another text in the place of each text value."""

    def change(db: sqlite3.Connection, table: str, columns: list[tuple[str, bool]]) -> None:
        for column, _ in columns:
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = word({column}) WHERE typeof({column}) = 'text'")

    return _remade(data, word, change)


def with_more_rows(data: bytes, word: Reword) -> bytes:
    """The database with each row once more, in other words and under a number of its own. What no two rows share, none shares
    then: a row whose own text stays as it is does not come again."""

    def change(db: sqlite3.Connection, table: str, columns: list[tuple[str, bool]]) -> None:
        kept = [column for column, numbered in columns if not numbered]
        own = [
            c
            for c in kept
            if db.execute(f"SELECT count({c}) > 1 AND count({c}) = count(DISTINCT {c}) FROM {table}").fetchone()[0]
        ]
        other = {c: f"{c} + (SELECT max({c}) - min({c}) + 1 FROM {table})" if c in own else c for c in kept}
        new = [
            f"CASE typeof({c}) WHEN 'text' THEN word({c}) WHEN 'integer' THEN {other[c]} WHEN 'real' THEN {other[c]} ELSE {c} END"
            for c in kept
        ]
        differs = [f"(typeof({c}) <> 'text' OR word({c}) <> {c})" for c in own]
        if kept:
            where = " AND ".join(["1", *differs])
            db.execute(f"INSERT OR IGNORE INTO {table} ({', '.join(kept)}) SELECT {', '.join(new)} FROM {table} WHERE {where}")

    return _remade(data, word, change)


def with_mixed_rows(data: bytes, rng: Random) -> bytes:
    """The database with the values of each table's columns in other rows."""

    def mix(db: sqlite3.Connection, table: str, columns: list[tuple[str, bool]]) -> None:
        kept = ", ".join(column for column, numbered in columns if not numbered)
        rows = db.execute(f"SELECT {kept} FROM {table} ORDER BY rowid").fetchall() if kept else []
        numbers = db.execute(f"SELECT rowid FROM {table} ORDER BY rowid").fetchall()
        if len(rows) < LEAST_ROWS:
            return
        db.execute(f"DELETE FROM {table}")  # first, for a value may be another row's for a moment
        marks = ", ".join("?" * (len(rows[0]) + 1))
        new = [(*number, *row) for number, row in zip(numbers, mixed(rows, rng), strict=True)]
        db.executemany(f"INSERT INTO {table} (rowid, {kept}) VALUES ({marks})", new)

    return _remade(data, str, mix)


def with_fewer_rows(data: bytes, first: int) -> bytes:
    """The database with every second row of its longest table, from the first (0) or the second (1) on: others may refer to those
    of a shorter one."""
    rows: dict[str, int] = {}

    def count(db: sqlite3.Connection, table: str, _: object) -> None:
        rows[table] = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def thin(db: sqlite3.Connection, table: str, _: object) -> None:
        if table == longest:
            number = f"(SELECT count(*) FROM {table} AS o WHERE o.rowid < {table}.rowid)"
            db.execute(f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {number} % 2 <> {first})")

    _remade(data, str, count)
    longest = max(rows, key=lambda table: rows[table], default="")
    return _remade(data, str, thin)


def with_another_table(data: bytes) -> bytes:
    """The database with a table more. Its first row was taken away again, so that its rows keep numbers that say something."""

    def add(db: sqlite3.Connection, _table: str, _columns: object) -> None:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'set_aside'").fetchone():
            db.execute("CREATE TABLE set_aside(note TEXT)")
            db.execute("INSERT INTO set_aside VALUES ('one'), ('two'), ('three')")
            db.execute("DELETE FROM set_aside WHERE note = 'one'")

    return _remade(data, str, add)


def without_rows(data: bytes) -> dict[str, bytes]:
    """The database with one of its tables empty, by the table's name."""
    tables: list[str] = []
    _remade(data, str, lambda db, table, columns: tables.append(table))

    def emptied(wanted: str) -> bytes:
        return _remade(data, str, lambda db, table, _: db.execute(f"DELETE FROM {table}") if table == wanted else None)

    return {table.strip('"'): emptied(table) for table in tables}


def _remade(data: bytes, word: Reword, change: Callable[[sqlite3.Connection, str, list[tuple[str, bool]]], object]) -> bytes:
    """The database after a change of each of its tables: name, columns, and whether a column is the row's own number."""
    if not is_database(data) or len(data) > MAX_BYTES:
        return data
    with closing(sqlite3.connect(":memory:")) as db:
        try:
            db.deserialize(data)
            db.execute("PRAGMA trusted_schema=OFF")
            steps = iter(range(STEPS))
            db.set_progress_handler(lambda: 1 if next(steps, None) is None else 0, 10_000)
            db.create_function("word", 1, word, deterministic=True)
            named = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall()
            for (name,) in named:
                rows = db.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
                columns = [(_quoted(row[1]), row[5] == 1 and row[2].upper() == "INTEGER") for row in rows]
                change(db, _quoted(name), columns)
            db.commit()
            return db.serialize()
        except (sqlite3.Error, UnicodeError):
            return data


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

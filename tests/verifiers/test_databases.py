"""Databases with other texts and rows; foreign ones never break anything."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from verifiers.worlds.databases import MAGIC, reworded, texts, with_fewer_rows, with_more_rows, without_rows

SCHEMA = """
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT UNIQUE, age INT);
CREATE TABLE "odd ""name"(a TEXT PRIMARY KEY, b BLOB) WITHOUT ROWID;
INSERT INTO person(name, age) VALUES ('Ann', 3), ('Bob', NULL);
INSERT INTO "odd ""name" VALUES ('k', x'00ff');
"""


def database(script: str) -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(script)
        return db.serialize()


def rows(data: bytes, table: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(data)
        return db.execute(f"SELECT * FROM {table}").fetchall()


def test_texts_change_and_nothing_else() -> None:
    """Numbers, NULL and blobs stay; keys of both tables follow."""
    data = database(SCHEMA)
    assert texts(data) == ["Ann", "Bob", "k"]
    other = reworded(data, str.upper)
    assert rows(other, "person") == [(1, "ANN", 3), (2, "BOB", None)]
    assert rows(other, '"odd ""name"') == [("K", b"\0\xff")]


def test_each_row_comes_once_more_under_its_own_number() -> None:
    """Where a row would break a rule of its table it is left out."""
    data = database(SCHEMA)
    assert rows(with_more_rows(data, lambda text: f"{text}!"), "person")[2:] == [(3, "Ann!", 3), (4, "Bob!", None)]
    assert rows(with_more_rows(data, lambda text: text), "person") == rows(data, "person")


def test_what_no_two_rows_share_none_shares_then() -> None:
    """A name that stays as it is comes once; numbers of their own move on; what rows share already they may share again."""
    data = database(
        "CREATE TABLE p(name TEXT, no INT, kind TEXT, at REAL); INSERT INTO p VALUES ('tea', 1, 'x', 1.5), ('oil', 3, 'x', 2)"
    )
    found = rows(with_more_rows(data, lambda text: text if text in ("tea", "x") else f"{text}!"), "p")
    assert found == [("tea", 1, "x", 1.5), ("oil", 3, "x", 2.0), ("oil!", 6, "x", 3.5)]


def test_a_table_of_numbers_alone_stays() -> None:
    """There is nothing to say in other words; the other tables get their rows."""
    data = with_more_rows(
        database("CREATE TABLE k(id INTEGER PRIMARY KEY); CREATE TABLE t(a); INSERT INTO t VALUES ('x')"), str.upper
    )
    assert (rows(data, "k"), rows(data, "t")) == ([], [("x",), ("X",)])


def test_every_second_row_of_the_longest_table_goes() -> None:
    """The rows and those between them; all other tables stay."""
    data = database(SCHEMA + "CREATE TABLE visit(day TEXT); INSERT INTO visit VALUES ('a'), ('b'), ('c');")
    assert [rows(with_fewer_rows(data, n), "visit") for n in (0, 1)] == [[("a",), ("c",)], [("b",)]]
    assert rows(with_fewer_rows(data, 1), "person") == rows(data, "person")
    without = database("CREATE TABLE k(a TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO k VALUES ('a'), ('b')")
    assert with_fewer_rows(without, 0) == without


def test_one_table_at_a_time_is_emptied() -> None:
    """By the names that people know them by."""
    found = without_rows(database("CREATE TABLE a(x); CREATE TABLE b(x); INSERT INTO a VALUES (1); INSERT INTO b VALUES (1);"))
    assert [(name, rows(data, "a"), rows(data, "b")) for name, data in found.items()] == [("a", [], [(1,)]), ("b", [(1,)], [])]


def test_a_trigger_without_end_is_stopped() -> None:
    """The database stays as it is."""
    endless = "INSERT INTO b WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n;"
    trigger = f"CREATE TRIGGER t AFTER UPDATE ON a BEGIN {endless} END;"
    data = database(f"CREATE TABLE a(x); CREATE TABLE b(x); INSERT INTO a VALUES ('t'); {trigger}")
    assert reworded(data, str.upper) == data


@given(st.binary(max_size=200), st.integers(0, 3))
def test_any_bytes_are_survived(noise: bytes, way: int) -> None:
    """What is no database, or a broken one, stays as it is."""
    data = database(SCHEMA)
    broken = (noise, MAGIC + noise, data[: len(noise) * 20] + noise, data[:3000] + noise + data[3000 + len(noise) :])[way]
    fewer = [with_fewer_rows(broken, n) for n in (0, 1)]
    for made in (reworded(broken, str.upper), with_more_rows(broken, str.upper), *fewer, *without_rows(broken).values()):
        assert made == broken or made.startswith(MAGIC)

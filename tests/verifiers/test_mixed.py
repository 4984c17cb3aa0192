"""Values that change places within their columns: none is lost, and what one column says of another stays."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from verifiers.worlds.databases import with_mixed_rows
from verifiers.worlds.mixed import in_order, mixed, tied

CELL = st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["", "a", "b", "c"]))
ROWS = st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=8))


@given(ROWS, st.integers(0, 9))
def test_each_column_keeps_its_values(rows: list[list[object]], seed: int) -> None:
    new = mixed(rows, Random(seed))  # type: ignore[type-var]
    assert new == mixed(rows, Random(seed))  # type: ignore[type-var]
    for before, after in zip(zip(*rows, strict=True), zip(*new, strict=True), strict=True):
        assert sorted(map(repr, before)) == sorted(map(repr, after))


def test_what_one_column_says_of_another_stays() -> None:
    """A town's number goes with the town, a date of payment with what is paid, and what is in order keeps it."""
    rows = [
        [1, "Ulm", "89", "x", "paid", "3 May"],
        [2, "Bonn", "53", "y", "open", ""],
        [3, "Ulm", "89", "y", "paid", "1 May"],
        [4, "Kiel", "24", "x", "open", ""],
        [5, "Bonn", "53", "x", "paid", "2 May"],
    ]
    for seed in range(20):
        new = mixed(rows, Random(seed))
        assert [row[0] for row in new] == [1, 2, 3, 4, 5]
        assert {(row[1], row[2]) for row in new} == {("Ulm", "89"), ("Bonn", "53"), ("Kiel", "24")}
        assert all((row[4] == "open") is (row[5] == "") for row in new)
    combinations = {(row[1], row[3]) for seed in range(20) for row in mixed(rows, Random(seed))}
    assert ("Kiel", "y") in combinations


def test_ties_and_orders() -> None:
    assert tied(["a", "a", "b"], [1, 1, 2])
    assert not tied(["a", "b", "c"], [1, 1, 2])  # each value once: it says all of everything
    assert not tied(["a", "a", "b"], [1, 2, 2])
    assert in_order([3, 2, 1])
    assert not in_order([3, 1, 2])
    assert not in_order([1, 1, 1])


def test_a_database_keeps_its_keys() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, paid INTEGER);"
            "INSERT INTO t VALUES (1, 'c', 1), (2, 'a', 1), (4, 'b', 0), (5, 'd', 1)"
        )
        data = db.serialize()
    found = set()
    for seed in range(9):
        with closing(sqlite3.connect(":memory:")) as db:
            db.deserialize(with_mixed_rows(data, Random(seed)))
            rows = db.execute("SELECT * FROM t").fetchall()
        assert [row[0] for row in rows] == [1, 2, 4, 5]
        assert sorted(row[1] for row in rows) == ["a", "b", "c", "d"]
        found |= {row[1] for row in rows if not row[2]}
    assert len(found) > 2
    assert with_mixed_rows(b"no database", Random(1)) == b"no database"

"""Rows of a database keep their numbers, where no column says them: other tables may go by them."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from records import file, record

from sandbox import open_sandbox
from sandbox.interface import Entry, ReplayRecord, Returned, Sandbox, Snapshot
from verifiers.context import Case
from verifiers.evidence import load_evidence
from verifiers.expectation.archives import canonical
from verifiers.expectation.oracle import Expectation
from verifiers.expectation.rows import renumbered, spoilt
from verifiers.interface import Binding, Report, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify
from verifiers.worlds.databases import MAGIC, with_another_table
from verifiers.worlds.harm import lost

SCHEMA = "CREATE TABLE t(name TEXT); INSERT INTO t VALUES ('a'), ('b'), ('c'); DELETE FROM t WHERE name = 'a';"
KEYED = SCHEMA.replace("t(name", "t(id INTEGER PRIMARY KEY, name").replace("INTO t ", "INTO t(name) ")


def changed(data: bytes, script: str) -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(data) if data else None
        db.executescript(script)
        return db.serialize()


def tree(data: bytes) -> Snapshot:
    return Snapshot({"a.db": Entry("file", 0o644, data)})


def moved(before: bytes, wanted: bytes, after: bytes) -> str:
    return renumbered(tree(before), tree(wanted), tree(after))


def test_a_dump_does_not_show_them() -> None:
    before = changed(b"", SCHEMA)
    after = changed(before, "VACUUM")
    assert canonical(before) == canonical(after)
    assert moved(before, before, after) == "a.db"


def test_who_does_it_as_the_commands_do_is_right() -> None:
    before = changed(b"", SCHEMA)
    assert not moved(before, changed(before, "VACUUM"), changed(before, "VACUUM; PRAGMA user_version = 1"))


@pytest.mark.parametrize(
    "script",
    ["INSERT INTO t(name) VALUES ('d')", "UPDATE t SET name = 'x' WHERE name = 'b'", "DELETE FROM t", "PRAGMA user_version = 1"],
)
def test_other_changes_are_no_new_numbers(script: str) -> None:
    """The dump shows them."""
    before = changed(b"", SCHEMA)
    assert not moved(before, before, changed(before, script))


def test_an_index_without_a_row_is_no_sound_database() -> None:
    """The dump is the one that the commands leave; what was broken before stays so, and what is none is none."""
    indexed = changed(b"", SCHEMA + "CREATE INDEX i ON t(name);")
    right = changed(indexed, "UPDATE t SET name = 'x' WHERE name = 'b'")
    hidden = "PRAGMA writable_schema=ON; {} sqlite_schema {}; PRAGMA writable_schema=RESET;"
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(indexed)
        db.execute("PRAGMA writable_schema=ON")
        row = db.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema WHERE name='i'").fetchone()
        db.executescript(hidden.format("DELETE FROM", "WHERE name='i'") + "UPDATE t SET name = 'x' WHERE name = 'b';")
        db.execute("PRAGMA writable_schema=ON")
        db.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", row)
        db.commit()
        broken = db.serialize()
    assert canonical(broken) == canonical(right)
    assert spoilt(tree(right), tree(broken)) == "a.db"
    assert not spoilt(tree(right), tree(right)) + spoilt(tree(broken), tree(right)) + spoilt(tree(broken), tree(broken + b""))
    assert not spoilt(tree(b"text"), tree(broken))


@pytest.mark.parametrize("schema", [KEYED, "CREATE TABLE k(a TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO k VALUES ('x')"])
def test_a_number_that_is_a_column_is_compared_there(schema: str) -> None:
    before = changed(b"", schema)
    assert not moved(before, before, changed(before, "VACUUM"))


def test_columns_may_have_the_names_of_numbers() -> None:
    before = changed(b"", SCHEMA.replace("name", '"RowID"'))
    assert moved(before, before, changed(before, "VACUUM"))
    every = changed(b"", "CREATE TABLE t(rowid, oid, _rowid_); INSERT INTO t VALUES (1, 2, 3)")
    assert not moved(every, every, changed(every, "VACUUM"))


def test_what_cannot_be_read_has_no_rows() -> None:
    assert not moved(MAGIC + b"x" * 90, MAGIC + b"x" * 90, MAGIC + b"y" * 90)


def test_who_only_opens_a_database_loses_nothing() -> None:
    """Its bytes are others then, and not one line is the same."""
    before = changed(b"", KEYED)
    x = Expectation(tree(before), tree(before), frozenset(), "", True, (0,), (True,))
    case = Case("c", {}, x, "t")
    for script, says in (("VACUUM", ""), ("DROP TABLE t", "a.db is lost")):
        wrong = lost(case, ReplayRecord(Returned({}), (), tree(changed(before, script)), "exited"))
        assert (wrong.message if wrong else "").startswith(says)
        assert bool(wrong) is bool(says)


def test_another_table_lacks_its_first_row() -> None:
    """Whatever else is there stays."""
    before = changed(b"", KEYED)
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(with_another_table(before))
        assert db.execute("SELECT rowid, note FROM set_aside").fetchall() == [(2, "two"), (3, "three")]
        assert db.execute("SELECT * FROM t").fetchall() == [(2, "b"), (3, "c")]
    assert with_another_table(with_another_table(before)) == with_another_table(before)
    assert with_another_table(b"no database") == b"no database"


LENT = {"may.db": ("Ann", "tea"), "june.db": ("Bob", "oil"), "july.db": ("Eve", "salt")}
SKILL = '''
import contextlib
import sqlite3
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
def list_lent(
    database: str = Query(..., description="The database"),
    target: str = Query(..., description="The file to write"),
) -> dict:
    """Write the names of a database to a file.

    Args:
        database: The database.
        target: The file to write.

    Returns:
        ok
    """
    with contextlib.closing(sqlite3.connect(Path(database).resolve().as_uri() + "?mode=rw", uri=True)) as db:
        FIRST
        rows = db.execute("SELECT name FROM lent ORDER BY name").fetchall()
    Path(target).write_text("".join(f"{name}\\n" for (name,) in rows))
    return {"ok": True}
'''


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as box:
        yield box


def judged(folder: Path, sandbox: Sandbox, first: str) -> Report:
    rows, bindings = [], {}
    for name, people in LENT.items():
        target = f"{name[:-3]}.txt"
        script = "CREATE TABLE lent(id INTEGER PRIMARY KEY, name TEXT);"
        script += "".join(f"INSERT INTO lent(name) VALUES ('{who}');" for who in people)
        before = {name: {"type": "file", "mode": "0644", "content_b64": base64.b64encode(changed(b"", script)).decode()}}
        about = {"task_id": name, "task_description": f"the names of {name} in {target}", "exit_codes": [0]}
        written = file("".join(f"{who}\n" for who in sorted(people)))
        row = record(**about, workspace=before, post_workspace={**before, target: written})
        row |= {"commands": [f'sqlite3 {name} "SELECT name FROM lent ORDER BY name" > {target}'], "outputs": [""]}
        rows.append({k: v for k, v in row.items() if k != "steps"})
        bindings[name] = Binding(name, {"database": name, "target": target})
    (folder / "evidence.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    options = Options(budget="fast", checks=frozenset({"generalises"}))
    subject = parse_subject(SKILL.replace("FIRST", first), Path("skill.py"))
    return verify(subject, load_evidence(folder / "evidence.jsonl"), bindings, sandbox=sandbox, options=options)


@pytest.mark.engine
def test_who_gives_new_numbers_to_what_is_only_read_is_refused(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, 'db.execute("VACUUM")')
    assert report.verdict is Verdict.FAIL
    assert "get other numbers" in report.why


@pytest.mark.engine
@pytest.mark.parametrize("first", ["pass", 'db.execute("PRAGMA user_version")'])
def test_who_reads_it_is_right(first: str, tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, first)
    assert report.verdict is Verdict.PASS, report.why
    assert "another-table" not in {q.invariant for q in report.questions}

"""SIGKILL at any moment, two writers at once, a full disk: the registry opens, shows only whole versions, and loses nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from synth.registry.database import Database
from synth.registry.errors import RegistryUnusable

RIG = Path(__file__).with_name("crash_rig.py")
ROOT = RIG.parents[2]


def run(mode: str, where: Path, amount: str, *before: str) -> dict[str, Any]:
    paths = os.pathsep.join((str(ROOT), str(RIG.parent)))
    done = subprocess.run(
        [*before, sys.executable, str(RIG), mode, str(where), amount],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_killed_writer_leaves_nothing_half_done(tmp_path: Path) -> None:
    """100 kills at random moments; after each one everything promised is there, whole, and nothing else is."""
    found = run("kill", tmp_path / "r", "100")
    assert found["problems"] == []
    assert found["promised"] > 10
    assert found["cleaned"] > 5, "the kills missed the moments that matter"


def test_two_processes_register_at_once(tmp_path: Path) -> None:
    """Skills of one name get names of their own, equal skills stay one, and nobody fails."""
    found = run("race", tmp_path / "r", "15")
    assert found == {"codes": [0, 0], "names": 45, "versions": 45, "intact": True}


def test_a_new_registry_waits_for_who_opens_it_at_the_same_moment(tmp_path: Path) -> None:
    """SQLite refuses at once where the change to WAL would have to wait for a writer; the registry waits, and can be written."""
    other = sqlite3.connect(tmp_path / "registry.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    leaves = threading.Timer(0.5, other.close)
    leaves.start()
    database = Database(tmp_path)
    leaves.join()
    with database.write() as connection:
        connection.execute("INSERT INTO bench VALUES ('one', 1)")
    database.close()


def check_full(found: dict[str, Any]) -> None:
    assert found["done"] > 3
    assert "ree some space" in found["refused"]
    assert found["shown_while_full"] == found["done"]
    assert (found["lost"], found["extra"], found["intact"], found["routed"]) == ([], [], True, True)
    assert (found["final"], found["unnamed"]) == (found["done"] + 1, [])
    assert found["read_only"] == found["final"]


def test_a_full_disk_refuses_new_skills_and_keeps_the_old_ones(tmp_path: Path) -> None:
    """A small file system filled to the last byte: reading goes on, also read-only, and writing once there is room."""
    check_full(run("full", tmp_path, "tmpfs", "unshare", "-rm"))


def test_files_that_cannot_grow_lose_nothing(tmp_path: Path) -> None:
    """The same with a limit on file sizes, which needs no rights: a transaction that cannot be written is undone."""
    check_full(run("full", tmp_path, "limit"))


def test_a_write_without_room_says_why_it_could_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no file can be made beside the database it is opened to be read; a write names that cause, not its consequence."""
    Database(tmp_path).close()
    connect = Database._connect

    def without_room(self: Database, *, exclusive: bool, uri: str | None = None) -> sqlite3.Connection:
        if uri is None:
            error = sqlite3.OperationalError("disk I/O error")
            raise self._unusable(error) if exclusive else error
        return connect(self, exclusive=exclusive, uri=uri)

    monkeypatch.setattr(Database, "_connect", without_room)
    database = Database(tmp_path)
    assert database.read("SELECT count(*) FROM sqlite_master")[0][0] > 0
    with pytest.raises(RegistryUnusable, match="disk I/O error"), database.write():
        pass
    database.close()

"""Wayland's memory database while Wayland itself writes to it: a lock, and a copy of everything from before."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from factories import draft, report
from test_export_wayland import make_database, rows, where

from synth.export import skill_of, wayland_memory
from synth.export.wayland import WaylandExport, export_wayland
from synth.registry import Registry

THEIRS = "INSERT INTO evolved_prompts (id, skill_name, prompt_body, score, scorer, generation, created_at)"


@pytest.fixture(params=["delete", "wal"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "wayland" / "memory" / "memory.db"
    make_database(path, 7)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {request.param}")
    return path


@contextmanager
def they_write(path: Path, seconds: float) -> Iterator[None]:
    """Wayland writes a row, which takes it some time."""
    begun = threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(f"{THEIRS} VALUES ('theirs', 'auto-other', 'x', 0.0, 'auto_drafter', 0, 1)")
            begun.set()
            time.sleep(seconds)
            db.execute("COMMIT")

    thread = threading.Thread(target=write)
    thread.start()
    begun.wait(10)
    yield
    thread.join()


def exported(tmp_path: Path) -> WaylandExport:
    with Registry(tmp_path / "registry") as registry:
        registry.register(draft(), report(draft()))
        return export_wayland(skill_of(registry, "batch_rename"), registry, places=where(tmp_path / "wayland"))


def test_the_copy_has_what_they_were_writing(tmp_path: Path, database: Path) -> None:
    """Ours waits for theirs; who goes back to the copy loses nothing of theirs."""
    with they_write(database, 0.5):
        done = exported(tmp_path)
    assert all(placed.row_written for placed in done.placed)
    assert [r["id"] for r in rows(database.with_name("memory.db.before-assay"))] == ["theirs"]
    assert len(rows(database)) == 1 + len(done.placed)


def test_while_they_write_for_long_nothing_is_written(tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drafts are there, and the note says what to do; no half copy is left."""
    monkeypatch.setattr(wayland_memory, "_BUSY_S", 0.1)
    with they_write(database, 1.0):
        done = exported(tmp_path)
    assert not any(placed.row_written for placed in done.placed)
    assert "locked" in done.notes[0]
    assert "close Wayland" in done.notes[0]
    assert [r["id"] for r in rows(database)] == ["theirs"]
    assert not [p.name for p in database.parent.iterdir() if "before-assay" in p.name]

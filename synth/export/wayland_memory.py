"""The measured row in Wayland's existing ``memory.db``, never created or migrated, and looked at before it is written."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from synth.export.source import ExportError
from synth.export.wayland_files import SCORER

NEWEST_SCHEMA = 7
BACKUP = ".before-assay"
"""End of the name of the copy from before the last change of ours."""
_NEEDED = {"id", "skill_name", "parent_id", "prompt_body", "score", "scorer", "generation", "created_at", "metadata"}
_BUSY_S = 10.0


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """What our row says."""

    skill_name: str
    body: str
    score: float
    created_at: int
    """Unix seconds."""
    metadata: str
    """Compact JSON with alphabetical keys."""
    report_sha256: str


@contextmanager
def _opened(path: Path) -> Iterator[tuple[sqlite3.Connection, bool]]:
    """The database and whether it has ``score_measured``.

    Raises:
        ExportError: it is missing, locked, of no known schema, or not Wayland's.
    """
    if not path.is_file():
        advice = "The Wayland that keeps it there makes it when it starts; the next export writes the row"
        raise ExportError("Wayland has no memory database yet", advice, path)
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY_S, isolation_level=None)
        ) as db:
            columns = {str(r[1]) for r in db.execute("PRAGMA table_info(evolved_prompts)")}
            if not columns >= _NEEDED:
                raise ExportError(
                    "it has no table evolved_prompts of the known shape", "Nothing was written: this Wayland is not known", path
                )
            version = _schema_version(db)
            if version is None:
                raise ExportError("it does not say which schema it has", "Nothing was written: this Wayland is not known", path)
            if version > NEWEST_SCHEMA:
                raise ExportError(
                    f"its schema {version} is newer than {NEWEST_SCHEMA}", "Nothing was written: upgrade skill-assay", path
                )
            yield db, "score_measured" in columns
    except sqlite3.DatabaseError as e:
        raise ExportError(f"it cannot be used ({e})", "Nothing was written: close Wayland, or mend the database", path) from e


def _schema_version(db: sqlite3.Connection) -> int | None:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'").fetchone():
        return None
    found = db.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    return int(found) if found is not None else None


def drafted_bodies(path: Path, skill_name: str) -> list[str]:
    """The bodies that Wayland's own drafter noted for a skill; none where there is no database to ask."""
    try:
        with _opened(path) as (db, _):
            found = db.execute(
                "SELECT prompt_body FROM evolved_prompts WHERE skill_name = ? AND scorer = ? AND generation = 0",
                (skill_name, SCORER),
            )
            return [str(body) for (body,) in found]
    except ExportError:
        return []


def write_rows(path: Path, rows: Sequence[MeasuredRow]) -> list[bool]:
    """Writes our measured rows in one transaction, clears better ones of earlier verifications; whether each changed anything.

    The best score ever wins in Wayland's router, so an older, better one must go for a worse, newer one to count.

    Raises:
        ExportError: nothing was written.
    """
    with _opened(path) as (db, has_measured), _changing(db, path):
        return [_write(db, has_measured, row) for row in rows]


def _write(db: sqlite3.Connection, has_measured: bool, row: MeasuredRow) -> bool:
    cleared = _clear(db, has_measured, row.skill_name, above=row.score)
    if _present(db, has_measured, row):
        return cleared > 0
    parent, newest = db.execute(
        "SELECT id, generation FROM evolved_prompts WHERE skill_name = ? AND scorer = ?"
        " ORDER BY generation DESC, created_at DESC LIMIT 1",
        (row.skill_name, SCORER),
    ).fetchone() or (None, 0)
    values = {
        "id": str(uuid.uuid4()), "skill_name": row.skill_name, "parent_id": parent, "prompt_body": row.body, "score": row.score,
        "scorer": SCORER, "generation": max(int(newest), 0) + 1, "created_at": row.created_at, "metadata": row.metadata,
        **({"score_measured": 1} if has_measured else {}),
    }  # fmt: skip
    places = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO evolved_prompts ({', '.join(values)}) VALUES ({places})", list(values.values()))
    return True


def clear_rows(path: Path, skill_names: Sequence[str]) -> int:
    """Takes the score from every measured row of skills that no longer pass; returns how many.

    Raises:
        ExportError: nothing was written.
    """
    with _opened(path) as (db, has_measured), _changing(db, path):
        return sum(_clear(db, has_measured, name, above=-1.0) for name in skill_names)


def _clear(db: sqlite3.Connection, has_measured: bool, skill_name: str, above: float) -> int:
    change = "score = 0.0, score_measured = 0" if has_measured else "score = 0.0"
    live = "score_measured = 1 AND score > ?" if has_measured else "score > max(?, 0.0)"
    return db.execute(
        f"UPDATE evolved_prompts SET {change} WHERE skill_name = ? AND scorer = ? AND {live}", (skill_name, SCORER, above)
    ).rowcount


def _present(db: sqlite3.Connection, has_measured: bool, row: MeasuredRow) -> bool:
    live = " AND score_measured = 1" if has_measured else ""
    found = db.execute(
        f"SELECT metadata FROM evolved_prompts WHERE skill_name = ? AND scorer = ? AND score = ? AND prompt_body = ?{live}",
        (row.skill_name, SCORER, row.score, row.body),
    ).fetchall()
    return any(_report_of(metadata) == row.report_sha256 for (metadata,) in found)


def _report_of(metadata: object) -> object:
    try:
        document = json.loads(str(metadata))
    except ValueError:
        return None
    return document.get("report_sha256") if isinstance(document, dict) else None


@contextmanager
def _changing(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """A transaction that nobody else writes in. What changes something leaves a copy of the database from before."""
    kept = path.with_name(f"{path.name}{BACKUP}")
    part = kept.with_name(f".{kept.name}.part")
    part.unlink(missing_ok=True)
    try:
        before = db.total_changes
        db.execute("BEGIN IMMEDIATE")
        try:
            # Only now: the copy must have everything that others wrote. By another connection: this one's own lock would bar it.
            with (
                closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as now,
                closing(sqlite3.connect(part)) as copy,
            ):
                now.backup(copy)
            yield
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
        if db.total_changes > before:
            part.replace(kept)
    except OSError as e:
        raise ExportError(f"no copy of it can be kept ({e.strerror})", "Nothing was written: make room beside it", path) from e
    finally:
        part.unlink(missing_ok=True)

"""The registry's database: one SQLite file in WAL mode. The row is the commit point; what no row names does not exist."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tenacity

from synth.registry.errors import RegistryUnusable

FILE = "registry.db"
SCHEMA_VERSION = 1
_APPLICATION_ID = 0x41534159
"""'ASAY': a database of another program is not taken for ours."""
_BUSY_S = 60.0

_SCHEMA = """
CREATE TABLE skill (
    name TEXT PRIMARY KEY,
    active TEXT,
    created_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE version (
    name TEXT NOT NULL REFERENCES skill(name),
    version TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('staged', 'active', 'archived', 'revoked')),
    score REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
    estimate REAL NOT NULL CHECK (estimate BETWEEN 0 AND 1),
    measured INTEGER NOT NULL,
    description TEXT NOT NULL,
    registered_at TEXT NOT NULL,
    verified_at TEXT NOT NULL,
    report_sha256 TEXT NOT NULL,
    code_sha256 TEXT NOT NULL,
    evidence_sha256 TEXT NOT NULL,
    needs_approval INTEGER NOT NULL DEFAULT 0,
    approved_by TEXT,
    drifted INTEGER NOT NULL DEFAULT 0,
    metadata TEXT NOT NULL,
    PRIMARY KEY (name, version)
) WITHOUT ROWID;
CREATE INDEX version_by_digest ON version (version);
CREATE INDEX version_by_code ON version (code_sha256);
CREATE INDEX version_by_status ON version (status, name, ordinal);
CREATE TABLE report (
    sha256 TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    at TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (name, version, sha256)
);
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX event_by_name ON event (name, id);
CREATE TABLE pending_link (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE outcome (
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    succeeded INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, version)
) WITHOUT ROWID;
CREATE TABLE bench (name TEXT PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE indexed (name TEXT PRIMARY KEY, rowid_of_text INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE skill_text USING fts5(
    skill UNINDEXED, name, description, parameters, tasks, concepts, tokenize = 'porter unicode61 remove_diacritics 2'
);
"""


def _is_busy(error: BaseException) -> bool:
    """Whether another process holds a lock. The low byte is the code, what is above it the kind of lock."""
    return isinstance(error, sqlite3.OperationalError) and getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


class Database:
    """A connection to a registry's database, safe to share between threads."""

    def __init__(self, directory: Path) -> None:
        """Opens or creates the database.

        Raises:
            RegistryUnusable: it cannot be opened, is damaged, or belongs to another program or a newer version of this one.
        """
        self.path = directory / FILE
        self._lock = threading.RLock()
        self._unwritable: RegistryUnusable | None = None
        """Why it was opened to be read alone."""
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect_when_free()
        except sqlite3.OperationalError:
            return self._open_in_need()
        except sqlite3.DatabaseError as e:
            raise RegistryUnusable(f"the registry's database is damaged ({e})", "Restore it from a backup", self.path) from e

    @tenacity.retry(
        retry=tenacity.retry_if_exception(_is_busy),
        stop=tenacity.stop_after_delay(_BUSY_S),
        wait=tenacity.wait_random(0, 0.05),
        reraise=True,
    )
    def _connect_when_free(self) -> sqlite3.Connection:
        """Waits for others, also where SQLite does not: it never waits for a lock that a change of the journal's mode needs."""
        return self._connect(exclusive=False)

    def _open_in_need(self) -> sqlite3.Connection:
        """Opens where the ordinary way fails: on a full disk (no room for the shared WAL index) or a read-only one."""
        try:
            return self._connect(exclusive=True)
        except RegistryUnusable as e:
            log = self.path.with_name(f"{FILE}-wal")
            if not self.path.is_file() or (log.exists() and log.stat().st_size):
                raise  # there are commits that only a writer could read
            self._unwritable = e
            return self._connect(exclusive=True, uri=f"{self.path.as_uri()}?mode=ro&immutable=1")

    def _connect(self, *, exclusive: bool, uri: str | None = None) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                uri or self.path, uri=uri is not None, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
        except sqlite3.OperationalError as e:
            raise self._unusable(e) from e
        try:
            connection.row_factory = sqlite3.Row
            if exclusive:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._prepare(connection)
        except sqlite3.OperationalError as e:
            connection.close()
            if exclusive:
                raise self._unusable(e) from e
            raise
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found == 0:
            found = self._create(connection)
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        if owner != _APPLICATION_ID:
            raise RegistryUnusable("the file is a database of another program", "Name another registry directory", self.path)
        if found > SCHEMA_VERSION:
            raise RegistryUnusable(
                f"the registry was written by a newer version (schema {found}, this one knows {SCHEMA_VERSION})",
                "Upgrade skill-assay",
                self.path,
            )

    def _create(self, connection: sqlite3.Connection) -> int:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            found = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if found == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                self._must_be_new()
                for statement in _SCHEMA.split(";\n"):
                    if statement.strip():
                        connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                found = SCHEMA_VERSION
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return found

    def _must_be_new(self) -> None:
        """Raises RegistryUnusable where an empty database lies beside versions: it was lost, and the revocations in it."""
        versions = self.path.parent / "versions"
        if versions.is_dir() and any(versions.iterdir()):
            advice = "Restore registry.db from a backup; to begin anew, move the whole directory away"
            raise RegistryUnusable("the registry has versions, and its database is empty or gone", advice, self.path)

    def _unusable(self, error: sqlite3.Error) -> RegistryUnusable:
        advice = "Free some space, or check that the directory exists, is writable and is on a local disk"
        return RegistryUnusable(f"the registry's database cannot be used ({error})", advice, self.path)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction that all of the block's changes belong to: all of them are durable afterwards, or none.

        Raises:
            RegistryUnusable: the database cannot be written (full disk, removed, locked for a minute). Nothing was changed.
        """
        with self._lock:
            if self._unwritable is not None:
                raise self._unwritable
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.DatabaseError as e:
                self._rollback()
                raise self._unusable(e) from e
            except BaseException:
                self._rollback()
                raise

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def read(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """The rows that one query sees, all of one moment.

        Raises:
            RegistryUnusable: the database cannot be read.
        """
        with self._lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.DatabaseError as e:
                raise self._unusable(e) from e

    def close(self) -> None:
        with self._lock:
            self._connection.close()

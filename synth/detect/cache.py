"""Detection over a trace directory without reading it all again: an index of features, and ``patterns.json``.

The index (SQLite, beside ``patterns.json``) keeps each file's features under its name, size and time. Only new files are read;
only the traces of due patterns are loaded. A new trace is compared with those that said or did the same, not with all.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tenacity

from synth.config import Evolution
from synth.detect.analyzer import Found, find_patterns
from synth.detect.deeds import Deed
from synth.detect.features import FEATURES_VERSION, Features, features_of
from synth.detect.split import done_key, said_key
from synth.interface import ExecutionTrace, TracePattern
from synth.tracing.redact import redact_trace
from synth.tracing.traces import load_traces, trace_from_record, unique_ids
from verifiers.evidence import iter_records
from verifiers.interface import AssayError, EvidenceError

MAX_LOADED = 50
"""Traces of one pattern that are loaded from disk, the newest."""
LOCKED_S = 30
"""How long another process is waited for."""
_NEAR = 200
"""Traces that a new one is compared with at most."""
_VERSION = FEATURES_VERSION + 100
"""Of the index's tables and of the features in them; another one in a file means starting anew."""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS traces (
  file TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, task_id TEXT, said TEXT, done TEXT, features TEXT
);
CREATE INDEX IF NOT EXISTS traces_by_task ON traces (task_id);
CREATE INDEX IF NOT EXISTS traces_by_said ON traces (said, file);
CREATE INDEX IF NOT EXISTS traces_by_done ON traces (done, file);
PRAGMA user_version = {_VERSION};
"""
_FIELDS = tuple(f.name for f in fields(Features))
_PUT = "INSERT OR REPLACE INTO traces (file, size, mtime_ns, task_id, said, done, features) VALUES (?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a look at the directory found."""

    read: tuple[str, ...]
    """Names of the files that were new or had changed."""
    gone: int
    problems: tuple[str, ...]
    """Files that hold no trace, with the reason; each is told once, when it is read."""


@dataclass(frozen=True, slots=True)
class Due:
    """A due pattern as file names; ``PatternIndex.load`` reads them."""

    found: Found
    files: tuple[str, ...]
    """Successes, oldest first."""
    failed: tuple[str, ...]

    @property
    def frequency(self) -> int:
        return len(self.files)


class PatternIndexError(AssayError, OSError):
    """The index cannot be read or written."""


class PatternIndex:
    """Patterns of one trace directory.

    Args:
        trace_dir: One trace a file, as ``TraceCollector`` writes them.
        patterns_file: ``patterns.json``; the index is beside it.
        evolution: Thresholds.
    """

    def __init__(self, trace_dir: Path | str, patterns_file: Path | str, evolution: Evolution | None = None) -> None:
        self.trace_dir = Path(trace_dir)
        self.patterns_file = Path(patterns_file)
        self.evolution = evolution if evolution is not None else Evolution()
        self._database = self.patterns_file.with_suffix(".index.sqlite")

    def refresh(self) -> Refreshed:
        """Brings the index up to date with the directory. A damaged index is made anew."""
        with self._opened() as db:
            known = {row[0]: (row[1], row[2]) for row in db.execute("SELECT file, size, mtime_ns FROM traces")}
            present = dict(_files(self.trace_dir))
            gone = [(f,) for f in known if f not in present]
            fresh = [f for f, stamp in present.items() if known.get(f) != stamp]
            problems: list[str] = []
            with db:
                db.executemany("DELETE FROM traces WHERE file = ?", gone)
                db.executemany(_PUT, (self._row(f, present[f], problems) for f in fresh))
        return Refreshed(tuple(fresh), len(gone), tuple(problems))

    def patterns(self) -> list[TracePattern]:
        """The due patterns of the whole directory with their traces, and writes them to ``patterns.json``."""
        return [p for d in self.due() if (p := self.load(d)) is not None]

    def due(self) -> list[Due]:
        """The due patterns of the whole directory, and writes them to ``patterns.json``."""
        self.refresh()
        with self._opened() as db:
            rows = db.execute("SELECT file, features FROM traces WHERE features IS NOT NULL ORDER BY file").fetchall()
        features = [_features(row[1]) for row in rows]
        found = find_patterns(features, self.evolution)
        self._write(found, features)
        return [_due(f, [row[0] for row in rows]) for f in found]

    def add(self, path: Path, trace: ExecutionTrace) -> list[Due]:
        """Takes one stored trace into the index; the due patterns that it belongs to now.

        Args:
            path: The file that the collector wrote.
            trace: What is in it.
        """
        with self._opened() as db:
            info = path.stat()
            with db:
                db.execute(_PUT, _put(path.name, (info.st_size, info.st_mtime_ns), features_of(trace)))
            return self._due_near(db, path.name)

    def due_among(self, files: Iterable[str]) -> list[Due]:
        """The due patterns that these files of the index belong to, each once."""
        with self._opened() as db:
            found = [due for file in files for due in self._due_near(db, file)]
        return list({(d.files, d.failed): d for d in found}.values())

    def files_of(self, task_ids: Iterable[str]) -> list[str]:
        """The newest file of each of these traces; none for a trace that is gone."""
        query = "SELECT file FROM traces WHERE task_id = ? ORDER BY file DESC"
        with self._opened() as db:
            rows = [db.execute(query, (task_id,)).fetchone() for task_id in sorted(task_ids)]
        return [row[0] for row in rows if row is not None]

    def load(self, due: Due) -> TracePattern | None:
        """The pattern with its newest traces, secrets taken out; None when its files are gone."""
        names = (*due.files[-MAX_LOADED:], *due.failed[-MAX_LOADED:])
        loaded = unique_ids([t for name in names for t in self._load(name)])
        good = tuple(t for t in loaded if t.success)
        if not good:
            return None
        return TracePattern(
            due.found.type, tuple(dict.fromkeys(c for t in good for c in t.commands)), due.frequency, due.found.success_rate,
            due.found.category, due.found.signature, good, tuple(t for t in loaded if not t.success),
        )  # fmt: skip

    # ------------------------------------------------------------ inside

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection to the index, closed afterwards; SQLite's errors as ours."""
        try:
            self.patterns_file.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect()) as db:
                yield db
        except (sqlite3.Error, OSError) as e:
            raise PatternIndexError(f"cannot be used: {e}", "Remove it: it is only a cache", self._database) from e

    def _connect(self) -> sqlite3.Connection:
        try:
            return self._prepared()
        except sqlite3.OperationalError:
            raise  # locked or unwritable: no reason to throw it away
        except sqlite3.DatabaseError:
            self._database.unlink(missing_ok=True)  # damaged: what it held is in the trace files
            return self._prepared()

    # SQLite waits for other processes, but not where it changes the journal's mode.
    @tenacity.retry(
        retry=tenacity.retry_if_exception(lambda e: getattr(e, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY),
        stop=tenacity.stop_after_delay(LOCKED_S), wait=tenacity.wait_random(0.01, 0.1), reraise=True,
    )  # fmt: skip
    def _prepared(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._database, timeout=LOCKED_S)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            if db.execute("PRAGMA user_version").fetchone()[0] not in (0, _VERSION):
                db.execute("DROP TABLE traces")
            db.executescript(_SCHEMA)
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _row(self, name: str, stamp: tuple[int, int], problems: list[str]) -> tuple[Any, ...]:
        try:
            features = features_of(_light(self.trace_dir / name))
        except EvidenceError as e:
            problems.append(e.diagnostics())
            return (name, *stamp, None, None, None, None)
        return _put(name, stamp, features)

    def _due_near(self, db: sqlite3.Connection, name: str) -> list[Due]:
        """The due patterns that one file belongs to, among the traces that said or did alike."""
        row = db.execute("SELECT features FROM traces WHERE file = ?", (name,)).fetchone()
        if row is None or row[0] is None:
            return []  # pruned by another process, or no trace
        rows = self._neighbours(db, _features(row[0]))
        files = [row[0] for row in rows]
        mine = files.index(name)
        found = find_patterns([_features(text) for _, text in rows], self.evolution)
        return [_due(f, files) for f in found if mine in (*f.successes, *f.failures)]

    def _neighbours(self, db: sqlite3.Connection, features: Features) -> list[tuple[str, str]]:
        """Traces that said or did what this one did, and those that said or did what they did; newest first, by file."""
        near: dict[str, str] = {}
        todo, tried = [_keys(features)], set[tuple[str | None, str]]()
        while todo and len(near) < _NEAR:
            keys = todo.pop(0)
            tried.add(keys)
            names = {name for column, key in zip(("said", "done"), keys, strict=True) for name in _newest(db, column, key)}
            for name in sorted(names - near.keys(), reverse=True)[: _NEAR - len(near)]:
                near[name] = db.execute("SELECT features FROM traces WHERE file = ?", (name,)).fetchone()[0]
                other = _keys(_features(near[name]))
                todo += [other] if other not in tried and other not in todo else []
        return sorted(near.items())

    def _load(self, name: str) -> list[ExecutionTrace]:
        ignored: list[EvidenceError] = []
        return [redact_trace(t) for t in load_traces(self.trace_dir / name, ignored.append)]

    def _write(self, found: Sequence[Found], features: Sequence[Features]) -> None:
        document = {
            "schema": "assay-patterns/1",
            "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "traces": len(features),
            "thresholds": self.evolution.model_dump(include={"min_frequency", "min_complexity", "trigger", "min_success_rate"}),
            "patterns": [
                {
                    "pattern_type": f.type,
                    "task_category": f.category,
                    "signature": f.signature,
                    "frequency": len(f.successes),
                    "success_rate": round(f.success_rate, 4),
                    "task_ids": [features[i].task_id for i in f.successes[-MAX_LOADED:]],
                    "failed_task_ids": [features[i].task_id for i in f.failures[-MAX_LOADED:]],
                }
                for f in found
            ],
        }
        temporary = self.patterns_file.with_name(f".{self.patterns_file.name}.{os.getpid()}.tmp")
        temporary.write_text(json.dumps(document, ensure_ascii=True, indent=1) + "\n", "utf-8")
        temporary.replace(self.patterns_file)


def _newest(db: sqlite3.Connection, column: str, key: str | None) -> list[str]:
    """Files of the newest traces with this key."""
    query = f"SELECT file FROM traces WHERE {column} = ? ORDER BY file DESC LIMIT ?"
    return [row[0] for row in db.execute(query, (key, _NEAR // 2))]


def _put(name: str, stamp: tuple[int, int], features: Features) -> tuple[Any, ...]:
    """A row of the index."""
    return (name, *stamp, features.task_id, *_keys(features), _text(features))


def _due(found: Found, files: Sequence[str]) -> Due:
    return Due(found, tuple(files[i] for i in found.successes), tuple(files[i] for i in found.failures))


def _text(features: Features) -> str:
    return json.dumps([getattr(features, name) for name in _FIELDS])


def _files(directory: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    if not directory.is_dir():
        return
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(".json") and not entry.name.startswith("."):
                try:
                    info = entry.stat()
                except FileNotFoundError:
                    continue
                yield entry.name, (info.st_size, info.st_mtime_ns)


def _keys(features: Features) -> tuple[str | None, str]:
    said = said_key(features)
    return None if said is None else repr(said), repr(done_key(features))


def _features(text: str) -> Features:
    features = Features(*_frozen(json.loads(text)))
    return replace(features, deed=Deed(*features.deed))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _light(path: Path) -> ExecutionTrace:
    """The one trace of a file. Its snapshots are taken as they are: their contents play no part in grouping.

    Raises:
        EvidenceError: the file holds no trace, or more than one.
    """
    records = list(iter_records(path))
    if len(records) != 1:
        raise EvidenceError(
            f"holds {len(records)} records", "A trace directory has one trace a file; import others with 'assay import'", path
        )
    where, record = records[0]
    before, after = record.get("workspace"), record.get("post_workspace")
    bare = {**record, "workspace": None, "post_workspace": None}
    trace = trace_from_record(bare, where)
    if not all(x is None or (isinstance(x, dict) and all(isinstance(v, dict) for v in x.values())) for x in (before, after)):
        raise EvidenceError("field 'workspace': expected an object of paths", "", where)
    return ExecutionTrace(
        trace.task_id, trace.task_description, trace.commands, trace.outputs, trace.success, trace.duration_ms, trace.timestamp,
        trace.metadata, workspace=before, post_workspace=after, steps=trace.steps,
    )  # fmt: skip

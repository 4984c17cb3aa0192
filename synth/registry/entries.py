"""Rows of the registry as values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from synth.interface import RegistryEntry
from synth.registry.errors import RegistryUnusable


def damaged(error: Exception) -> RegistryUnusable:
    """What to raise for a row that cannot be one that we wrote."""
    return RegistryUnusable(f"a row of the registry's database is damaged ({error})", "Restore registry.db from a backup")


def _object(text: object) -> dict[str, Any]:
    try:
        value = json.loads(text)  # type: ignore[arg-type]  # a cell may hold anything
    except (ValueError, TypeError, RecursionError) as e:
        raise damaged(e) from e
    if not isinstance(value, dict):
        raise damaged(ValueError("no JSON object"))
    return value


class JsonObject(Mapping[str, Any]):
    """A JSON object that is parsed when it is first looked into: a listing of thousands does not."""

    __slots__ = ("_text", "_value")

    def __init__(self, text: str) -> None:
        self._text = text
        self._value: dict[str, Any] | None = None

    def _parsed(self) -> dict[str, Any]:
        if self._value is None:
            self._value = _object(self._text)
        return self._value

    def __getitem__(self, key: str) -> Any:
        return self._parsed()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def __repr__(self) -> str:
        return repr(self._parsed())


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a skill."""

    at: datetime
    name: str
    version: str | None
    kind: str
    """registered, superseded, promoted, archived, restored, rolled-back, approved, revoked, reverified, drifted, cleared;
    candidate, whose version is the digest of its code."""
    actor: str
    detail: Mapping[str, Any] = field(default_factory=dict)


COLUMNS = (
    "name, version, status, score, estimate, measured, description, registered_at, verified_at, report_sha256, code_sha256, "
    "evidence_sha256, needs_approval, approved_by, drifted, ordinal, metadata"
)


def entry_of(row: sqlite3.Row, versions: str) -> RegistryEntry:
    """The entry in a row of ``COLUMNS``.

    Args:
        versions: The directory of all versions, as text: there can be thousands of rows.

    Its metadata are those given at registration and ``measured`` (false: the score was cleared), ``verified_at``,
    ``code_sha256``, ``evidence_sha256``, ``needs_approval``, ``approved_by``, ``drifted`` and ``ordinal``.

    Raises:
        RegistryUnusable: the row is damaged.
    """
    try:
        registered_at, score, estimate = datetime.fromisoformat(row[7]), float(row[3]), float(row[4])
    except (ValueError, TypeError) as e:
        raise damaged(e) from e
    return RegistryEntry(
        name=row[0],
        version=row[1],
        status=row[2],
        score=score,
        estimate=estimate,
        description=row[6],
        registered_at=registered_at,
        report_sha256=row[9],
        path=f"{versions}/{row[1]}",
        metadata=_RowMetadata(row),
    )


class _RowMetadata(JsonObject):
    __slots__ = ("_row",)

    def __init__(self, row: sqlite3.Row) -> None:
        self._value = None
        self._row = row

    def _parsed(self) -> dict[str, Any]:
        if self._value is None:
            row = self._row
            given = _object(row[16])
            own = {
                "measured": bool(row[5]),
                "verified_at": row[8],
                "code_sha256": row[10],
                "evidence_sha256": row[11],
                "needs_approval": bool(row[12]),
                "approved_by": row[13],
                "drifted": bool(row[14]),
                "ordinal": row[15],
            }
            self._value = {**given, **own}
        return self._value


def event_of(row: sqlite3.Row) -> Event:
    try:
        at = datetime.fromisoformat(row["at"])
    except (ValueError, TypeError) as e:
        raise damaged(e) from e
    return Event(at, row["name"], row["version"], row["kind"], row["actor"], JsonObject(row["detail"]))

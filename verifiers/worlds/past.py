"""Past counterexamples, tried before anything is drawn: what broke a skill once is what an edit of it breaks again.

One JSON file a skill name. It can only add a finding: a past case that passes leaves no mark in the report, so that a PASS is the
same with and without the file. Anything in it that cannot be read, or does not fit the evidence of today, is passed over.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from sandbox.interface import JsonValue
from verifiers.worlds.edits import EDITS
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.plans import MARKS, MAX_COPIES, ODDITIES, SHAPES, Plan

SCHEMA = "assay-counterexamples/1"
MOST = 16
"""Kept for one skill, the newest first."""
MAX_BYTES = 1 << 18
_PAIRS = frozenset({"copies", "edits", "marked", "odd", "shaped", "spoken", "voiced"})


@dataclass(frozen=True, slots=True)
class Failing:
    """A plan on which some version of a skill was wrong."""

    task_id: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class Past:
    """The file of one skill name."""

    directory: Path
    name: str

    @property
    def file(self) -> Path:
        """``<name>-<16 hex digits>.json``; the name is empty where it is no plain identifier."""
        short = hashlib.sha256(self.name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        plain = self.name[:60] if self.name.isascii() and self.name.isidentifier() else ""
        return self.directory / f"{plain}-{short}.json"

    def failing(self) -> tuple[Failing, ...]:
        """What is stored, the newest first; nothing where the file is damaged."""
        try:
            document = json.loads(self._bytes() or b"null")
        except (ValueError, RecursionError):
            return ()
        rows = document.get("failing") if isinstance(document, dict) and document.get("schema") == SCHEMA else None
        found = [_failing(row) for row in rows] if isinstance(rows, list) else []
        return tuple(f for f in found if f is not None)[:MOST]

    def add(self, new: Failing) -> bool:
        """Puts a plan first; False where the directory cannot be written (that costs time later, never a verdict)."""
        kept = [new, *(f for f in self.failing() if f != new)][:MOST]
        rows: list[JsonValue] = [{"task_id": f.task_id, "plan": _plain(f.plan)} for f in kept]
        text = json.dumps({"schema": SCHEMA, "skill": self.name, "failing": rows}, indent=1) + "\n"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            handle, fresh = tempfile.mkstemp(dir=self.directory, prefix=".new-")
            with os.fdopen(handle, "w", encoding="utf-8") as f:
                f.write(text)
            Path(fresh).replace(self.file)
        except OSError:
            return False
        return True

    def _bytes(self) -> bytes:
        try:
            with self.file.open("rb") as f:
                data = f.read(MAX_BYTES + 1)
        except OSError:
            return b""
        return data if len(data) <= MAX_BYTES else b""


def fits(g: Grammar, plan: Plan) -> bool:
    """Whether every index of a plan means something in this grammar."""
    counts = {
        "rename_bound": len(g.bound), "rename_free": len(g.free), "rename_words": len(g.free_words),
        "numeric": len(g.bound), "dashed": len(g.bound), "dotted": len(g.bound), "grown": len(g.bound),
        "decoys": len(g.contents), "deep": len(g.directories),
        "drops": len(g.files), "bystanders": len(g.directories), "many": len(g.files),
        "stale": len(g.made), "before": len(g.made),
    }  # fmt: skip
    few = (plan.copies, plan.bystanders, plan.edits, plan.odd, plan.decoys, plan.stale, plan.before, plan.marked, plan.shaped)
    if any(len(v) > MAX_COPIES for v in few) or max(len(plan.many), len(plan.deep)) > 1:
        return False  # there are no names for more
    within = all(0 <= i < count for name, count in counts.items() for i in getattr(plan, name))
    ranges = {
        "copies": (len(g.files), len(g.directories)), "edits": (len(g.contents), EDITS),
        "odd": (len(g.directories), len(ODDITIES)), "spoken": (len(g.free_words), len(g.constants.words)),
        "marked": (len(g.bound), len(MARKS)),
        "voiced": (len(g.bound), len(g.constants.words)), "shaped": (len(g.files), len(SHAPES)),
    }  # fmt: skip
    return within and all(
        0 <= i < first and 0 <= j < second for name, (first, second) in ranges.items() for i, j in getattr(plan, name)
    )


def matching(failing: Iterable[Failing], gs: Iterable[Grammar]) -> list[tuple[Grammar, Plan]]:
    """The plans that can be tried today, in stored order."""
    by_task = {g.task_id: g for g in gs}
    return [(g, f.plan) for f in failing if (g := by_task.get(f.task_id)) is not None and fits(g, f.plan)]


def _plain(plan: Plan) -> JsonValue:
    """A plan as JSON, without what it does not vary."""
    parts: Mapping[str, JsonValue] = asdict(plan)
    return {key: value for key, value in parts.items() if value}


def _failing(row: object) -> Failing | None:
    if not isinstance(row, dict) or not isinstance(row.get("task_id"), str) or not isinstance(row.get("plan"), dict):
        return None
    plan = _plan(row["plan"])
    return Failing(row["task_id"], plan) if plan is not None else None


def _plan(parts: Mapping[str, object]) -> Plan | None:
    known = {f.name for f in fields(Plan)}
    salt = parts.get("salt", 0)
    if set(parts) - known or not _is_number(salt):
        return None
    read: dict[str, tuple[object, ...]] = {}
    for name in known - {"salt"}:
        value = parts.get(name, [])
        if not isinstance(value, list) or len(value) > 64:
            return None
        items = [_pair(item) if name in _PAIRS else item if _is_number(item) else None for item in value]
        if any(item is None for item in items):
            return None
        read[name] = tuple(items)
    return Plan(salt=salt, **read)  # type: ignore[arg-type]  # every item was looked at above


def _pair(item: object) -> tuple[int, int] | None:
    if isinstance(item, list) and len(item) == 2 and all(_is_number(i) for i in item):
        return (item[0], item[1])
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31

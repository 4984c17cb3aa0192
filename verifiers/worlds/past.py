"""Past counterexamples, tried before anything is drawn: what broke a skill once is what an edit of it breaks again.

One JSON file a skill name. It can only add a finding: a past case that passes leaves no mark in the report, so that a PASS is the
same with and without the file. Anything in it that cannot be read, or does not fit the evidence of today, is passed over.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sandbox.interface import JsonValue
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.plans import Plan
from verifiers.worlds.variation import Step

SCHEMA = "assay-counterexamples/2"
MOST = 16
"""Kept for one skill, the newest first."""
MAX_BYTES = 1 << 18


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


def matching(failing: Iterable[Failing], gs: Iterable[Grammar]) -> list[tuple[Grammar, Plan]]:
    """The plans that can be tried today, in stored order."""
    by_task = {g.task_id: g for g in gs}
    return [(g, f.plan) for f in failing if (g := by_task.get(f.task_id)) is not None and f.plan.fits(g)]


def _plain(plan: Plan) -> JsonValue:
    """A plan as JSON."""
    return {"steps": [[s.variation, *s.choice] for s in plan.steps], "salt": plan.salt}


def _failing(row: object) -> Failing | None:
    if not isinstance(row, dict) or not isinstance(row.get("task_id"), str) or not isinstance(row.get("plan"), dict):
        return None
    steps, salt = row["plan"].get("steps"), row["plan"].get("salt")
    if not isinstance(steps, list) or not _is_number(salt):
        return None
    read = tuple(s for s in map(_step, steps) if s is not None)
    return Failing(row["task_id"], Plan(read, salt)) if len(read) == len(steps) else None


def _step(item: object) -> Step | None:
    if not isinstance(item, list) or not all(isinstance(part, str) or _is_number(part) for part in item):
        return None
    return Step(item[0], tuple(item[1:])) if item and isinstance(item[0], str) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31

"""Tasks for which no skill passed: not asked again for each further trace, until something has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from synth.files import write_atomic

SCHEMA = "assay-refused/1"
GROWTH = 2
"""Times as many traces as the last time are worth another try."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """One file."""

    path: Path
    task_ids: frozenset[str]
    facts: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Refusals:
    """A folder of them, one file a task.

    Args:
        facts: What a refusal depends on besides the traces: the model, its settings, the prompts, the judge.
    """

    folder: Path
    facts: Sequence[str]

    def keep(self, task_ids: Sequence[str], why: str) -> None:
        """Remembers that no skill passed on these traces. What was remembered of a part of them is dropped."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for kept in self._all():
            if kept.task_ids <= set(task_ids):
                kept.path.unlink(missing_ok=True)
        ids = sorted(task_ids)
        document = {"schema": SCHEMA, "facts": list(self.facts), "task_ids": ids, "why": why}
        name = hashlib.sha256("\0".join(ids).encode("utf-8", "surrogatepass")).hexdigest()
        write_atomic(self.folder / f"{name}.json", (json.dumps(document) + "\n").encode(), 0o600)

    def why(self, task_ids: Sequence[str]) -> str:
        """Why these traces are not worth a request: most were refused before, and few have been added; "" where they are."""
        here = set(task_ids)
        for kept in self._all():
            most = GROWTH * len(kept.task_ids)
            same = len(here & kept.task_ids) * 2 > len(kept.task_ids)
            # The very same traces again are somebody's wish, and their answers are kept.
            if same and kept.facts == tuple(self.facts) and here != kept.task_ids and len(here) < most:
                return (
                    f"no skill passed for {len(kept.task_ids)} of these traces ({kept.why}); the model is asked again from "
                    f"{most} traces, or when model, settings or checks change"
                )
        return ""

    def _all(self) -> list[_Kept]:
        out = []
        for path in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else ():
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
                if document["schema"] == SCHEMA:
                    ids, facts = frozenset(map(str, document["task_ids"])), tuple(map(str, document["facts"]))
                    out.append(_Kept(path, ids, facts, str(document["why"])))
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return out

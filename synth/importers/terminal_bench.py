"""Terminal-Bench runs: ``results.json`` has the request and whether the tests passed, ``agent.cast`` the agent's terminal.

Source of the format: trials of 2025. A run's own ``results.json`` lists those of its trials. The harness's own files beside them
(``commands.txt``, ``tests.cast``, panes) are no recordings of the agent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from synth.importers import asciicast
from synth.importers.common import Dropped, ImportReport, parse_time
from synth.importers.recording import report
from verifiers.evidence import iter_records

Record = Mapping[str, Any]
RESULTS = "results.json"
_MARKS = frozenset({"task_id", "instruction", "is_resolved"})
_CASTS = ("sessions/agent.cast", "agent.cast")


def looks_like(record: Record) -> bool:
    """Whether it is the result of a trial, or of a run of trials."""
    listed = record.get("results")
    return record.keys() >= _MARKS or (
        isinstance(listed, list) and bool(listed) and isinstance(listed[0], Mapping) and listed[0].keys() >= _MARKS
    )


def is_trial(folder: Path) -> bool:
    """Whether a directory holds the result of a trial: it tells what the files beside and one directory below are."""
    path = folder / RESULTS
    try:
        found = json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, Mapping) and found.keys() >= _MARKS


def read(path: Path) -> ImportReport:
    """The trace of a trial: its request, the commands on its agent's screen, and whether its tests passed.

    Raises:
        EvidenceError: the file is not JSON.
        UnknownFormat: the agent's recording is of no known version.
    """
    whole = ImportReport("terminal-bench")
    for _, record in iter_records(path):
        if not record.keys() >= _MARKS:
            return whole + ImportReport("terminal-bench", notes=("a run's results.json only lists its trials",))
        cast = next((path.parent / name for name in _CASTS if (path.parent / name).is_file()), None)
        if cast is None:
            why = "the trial has no recording: its agent.cast is not beside results.json"
            whole += ImportReport("terminal-bench", dropped=(Dropped(str(path), "trace", why),), sessions=1)
            continue
        dropped: list[Dropped] = []
        loaded = asciicast.load(cast, dropped)
        task = " ".join(str(record["instruction"]).split())
        time = parse_time(record.get("agent_started_at")) or loaded.time
        done = record["is_resolved"] is True
        whole += report("terminal-bench", cast, replace(loaded, task=task, time=time), dropped, done)
    return whole

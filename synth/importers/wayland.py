"""Wayland turn trajectories: requests and outcomes without commands. They count for streaks; evidence they cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from synth.importers.common import Dropped, ImportReport, UnknownFormat, parse_time
from synth.importers.turns import Start
from synth.importers.wayland_sessions import is_replay, is_session
from synth.importers.wayland_sessions import read as sessions
from synth.interface import TurnOutcome, TurnTrajectory
from verifiers.evidence import iter_records
from verifiers.interface import EvidenceError

_OUTCOMES: dict[object, TurnOutcome] = {"Success": "success", "Failure": "failure", "success": "success", "failure": "failure"}


def looks_like(record: Mapping[str, Any]) -> bool:
    return {"user_input", "outcome"} <= record.keys() or is_session(record) or is_replay(record)


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The turns of a file, one JSON object each; of a session or a replay file, its traces.

    Raises:
        EvidenceError: a line is not JSON or a field is of the wrong type.
        UnknownFormat: an outcome that is neither success nor failure.
    """
    first = next((record for _, record in iter_records(path)), {})
    if is_session(first) or is_replay(first):
        return sessions(path, start)
    turns = [_turn(where, record) for where, record in iter_records(path)]
    why = "a turn records a request, no commands: it counts for streaks, and evidence must come from elsewhere"
    return ImportReport("wayland", (), tuple(turns), tuple(Dropped(f"{path}", "trace", why) for _ in turns[:1]), sessions=1)


def _turn(where: str, record: Mapping[str, Any]) -> TurnTrajectory:
    text, outcome = record.get("user_input"), record.get("outcome")
    if not isinstance(text, str):
        raise EvidenceError("field 'user_input': expected a string", "", where)
    if not isinstance(outcome, str) or outcome not in _OUTCOMES:
        raise UnknownFormat(f"outcome {outcome!r} is not known", "Known: Success and Failure", where)
    skill = record.get("picked_skill")
    return TurnTrajectory(
        user_input=text,
        picked_skill=skill if isinstance(skill, str) else None,
        outcome=_OUTCOMES[outcome],
        summary=str(record.get("summary", "")),
        timestamp=_time(record.get("timestamp"), where),
    )


def _time(value: object, where: str) -> datetime:
    found = parse_time(value)
    if found is None:
        raise EvidenceError("field 'timestamp': expected an ISO 8601 time", "", where)
    return found

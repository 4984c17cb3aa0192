"""SWE-agent's log of its model: requests, each with the whole chat so far, and responses, one JSON object a line.

Source of the format: ``interactions_*.jsonl`` of version 1. The last request of a run holds all results but that of the last
call. All commands run in one shell. There are no exit codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.importers.chat import EDITOR, answers, calls, edited, first_request, messages_of, turn_of
from synth.importers.common import Dropped, ImportReport, content_text
from synth.importers.lines import session_lines
from synth.importers.turns import Ran, Start, Step, Tasks, Turn

Record = Mapping[str, Any]
_OBSERVATION = "OBSERVATION:\n"
_SPOILT = ("EXECUTION TIMED OUT", "was cancelled because it took more than", "Observations should not exceeded", "truncated")
_NO_OUTPUT = "Your command ran successfully and did not produce any output."


def looks_like(record: Record) -> bool:
    return record.get("type") == "request" and isinstance(record.get("request_params"), Mapping)


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a log, one a run.

    Raises:
        EvidenceError: the file cannot be read.
    """
    dropped: list[Dropped] = []
    runs: dict[str, tuple[str, list[Record]]] = {}
    for where, record in session_lines(path, dropped):
        params = record.get("request_params")
        messages = messages_of(params) if isinstance(params, Mapping) else []
        asked = first_request(messages)
        if asked.strip():
            runs[asked] = (runs[asked][0] if asked in runs else where, messages)
    report = ImportReport("swe-agent-log", dropped=tuple(dropped), sessions=1)
    for asked, (where, messages) in runs.items():
        turn = turn_of(asked, where)
        _fill(turn, messages)
        tasks = Tasks("swe-agent-log", turn.cwd, start)
        report += ImportReport("swe-agent-log", tuple(tasks.traces([turn])), (), tuple(tasks.dropped))
    note = "a log counts as done when the agent submitted: whether the patch was right is not in the file"
    return report + ImportReport("swe-agent-log", notes=(note,))


def _fill(turn: Turn, messages: Sequence[Record]) -> None:
    answered = answers(messages)
    turn.done = False
    for call, name, given in calls(messages):
        if name == "submit":
            turn.done = True
            continue
        found = _step(name, given, content_text(answered[call].get("content")) if call in answered else None)
        if isinstance(found, str):
            turn.spoilt = turn.spoilt or found
        elif found is not None:
            turn.steps.append(found)


def _step(name: str, given: Record, answer: str | None) -> Step | str | None:
    if answer is None:
        return "a command has no result: the session ended before it did"
    shown = answer.removeprefix(_OBSERVATION)
    if name == EDITOR:
        return edited(given, shown)
    command = given.get("command")
    if name != "bash" or not isinstance(command, str):
        return f"{name} was used too, whose effect is not known"
    if any(mark in shown for mark in _SPOILT):
        return "a command ran out of time or printed more than the session keeps"
    shown = "" if shown.startswith(_NO_OUTPUT) else shown
    return Ran(command, shown + "\n" if shown and not shown.endswith("\n") else shown)

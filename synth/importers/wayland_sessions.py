"""Wayland Core's session files, and the traces of its replay tool: requests with the commands and edits that they led to.

Source of the formats: wayland-core v0.13.4, ``Session`` and ``Message`` (schema 0 and 1), ``wcore-replay`` ``Trace``, and what
its tools ``Bash``, ``Write`` and ``Edit`` take and answer (facts restated).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from synth.importers.common import ImportReport, UnknownFormat, content_text, parse_time
from synth.importers.turns import Changed, Ran, Start, Step, Tasks, Turn, replacing, written
from verifiers.interface import EvidenceError

NEWEST = 1
_LOOKING = frozenset({
    "Read", "Glob", "Grep", "WebFetch", "web", "TodoWrite", "todo", "ToolSearch", "tool_search", "Skill", "Clarify", "clarify",
    "session_search",
})  # fmt: skip
_RAN = re.compile(r"Exit code: (-?\d+)\nSTDOUT:\n(.*)\nSTDERR:\n(.*)\Z", re.DOTALL)
_NEVER_RAN = re.compile(r"(?:Refused|Command refused|BLOCKED|blocked|Denied|denied|Missing required parameter)\b")
_LOSSY = "\n[wayland] Some output bytes were not valid UTF-8"
"""Begins the note behind output that is no faithful copy."""
_NOTE = "a request counts as done when its last command did not fail: sessions do not say whether a task succeeded"

Record = Mapping[str, Any]
Call = tuple[str, Record, object, bool]
"""Tool, input, answer (None: there is none), whether the answer is an error."""


def is_session(record: Record) -> bool:
    return {"id", "created_at", "updated_at", "messages"} <= record.keys() and isinstance(record["messages"], list)


def is_replay(record: Record) -> bool:
    return {"wcore_version", "session_id", "events"} <= record.keys() and isinstance(record["events"], list)


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a session or a replay file.

    Raises:
        EvidenceError: the file is no JSON object.
        UnknownFormat: it is neither, or of a newer schema.
    """
    try:
        record = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as e:
        raise EvidenceError(f"cannot be read ({e})", "A session is one JSON object", path) from e
    if not isinstance(record, dict) or not (is_session(record) or is_replay(record)):
        raise UnknownFormat("is neither a session nor a replay of Wayland's", "", path)
    if isinstance(record.get("schema_version"), int) and record["schema_version"] > NEWEST:
        raise UnknownFormat(f"session schema {record['schema_version']} is not known", f"Known: up to {NEWEST}", path)
    turns = list(_of_session(record, path) if is_session(record) else _of_replay(record, path))
    root = record.get("cwd")
    tasks = Tasks("wayland", root if isinstance(root, str) and root else None, start)
    traces = tasks.traces(turns)
    return ImportReport("wayland", tuple(traces), (), tuple(tasks.dropped), (_NOTE,), sessions=1)


def _of_session(record: Record, path: Path) -> Iterator[Turn]:
    """A turn for each message that a person wrote, with the calls that follow it."""
    turn: Turn | None = None
    calls: dict[str, Call] = {}
    cwd = record.get("cwd") if isinstance(record.get("cwd"), str) else None
    for number, message in enumerate(record["messages"]):
        blocks = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(blocks, list):
            continue
        results = [b for b in blocks if isinstance(b, Mapping) and b.get("type") == "tool_result"]
        if message.get("role") == "user" and not results and content_text(blocks).strip():
            if turn is not None:
                yield _with(turn, calls)
            time = parse_time(message.get("timestamp"))
            turn = Turn(content_text(blocks), f"{path} message {number}", f"{record['id']}/{number}", time, cwd)
            turn.metadata = {"session": record["id"]}
            calls = {}
        for b in blocks:
            if isinstance(b, Mapping) and b.get("type") == "tool_use":
                given = b.get("input")
                calls[str(b.get("id"))] = (str(b.get("name")), given if isinstance(given, Mapping) else {}, None, False)
        for b in results:
            call = calls.get(str(b.get("tool_use_id")))
            if call is not None:
                calls[str(b["tool_use_id"])] = (*call[:2], b.get("content"), b.get("is_error") is True)
        if turn is not None:
            turn.ended = parse_time(message.get("timestamp")) or turn.ended
    if turn is not None:
        yield _with(turn, calls)


def _of_replay(record: Record, path: Path) -> Iterator[Turn]:
    """A turn for each ``UserMessage`` event; commands run in the directory that the session had, which it does not name."""
    turn: Turn | None = None
    calls: dict[str, Call] = {}
    for number, event in enumerate(e for e in record["events"] if isinstance(e, Mapping)):
        if event.get("type") == "UserMessage" and isinstance(event.get("text"), str):
            if turn is not None:
                yield _with(turn, calls)
            time = parse_time(event.get("ts_ms"))
            turn = Turn(event["text"], f"{path} event {number}", f"{record['session_id']}/{number}", time)
            turn.metadata = {"session": record["session_id"], "version": record["wcore_version"]}
            calls = {}
        elif event.get("type") == "ToolCall":
            given, output = event.get("input"), event.get("output")
            failed = isinstance(output, Mapping) and output.get("is_error") is True
            answer = output.get("content") if isinstance(output, Mapping) else output
            calls[str(number)] = (str(event.get("tool")), given if isinstance(given, Mapping) else {}, answer, failed)
        if turn is not None:
            turn.ended = parse_time(event.get("ts_ms")) or turn.ended
    if turn is not None:
        yield _with(turn, calls)


def _with(turn: Turn, calls: Mapping[str, Call]) -> Turn:
    for call in calls.values():
        found = _step(call, turn.cwd)
        if isinstance(found, str):
            turn.spoilt = turn.spoilt or found
        elif found is not None:
            turn.steps.append(found)
    return turn


def _step(call: Call, cwd: str | None) -> Step | str | None:
    """What one call did; None for nothing that counts; a text says why the turn cannot be repeated."""
    tool, given, answer, failed = call
    if tool in _LOOKING:
        return None
    text = answer if isinstance(answer, str) else content_text(answer)
    if tool == "Bash":
        return _ran(given, answer, text, cwd)
    if tool not in ("Write", "Edit"):
        return f"{tool} was used too, whose effect is not known"
    path = given.get("file_path")
    if failed or answer is None:
        return None
    if tool == "Write" and isinstance(path, str) and isinstance(given.get("content"), str):
        return Changed(path, written(given["content"]), None, text.startswith("Created"))
    old, new = given.get("old_string"), given.get("new_string")
    if isinstance(path, str) and isinstance(old, str) and isinstance(new, str):
        return Changed(path, replacing([(old, new, given.get("replace_all") is True)]))
    return "an edit has no path or no text"


def _ran(given: Record, answer: object, text: str, cwd: str | None) -> Ran | str | None:
    command = given.get("command")
    if not isinstance(command, str):
        return "a Bash call has no command"
    if answer is None:
        return "a command has no result: the session ended before it did"
    found = _RAN.match(text)
    if found is None:
        return None if _NEVER_RAN.match(text) else "a command's output is not recorded as Wayland's Bash tool gives it"
    out, err = found[2], found[3]
    if _LOSSY in err:
        return "a command's output was not recorded as it was: some of its bytes are no text"
    # Each command starts afresh in the session's directory.
    return Ran(command, out + err, int(found[1]), err, cwd)

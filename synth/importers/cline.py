"""Cline's tasks (``ui_messages.json``): all that the person saw, as a list; commands and edits become steps.

Source of the format: Cline's description of its messages (``say`` and ``ask``) and tasks of 2025. There are no exit codes. That a
person allowed what was asked is seen from what came of it: a command's output, or that it is complete; of an edit it is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.importers.chat import object_of
from synth.importers.common import Dropped, ImportReport, parse_time
from synth.importers.turns import Changed, Ran, Start, Step, Tasks, Turn, removed, replacing, written
from verifiers.evidence import iter_records

Record = Mapping[str, Any]
_REQUESTS = frozenset({"task", "user_feedback"})
_LOOKS = frozenset({
    "readFile", "listFilesTopLevel", "listFilesRecursive", "listCodeDefinitionNames", "searchFiles", "webFetch", "webSearch",
    "summarizeTask", "useSkill",
})  # fmt: skip
_UNKNOWN = frozenset({"browser_action", "browser_action_launch", "use_mcp_server", "mcp_server_request_started", "use_subagents"})
_ROOT = re.compile(r"Current Working Directory \((/[^)\n]+)\)")
_BLOCK = re.compile(r"^(?:-{7,}|<{7,}) SEARCH>?\n(.*?)^={7,}\n(.*?)^(?:\+{7,}|>{7,}) REPLACE>?$", re.DOTALL | re.MULTILINE)


def looks_like(record: Record) -> bool:
    return "ts" in record and record.get("type") in ("say", "ask") and ("say" in record or "ask" in record)


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a task's file.

    Raises:
        EvidenceError: the file is not JSON.
    """
    messages = [record for _, record in iter_records(path) if record.get("partial") is not True]
    asked = (str(m.get("text")) for m in messages if m.get("say") == "api_req_started")
    root = next((found[1] for text in asked if (found := _ROOT.search(text))), None)
    turns = list(_turns(path, messages))
    if not turns:
        return ImportReport("cline", dropped=(Dropped(str(path), "trace", "it holds no request"),), sessions=1)
    tasks = Tasks("cline", root, start)
    traces = tasks.traces(turns)
    return ImportReport("cline", tuple(traces), (), tuple(tasks.dropped), sessions=1)


def _turns(path: Path, messages: Sequence[Record]) -> Iterator[Turn]:
    turn: Turn | None = None
    for n, message in enumerate(messages):
        text, kind = message.get("text"), str(message.get("say") or message.get("ask"))
        time = parse_time(message.get("ts"))
        if isinstance(text, str) and text.strip() and (kind in _REQUESTS or (turn is None and kind == "text")):
            if turn is not None:
                yield turn
            turn = Turn(text, f"{path}[{n}]", f"{message.get('ts')} {text}", time)
        elif turn is not None:
            turn.ended = time or turn.ended
            found = _step(message, kind, messages[n + 1 :])
            if isinstance(found, str):
                turn.spoilt = turn.spoilt or found
            elif found is not None:
                turn.steps.append(found)
    if turn is not None:
        yield turn


def _step(message: Record, kind: str, later: Sequence[Record]) -> Step | str | None:
    """What one message tells of; None for nothing that counts, a text says why the turn cannot be repeated."""
    text = message.get("text")
    if kind in _UNKNOWN:
        return f"{kind} was used too, whose effect is not known"
    if kind == "api_req_started" and object_of(text).get("cancelReason") == "user_cancelled":
        return "the user interrupted the request"
    if kind == "tool":
        return _tool(object_of(text), message, later)
    return _command(str(text), message, later) if kind == "command" and isinstance(text, str) and text.strip() else None


def _command(command: str, message: Record, later: Sequence[Record]) -> Ran | str:
    outputs = []
    for after in later:
        if "command_output" not in (after.get("say"), after.get("ask")):
            break
        outputs.append(str(after.get("text") or ""))
    if message.get("type") == "ask" and not outputs and message.get("commandCompleted") is not True:
        return "whether the person allowed a command is not recorded"
    output = "\n".join(o.rstrip("\n") for o in outputs if o)
    return Ran(command, output + "\n" if output else "")


def _tool(given: Record, message: Record, later: Sequence[Record]) -> Step | str | None:
    tool, path = str(given.get("tool")), given.get("path")
    if tool in _LOOKS or (later and later[0].get("say") == "diff_error"):
        return None
    if tool not in ("newFileCreated", "editedExistingFile", "fileDeleted") or not isinstance(path, str):
        return f"{tool} was used too, whose effect is not known"
    if message.get("type") == "ask":
        return "whether the person allowed an edit is not recorded"
    if tool == "fileDeleted":
        return Changed(path, removed)
    content = given.get("content")
    if tool == "newFileCreated" and isinstance(content, str):
        return Changed(path, written(content), None, shows_before=True)
    pairs = [(old, new, False) for old, new in _BLOCK.findall(str(given.get("diff") or content))]
    return Changed(path, replacing(pairs)) if pairs else "an edit is recorded in no form that can be repeated"

"""Gemini CLI sessions: a JSON object with all messages, or one message a line; shell calls and edits become steps.

Source of the format: sessions under ``~/.gemini/tmp/*/chats``. In the newer form a message is written again as it grows (the last
one counts), and ``$set`` patches the head. Neither says in which directory it ran: ``projectHash`` is the SHA-256 of it, and the
paths of the edits are tried.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from synth.importers.common import Dropped, ImportReport, parse_time
from synth.importers.lines import session_lines
from synth.importers.turns import Changed, Ran, Seen, Start, Step, Tasks, Turn, replacing, written

Record = Mapping[str, Any]
_HARMLESS = frozenset({
    "read_file", "read_many_files", "list_directory", "glob", "search_file_content", "grep_search", "google_web_search",
    "web_fetch", "write_todos", "save_memory", "activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode",
    "get_internal_docs",
})  # fmt: skip
_REFERENCED = "--- Content from referenced files ---"
_LABEL = re.compile(
    r"^(Command|Directory|Stdout|Stderr|Output|Error|Exit Code|Signal|Background PIDs|Process Group PGID|PID): ?", re.MULTILINE
)
_PATHS = ("file_path", "absolute_path", "dir_path", "path", "directory")
_CREATED = re.compile(r"(?:[Cc]reated|new) (?:and wrote to )?(?:new )?file")


def looks_like(record: Record) -> bool:
    return "projectHash" in record and ("messages" in record or "sessionId" in record)


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a session file.

    Raises:
        EvidenceError: the file cannot be read.
    """
    dropped: list[Dropped] = []
    head, messages = _messages(path, dropped)
    calls = [c for _, m in messages for c in _calls(m)]
    root = _root(str(head.get("projectHash")), calls)
    tasks = Tasks("gemini-cli", root, start, dropped=dropped)
    if head.get("kind") == "subagent":
        dropped.append(Dropped(str(path), "file", "a sub-agent's, whose requests are the model's own"))
        return ImportReport("gemini-cli", dropped=tuple(dropped), sessions=1)
    traces = tasks.traces(list(_turns(head, messages, root)))
    return ImportReport("gemini-cli", tuple(traces), (), tuple(tasks.dropped), sessions=1)


def _messages(path: Path, dropped: list[Dropped]) -> tuple[Record, list[tuple[str, Record]]]:
    """The head and every message once, as it was last written, in order of its first."""
    try:
        whole = json.loads(path.read_text("utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        whole = None
    if isinstance(whole, Mapping) and isinstance(whole.get("messages"), list):
        return whole, [(f"{path}[{n}]", m) for n, m in enumerate(whole["messages"]) if isinstance(m, Mapping)]
    head: dict[str, Any] = {}
    found: dict[str, tuple[str, Record]] = {}
    for where, record in session_lines(path, dropped):
        if isinstance(record.get("$set"), Mapping):
            head.update(record["$set"])
        elif isinstance(record.get("$rewindTo"), str):
            _rewind(found, record["$rewindTo"])
        elif "type" in record:
            key = str(record.get("id") or where)
            found[key] = (found[key][0] if key in found else where, record)
        elif "sessionId" in record:
            head.update(record)
    return head, list(found.values())


def _rewind(found: dict[str, tuple[str, Record]], to: str) -> None:
    """Forgets a message and what came after it."""
    keys = list(found)
    for key in keys[keys.index(to) :] if to in found else ():
        del found[key]


def _turns(head: Record, messages: Iterable[tuple[str, Record]], root: str | None) -> Iterator[Turn]:
    turn: Turn | None = None
    for where, message in messages:
        if message.get("type") == "user":
            text = _request(message)
            if text:
                if turn is not None:
                    yield turn
                time = parse_time(message.get("timestamp"))
                turn = Turn(text, where, f"{head.get('sessionId')} {message.get('id') or where}", time)
                turn.metadata["session"] = head.get("sessionId")
        elif turn is not None:
            _collect(turn, message, root)
    if turn is not None:
        yield turn


def _request(message: Record) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    text = "\n".join(p if isinstance(p, str) else str(p.get("text", "")) for p in parts if isinstance(p, str | Mapping))
    text = text.partition(_REFERENCED)[0].strip()
    return "" if text.startswith(("[Function Response:", "/")) else text


def _collect(turn: Turn, message: Record, root: str | None) -> None:
    turn.ended = parse_time(message.get("timestamp")) or turn.ended
    for call in _calls(message):
        found = _step(call, root)
        if isinstance(found, str):
            turn.spoilt = turn.spoilt or found
        elif found is not None:
            turn.steps.append(found)


def _calls(message: Record) -> list[Record]:
    calls = message.get("toolCalls")
    return [c for c in calls if isinstance(c, Mapping)] if isinstance(calls, list) else []


def _root(project: str, calls: Iterable[Record]) -> str | None:
    """The directory that the project's hash is of; else the one that holds all paths of the calls."""
    paths = [p for c in calls for p in _paths(c) if p.startswith("/")]
    above = {d for p in paths for d in _above(p)}
    named = next((d for d in sorted(above, key=len) if hashlib.sha256(d.encode()).hexdigest() == project), None)
    if named is not None or not paths:
        return named
    common = posixpath.commonpath([posixpath.dirname(p) for p in paths])
    return common if common != "/" else None


def _paths(call: Record) -> Iterator[str]:
    given = call.get("args")
    if isinstance(given, Mapping):
        yield from (str(given[k]) for k in _PATHS if isinstance(given.get(k), str))


def _above(path: str) -> Iterator[str]:
    while path not in ("/", ""):
        yield path
        path = posixpath.dirname(path)


# ---------------------------------------------------------------- calls


def _step(call: Record, root: str | None) -> Step | str | None:
    """What one call did; None for nothing that counts; a text says why the turn cannot be repeated."""
    name, given, status = str(call.get("name")), call.get("args"), call.get("status")
    given = given if isinstance(given, Mapping) else {}
    if status == "cancelled":
        return None  # the person refused it
    if name == "run_shell_command":
        return _ran(call, given, root)
    if name in ("write_file", "replace", "edit"):
        return _changed(call, name, given) if status == "success" else None
    if name == "read_file":
        return _seen(call, given)
    return None if name in _HARMLESS or status == "error" else f"{name} was used too, whose effect is not known"


def _ran(call: Record, given: Record, root: str | None) -> Ran | str | None:
    command = given.get("command")
    if not isinstance(command, str):
        return "a shell call has no command"
    output = _output(call)
    if was_blocked(call.get("resultDisplay")):
        return None
    if output is None:
        return None if call.get("status") == "error" else "a command has no result: the session ended before it did"
    fields = _fields(output)
    if fields.get("Background PIDs", "(none)").strip() not in ("(none)", ""):
        return "a command ran in the background: when it ended is not recorded"
    if fields.get("Signal", "(none)").strip() not in ("(none)", ""):
        return "a command was interrupted"
    code = re.match(r"\d+", fields.get("Exit Code", "0"))
    out, err = _text(fields.get("Output", fields.get("Stdout", output if not fields else ""))), _text(fields.get("Stderr", ""))
    wanted = given.get("directory") or given.get("dir_path")
    place = posixpath.normpath(posixpath.join(root or "", wanted)) if isinstance(wanted, str) and wanted else root
    return Ran(command, out + err, int(code[0]) if code else 0, err if "Stderr" in fields else None, place)


def was_blocked(display: object) -> bool:
    """Whether Gemini CLI itself refused a command (one with a substitution, say): it counts that as a success."""
    return isinstance(display, str) and display.startswith("Blocked: ")


def _fields(output: str) -> dict[str, str]:
    """``Label: text`` sections, each until the next label."""
    found = list(_LABEL.finditer(output))
    ends = [*(m.start() for m in found[1:]), len(output)]
    return {m[1]: output[m.end() : end] for m, end in zip(found, ends, strict=False)}


def _text(shown: str) -> str:
    text = "" if shown.strip() in ("(empty)", "(none)") else shown
    return text + "\n" if text and not text.endswith("\n") else text


def _output(call: Record) -> str | None:
    result = call.get("result")
    for part in result if isinstance(result, list) else []:
        response = part.get("functionResponse") if isinstance(part, Mapping) else None
        told = response.get("response") if isinstance(response, Mapping) else None
        if isinstance(told, Mapping) and isinstance(told.get("output"), str):
            return str(told["output"])
    return None


def _changed(call: Record, name: str, given: Record) -> Changed | str:
    path = given.get("file_path")
    shown = call.get("resultDisplay")
    original = shown.get("originalContent") if isinstance(shown, Mapping) else None
    if not isinstance(path, str):
        return "an edit has no path"
    new = isinstance(shown, Mapping) and shown.get("isNewFile") is True
    created = new or bool(_CREATED.search(_output(call) or ""))
    before, shows = (None, True) if created and not original else (original, isinstance(original, str))
    if name == "write_file":
        content = given.get("content")
        return Changed(path, written(content), before, shows) if isinstance(content, str) else "a write_file call has no content"
    old, text = given.get("old_string"), given.get("new_string")
    if not isinstance(old, str) or not isinstance(text, str):
        return "an edit has no text"
    expected = given.get("expected_replacements")
    every = given.get("allow_multiple") is True or (isinstance(expected, int) and expected > 1)
    return Changed(path, replacing([(old, text, every)]), before, shows)


def _seen(call: Record, given: Record) -> Seen | None:
    """A file that was read whole: neither cut nor a part of it."""
    path, text = given.get("file_path") or given.get("absolute_path"), _output(call)
    part = any(k in given for k in ("offset", "limit", "start_line", "end_line"))
    if not isinstance(path, str) or text is None or part or text.startswith(("[File content truncated", "IMPORTANT:")):
        return None
    return Seen(path, text)

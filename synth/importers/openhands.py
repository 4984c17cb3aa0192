"""OpenHands: the chat up to a model's call (``messages`` with tool calls), or its events (``action``, ``observation``); one task.

Source of the format: completion logs of 2024 and event histories. All commands run in one shell, whose prompt ends each output; a
log of a later call holds that of an earlier one, so that of one instance the longest counts.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.importers.common import Dropped, ImportReport, content_text, parse_time
from synth.importers.turns import Changed, Ran, Start, Step, Tasks, Turn, replacing, written
from verifiers.evidence import iter_records

Record = Mapping[str, Any]
_SHELL, _EDITOR = "execute_bash", "str_replace_editor"
_HARMLESS = frozenset({"finish", "think", "message", "task_tracker"})
_END = re.compile(
    r"(?:\r?\n)?(?:\[Python Interpreter: [^\]\n]*\]\r?\n)?(?:[\w.-]+@[\w.-]+:([^\n]*?) [#$] ?)?\r?\n?"
    r"\[(?:Command finished|The command completed) with exit code (-?\d+)[^\n]*\]\s*\Z"
)
"""What follows the output of a command: the interpreter, the prompt with the directory, and the exit code."""
_TASK = re.compile(r"<(?:pr_description|issue_description|task)>\s*(.*?)\s*</", re.DOTALL)
_UPLOADED = re.compile(r"<uploaded_files>\s*(/[^\s<]+)")
_FAILED = re.compile(r"\A(?:ERROR|No replacement was performed|Invalid)")


def looks_like(record: Record) -> bool:
    """Whether a record is a completion log with tool calls, or has a history of actions."""
    if isinstance(record.get("messages"), list) and "response" in record:
        return True
    history = record.get("history")
    return isinstance(history, list) and any(isinstance(e, Mapping) and "observation" in e for e in history[:50])


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a file, one a record.

    Raises:
        EvidenceError: the file is not JSON.
    """
    report = ImportReport("openhands")
    for where, record in iter_records(path):
        turn = _chat(where, record) if "messages" in record else _history(where, record)
        if turn is None:
            report += ImportReport("openhands", dropped=(Dropped(where, "trace", "it holds no request"),))
            continue
        tasks = Tasks("openhands", _root(turn), start)
        traces = tasks.traces([turn])
        report += ImportReport("openhands", tuple(traces), (), tuple(tasks.dropped))
    note = "an OpenHands task counts as done when its last command did not fail: whether the patch was right is not in the file"
    return report + ImportReport("openhands", notes=(note,), sessions=1)


def _turn(text: str, where: str, time: object) -> Turn:
    found = _TASK.search(text)
    turn = Turn(found[1] if found else text, where, text, parse_time(time))
    uploaded = _UPLOADED.search(text)
    turn.cwd = uploaded[1] if uploaded else None
    return turn


def _root(turn: Turn) -> str | None:
    """The directory that holds the repository and all files that were edited."""
    places = [posixpath.dirname(s.path) for s in turn.steps if isinstance(s, Changed) and s.path.startswith("/")]
    if turn.cwd is not None:
        places.append(turn.cwd)
    common = posixpath.commonpath(places) if places else "/"
    return common if common != "/" else None


# ---------------------------------------------------------------- the two forms


def _chat(where: str, record: Record) -> Turn | None:
    messages = [m for m in record["messages"] if isinstance(m, Mapping)] if isinstance(record["messages"], list) else []
    asked = next((content_text(m.get("content")) for m in messages if m.get("role") == "user"), "")
    if not asked.strip():
        return None
    turn = _turn(asked, where, record.get("timestamp"))
    answers = {str(m.get("tool_call_id")): content_text(m.get("content")) for m in messages if m.get("role") == "tool"}
    for call, name, given in _calls(messages):
        _take(turn, name, given, answers.get(call))
    return turn


def _calls(messages: Sequence[Record]) -> Iterator[tuple[str, str, Record]]:
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, Mapping) else None
            if isinstance(function, Mapping):
                yield str(call.get("id")), str(function.get("name")), _object(function.get("arguments"))


def _object(text: object) -> Record:
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _history(where: str, record: Record) -> Turn | None:
    events = [e for e in record["history"] if isinstance(e, Mapping)] if isinstance(record.get("history"), list) else []
    first = next((e for e in events if e.get("action") == "message" and e.get("source") == "user"), {})
    asked = str(record.get("instruction") or _args(first).get("content") or "")
    if not asked.strip():
        return None
    turn = _turn(asked, where, first.get("timestamp"))
    seen = {e.get("cause"): e for e in events if "observation" in e}
    for event in events:
        if event.get("action") == "run":
            _take(turn, _SHELL, _args(event), _observed(seen.get(event.get("id"))))
        elif event.get("action") == "edit":
            _take(turn, _EDITOR, _args(event), _observed(seen.get(event.get("id"))))
        elif event.get("action") in ("run_ipython", "browse", "browse_interactive", "write"):
            turn.spoilt = turn.spoilt or f"{event['action']} was used too, whose effect is not known"
    return turn


def _args(event: Record) -> Record:
    args = event.get("args")
    return args if isinstance(args, Mapping) else {}


def _observed(event: Record | None) -> str | None:
    if event is None:
        return None
    extras = event.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    meta = extras.get("metadata")
    code = meta.get("exit_code") if isinstance(meta, Mapping) else extras.get("exit_code")
    text = str(event.get("content") or "")
    return f"{text}\n[Command finished with exit code {code}]" if isinstance(code, int) and not _END.search(text) else text


# ---------------------------------------------------------------- calls


def _take(turn: Turn, name: str, given: Record, answer: str | None) -> None:
    found = _step(turn, name, given, answer)
    if isinstance(found, str):
        turn.spoilt = turn.spoilt or found
    elif found is not None:
        turn.steps.append(found)


def _step(turn: Turn, name: str, given: Record, answer: str | None) -> Step | str | None:
    """What one call did; None for nothing that counts; a text says why the task cannot be repeated."""
    if name == _EDITOR:
        return _edited(given, answer)
    if name != _SHELL:
        return None if name in _HARMLESS else f"{name} was used too, whose effect is not known"
    command = given.get("command")
    if not isinstance(command, str) or not command.strip() or answer is None:
        return "a command has no result: the session ended before it did" if answer is None else None
    end = _END.search(answer)
    if end is None:
        return "a command had not ended when the session went on"
    if turn.cwd is None and end[1] and not re.search(r"\b(?:cd|pushd|popd)\b", command):
        turn.cwd = end[1]
    shown = answer[: end.start()].replace("\r\n", "\n")
    echoed = shown.partition("\n")
    shown = echoed[2] if echoed[0].strip() == command.split("\n")[0].strip() else shown
    return Ran(command, shown + "\n" if shown and not shown.endswith("\n") else shown, int(end[2]))


def _edited(given: Record, answer: str | None) -> Step | str | None:
    what, path = given.get("command"), given.get("path")
    if what == "view" or answer is None or _FAILED.match(answer):
        return None
    if not isinstance(path, str):
        return "an edit has no path"
    if what == "create" and isinstance(given.get("file_text"), str):
        return Changed(path, written(given["file_text"]), None, shows_before=True)
    old, new = given.get("old_str"), given.get("new_str") or ""
    if what == "str_replace" and isinstance(old, str) and isinstance(new, str):
        return Changed(path, replacing([(old, new, False)]))
    return f"the editor's {what!r} was used, whose effect is not known"

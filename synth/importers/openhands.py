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

from synth.importers.chat import EDITOR, answers, calls, edited, first_request, messages_of, turn_of
from synth.importers.common import Dropped, ImportReport, content_text
from synth.importers.turns import Changed, Ran, Start, Step, Tasks, Turn
from verifiers.evidence import iter_records

Record = Mapping[str, Any]
_SHELL = "execute_bash"
_HARMLESS = frozenset({
    "finish", "think", "message", "task_tracker", "FinishAction", "ThinkAction", "MessageAction", "TaskTrackerAction",
})  # fmt: skip
_KINDS = {"ExecuteBashAction": _SHELL, "TerminalAction": _SHELL, "StrReplaceEditorAction": EDITOR, "FileEditorAction": EDITOR}
"""Actions of the newer events -> the tools of the chats."""
_CALL = re.compile(r"<function=([\w.-]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_GIVEN = re.compile(r"<parameter=([\w.-]+)>(.*?)</parameter>", re.DOTALL)
_RESULT = re.compile(r"EXECUTION RESULT of \[[\w.-]+\]:\n")
_EXAMPLE = re.compile(r"\A.*?-+ ?END OF EXAMPLE ?-+\s*", re.DOTALL)
_PASTE = re.compile(r"\x1b\[\?2004[hl]\r?")
"""What a shell tells the terminal around each command."""
_END = re.compile(
    r"(?:\r?\n)?(?:\[Python Interpreter: [^\]\n]*\]\r?\n)?(?:[\w.-]+@[\w.-]+:([^\n]*?) [#$] ?)?\r?\n?"
    r"\[(?:Command finished|The command completed) with exit code (-?\d+)[^\n]*\]\s*\Z"
)
"""What follows the output of a command: the interpreter, the prompt with the directory, and the exit code."""


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


def _root(turn: Turn) -> str | None:
    """The directory that holds the repository and all files that were edited."""
    places = [posixpath.dirname(s.path) for s in turn.steps if isinstance(s, Changed) and s.path.startswith("/")]
    if turn.cwd is not None:
        places.append(turn.cwd)
    common = posixpath.commonpath(places) if places else "/"
    return common if common != "/" else None


# ---------------------------------------------------------------- the two forms


def _chat(where: str, record: Record) -> Turn | None:
    messages = list(_spelled(messages_of(record)))
    asked = _EXAMPLE.sub("", first_request(messages))
    if not asked.strip():
        return None
    turn = turn_of(asked, where, record.get("timestamp"))
    answered = answers(messages)
    for call, name, given in calls(messages):
        _take(turn, name, given, content_text(answered[call].get("content")) if call in answered else None)
    return turn


def _spelled(messages: Sequence[Record]) -> Iterator[Record]:
    """The messages, with calls that are spelled out in the text as those of models that have tools."""
    call = ""
    for n, message in enumerate(messages):
        text = content_text(message.get("content"))
        found = _CALL.search(text) if message.get("role") == "assistant" and not message.get("tool_calls") else None
        result = _RESULT.match(text) if message.get("role") == "user" and call else None
        if found:
            call, given = f"text-{n}", {k: v.removeprefix("\n").removesuffix("\n") for k, v in _GIVEN.findall(found[2])}
            message = {**message, "tool_calls": [{"id": call, "function": {"name": found[1], "arguments": json.dumps(given)}}]}
        elif result:
            message, call = {"role": "tool", "tool_call_id": call, "content": text[result.end() :]}, ""
        yield message


def _history(where: str, record: Record) -> Turn | None:
    events = [e for e in record["history"] if isinstance(e, Mapping)] if isinstance(record.get("history"), list) else []
    first = next((e for e in events if e.get("action") == "message" and e.get("source") == "user"), {})
    asked = str(record.get("instruction") or _args(first).get("content") or "")
    if not asked.strip():
        return None
    turn = turn_of(asked, where, first.get("timestamp"))
    seen = {e.get("cause"): e for e in events if "observation" in e}
    answered = {str(e.get("tool_call_id")): e["observation"] for e in events if isinstance(e.get("observation"), Mapping)}
    for event in events:
        action = event.get("action")
        if isinstance(action, Mapping):
            _acted(turn, action, answered.get(str(event.get("tool_call_id"))))
        elif event.get("action") == "run":
            _take(turn, _SHELL, _args(event), _observed(seen.get(event.get("id"))))
        elif event.get("action") == "edit":
            _take(turn, EDITOR, _args(event), _observed(seen.get(event.get("id"))))
        elif event.get("action") in ("run_ipython", "browse", "browse_interactive", "write"):
            turn.spoilt = turn.spoilt or f"{event['action']} was used too, whose effect is not known"
    return turn


def _acted(turn: Turn, action: Record, observation: Record | None) -> None:
    """One action of the newer events (``kind``), whose result says which call it answers."""
    name = _KINDS.get(str(action.get("kind")), str(action.get("kind")))
    if name == _SHELL and action.get("is_input") is True:
        turn.spoilt = turn.spoilt or "something was typed into a running command"
    found = observation or {}
    said = {"extras": found, "content": found.get("output") or content_text(found.get("content"))}
    _take(turn, name, action, _observed(said if observation else None))


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
    if name == EDITOR:
        return edited(given, answer)
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
    shown = _PASTE.sub("", answer[: end.start()]).replace("\r\n", "\n")
    echoed = shown.partition("\n")
    shown = echoed[2] if echoed[0].strip() == command.split("\n")[0].strip() else shown
    return Ran(command, shown + "\n" if shown and not shown.endswith("\n") else shown, int(end[2]))

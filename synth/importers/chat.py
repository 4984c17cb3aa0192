"""What chats with a model have in common: messages, the calls of tools in them, and what answered each call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.importers.common import content_text, parse_time
from synth.importers.turns import Changed, Turn, replacing, written

Record = Mapping[str, Any]
EDITOR = "str_replace_editor"
_TASK = re.compile(r"<(?:pr_description|issue_description|task)>\s*(.*?)\s*</", re.DOTALL)
_UPLOADED = re.compile(r"<uploaded_files>\s*(/[^\s<]+)")
_FAILED = re.compile(r"\A(?:ERROR|No replacement was performed|Invalid)")


def messages_of(record: Record) -> list[Record]:
    """The messages of a chat, without what is none."""
    found = record.get("messages")
    return [m for m in found if isinstance(m, Mapping)] if isinstance(found, list) else []


def first_request(messages: Sequence[Record]) -> str:
    """What the first message of the user says; "" where none does."""
    return next((content_text(m.get("content")) for m in messages if m.get("role") == "user"), "")


def turn_of(text: str, where: str, time: object = None) -> Turn:
    """The turn of a benchmark's request: the task without the instructions around it, and the directory that it names."""
    found = _TASK.search(text)
    uploaded = _UPLOADED.search(text)
    return Turn(found[1] if found else text, where, text, parse_time(time), uploaded[1] if uploaded else None)


def answers(messages: Sequence[Record]) -> dict[str, Record]:
    """Id of a call -> the message that answers it."""
    return {str(m.get("tool_call_id")): m for m in messages if m.get("role") == "tool"}


def calls(messages: Sequence[Record]) -> Iterator[tuple[str, str, Record]]:
    """Id, tool and arguments of every call, in order."""
    for message in messages:
        found = message.get("tool_calls")
        for call in found if isinstance(found, list) else []:
            function = call.get("function") if isinstance(call, Mapping) else None
            if isinstance(function, Mapping):
                yield str(call.get("id")), str(function.get("name")), object_of(function.get("arguments"))


def object_of(text: object) -> Record:
    """The JSON object that a text is; an empty one where it is none."""
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def edited(given: Record, answer: str | None) -> Changed | str | None:
    """What a call of ``str_replace_editor`` did; None for nothing, a text says why it cannot be repeated."""
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

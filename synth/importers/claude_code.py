"""Claude Code sessions: one JSON object a line; Bash calls and edits become steps, each request a trace.

Source of the format: sessions under ``~/.claude/projects``, versions 0 to 2 (the envelope has ``type``, ``sessionId``, ``cwd``,
``version``, ``timestamp``; the message has ``tool_use`` and ``tool_result`` blocks; ``toolUseResult`` has stdout and stderr
apart, or is the text of an error), checked against published descriptions and test data of other readers (2.1.59 to 2.1.226).

A session is a graph: a rewind begins a branch, and what was left is no task. One that goes on repeats the first one's lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synth.importers.common import Dropped, ImportReport, content_text, known_version, parse_time
from synth.importers.lines import session_lines
from synth.importers.turns import Changed, Ran, Seen, Start, Step, Tasks, Turn, replacing, written

VERSIONS = (0, 1, 2)
_HARMLESS = frozenset({
    "Read", "Glob", "Grep", "LS", "LSP", "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList", "WebFetch",
    "WebSearch", "ToolSearch", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "BashOutput", "NotebookRead",
})  # fmt: skip
_EXIT = re.compile(r"(?:Error: )?Exit code (\d+)\n?")
_INJECTED = re.compile(
    r"<(?:system-reminder|command-name|command-message|command-args|local-command-\w+|bash-(?:input|stdout|stderr)|task-notification"
    r"|ide_\w+|user-memory-input)\b|Caveat: "
)
_SLASH = re.compile(r"<command-name>\s*(/[^<\s]+)\s*</command-name>(?:.*<command-args>([^<]*)</command-args>)?", re.DOTALL)
_INTERRUPTED = "[Request interrupted by user"
_NO_OUTPUT = "(Bash completed with no output)"
_NEVER_RAN = re.compile(
    r"<tool_use_error>|doesn't want to (?:proceed|take this action)|[Pp]ermission to use|requires approval|was blocked|hook error"
    r"|haven't granted|has been denied|\[Request interrupted"
)
"""What Claude Code answers to a call that it did not make."""
_RESET = re.compile(r"(?:^|\n)Shell cwd was reset to [^\n]*\n?\Z")
"""What Claude Code itself adds to the standard error of a command that left the project: the next one starts at the top again."""
_SPOILT = {
    "interrupted": "a command was interrupted",
    "timedOutAfterMs": "a command ran out of time",
    "isImage": "a command printed an image",
    "backgroundTaskId": "a command ran in the background: when it ended is not recorded",
    "persistedOutputPath": "a command printed more than the session keeps",
}
"""Keys of ``toolUseResult`` that, when set, mean that what the command printed is not in the session."""

Record = Mapping[str, Any]


@dataclass(slots=True)
class _Request:
    """A request with the calls that belong to it."""

    text: str
    where: str
    record: Record
    calls: dict[str, Record] = field(default_factory=dict)
    """Id -> tool_use block, in order."""
    results: dict[str, tuple[Record, Record]] = field(default_factory=dict)
    last_time: object = None
    interrupted: bool = False


def looks_like(record: Record) -> bool:
    """Whether a first line is a session's: an envelope, a summary of an earlier session, or a snapshot of edited files."""
    marks = ("sessionId", "parentUuid", "leafUuid")
    return "type" in record and (record["type"] == "file-history-snapshot" or any(mark in record for mark in marks))


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a session file.

    Raises:
        EvidenceError: the file cannot be read.
        UnknownFormat: another major version.
    """
    dropped: list[Dropped] = []
    requests = _requests(path, dropped)
    root = next((str(r.record["cwd"]) for r in requests if isinstance(r.record.get("cwd"), str)), None)
    tasks = Tasks("claude-code", root, start, dropped=dropped)
    traces = tasks.traces([_turn(r) for r in requests])
    note = "a request counts as done when its last command did not fail: sessions do not say whether a task succeeded"
    return ImportReport("claude-code", tuple(traces), (), tuple(tasks.dropped), (note,), sessions=1)


# ---------------------------------------------------------------- from lines to requests


def _requests(path: Path, dropped: list[Dropped]) -> list[_Request]:
    """The requests that the session's end goes back to."""
    graph = _Graph()
    sidechains = 0
    for where, record in session_lines(path, dropped):
        known_version(record.get("version"), VERSIONS, "Claude Code", where)
        if record.get("isSidechain") is True:
            sidechains += 1
            continue
        graph.take(where, record)
    if sidechains:
        what = "line" if graph.requests else "file"
        dropped.append(Dropped(str(path), what, f"a sub-agent's, whose requests are the model's own ({sidechains} lines)"))
    kept = graph.kept()
    left = [r for r in graph.requests.values() if not any(r is k for k in kept)]
    why = "the person went back to before this request: what it left is not known"
    dropped += [Dropped(request.where, "trace", why) for request in left]
    return kept


class _Graph:
    """Lines by what they follow: ``parentUuid``, or after a compaction ``logicalParentUuid``."""

    def __init__(self) -> None:
        self.requests: dict[str, _Request] = {}
        self._before: dict[str, str | None] = {}
        """Request -> the request that it follows."""
        self._owner: dict[str, str] = {}
        """Line -> its request."""
        self._slash: tuple[str, str] | None = None
        """A line with a command of the client, and what was typed: a request where a prompt that stands for it follows."""
        self._last: str | None = None

    def take(self, where: str, record: Record) -> None:
        line = str(record.get("uuid") or where)
        if line in self._owner:
            return  # written twice: sessions that go on in another file repeat what was
        owner = self._owner_of(record)
        message = record.get("message")
        if record.get("type") in ("user", "assistant") and isinstance(message, Mapping):
            blocks = message.get("content")
            text = _request_text(record, blocks) or self._spelled(line, record, blocks)
            if text is None:
                self._collect(owner, record, blocks)
            elif text.startswith(_INTERRUPTED):
                self._interrupt(owner)
            elif text:
                self.requests[line] = _Request(text, where, record, last_time=record.get("timestamp"))
                self._before[line] = owner
                owner = self._last = line
        if owner is not None:
            self._owner[line] = owner

    def _spelled(self, line: str, record: Record, blocks: object) -> str | None:
        """What was typed of a command like ``/init``, in the line of the prompt that it stands for."""
        if _request_text(record, blocks) is None:
            return None
        said = content_text(blocks)
        command = _SLASH.search(said)
        if command:
            self._slash = (line, f"{command[1]} {command[2] or ''}".strip())
        elif self._slash is not None and record.get("isMeta") is True and record.get("parentUuid") == self._slash[0]:
            return "" if _INJECTED.match(said.strip()) else self._slash[1]
        return ""

    def _owner_of(self, record: Record) -> str | None:
        for name in ("parentUuid", "logicalParentUuid"):
            parent = record.get(name)
            if isinstance(parent, str) and parent in self._owner:
                return self._owner[parent]
        return self._last  # a line whose parent is in another file follows what stands before it

    def _interrupt(self, owner: str | None) -> None:
        if owner is not None:
            self.requests[owner].interrupted = True

    def _collect(self, owner: str | None, record: Record, blocks: object) -> None:
        if owner is None or not isinstance(blocks, list):
            return
        request = self.requests[owner]
        request.last_time = record.get("timestamp", request.last_time)
        for block in blocks:
            if _is(block, "tool_use"):
                request.calls[str(block.get("id"))] = block
            elif _is(block, "tool_result"):
                request.results[str(block.get("tool_use_id"))] = (block, record)

    def kept(self) -> list[_Request]:
        """The requests from the first to the last one, without those of branches that were left."""
        out: list[_Request] = []
        at = self._last
        while at is not None:
            out.append(self.requests[at])
            at = self._before[at]
        return out[::-1]


def _request_text(record: Record, blocks: object) -> str | None:
    """The text of a line that a person wrote; "" for one that begins nothing, None for one that belongs to a request."""
    if record.get("type") != "user" or (isinstance(blocks, list) and any(_is(b, "tool_result") for b in blocks)):
        return None
    if record.get("isMeta") is True or record.get("isCompactSummary") is True:
        return ""
    parts = [content_text([b]) for b in blocks] if isinstance(blocks, list) else [content_text(blocks)]
    said = [part.strip() for part in parts if part.strip() and not _INJECTED.match(part.strip())]
    return "\n".join(said)


def _is(block: object, kind: str) -> bool:
    return isinstance(block, Mapping) and block.get("type") == kind


# ---------------------------------------------------------------- from requests to turns


def _turn(request: _Request) -> Turn:
    record = request.record
    cwd = record.get("cwd")
    turn = Turn(
        request.text, request.where, str(record.get("uuid")), parse_time(record.get("timestamp")),
        cwd if isinstance(cwd, str) else None, ended=parse_time(request.last_time),
        metadata={"session": record.get("sessionId"), "version": record.get("version")},
    )  # fmt: skip
    turn.spoilt = "the user interrupted the request" if request.interrupted else ""
    for call, block in request.calls.items():
        found = _step(block, request.results.get(call))
        if isinstance(found, str):
            turn.spoilt = turn.spoilt or found
        elif found is not None:
            turn.steps.append(found)
    return turn


def _step(block: Record, result: tuple[Record, Record] | None) -> Step | str | None:
    """What one call did; None for nothing that counts; a text says why the turn cannot be repeated."""
    name, given = str(block.get("name")), block.get("input")
    given = given if isinstance(given, Mapping) else {}
    if name != "Bash" and name not in _EDITS:
        unknown = None if name in _HARMLESS else f"{name} was used too, whose effect is not known"
        return _seen(result) if name == "Read" else unknown
    if result is None:
        return "a command has no result: the session ended before it did" if name == "Bash" else None
    if result[0].get("is_error") is True and _NEVER_RAN.search(content_text(result[0].get("content"))):
        return None
    if name == "Bash":
        return _ran(given, *result)
    return None if result[0].get("is_error") is True else _EDITS[name](given, *result)


def _ran(given: Record, block: Record, record: Record) -> Ran | str:
    command, detail = given.get("command"), record.get("toolUseResult")
    if not isinstance(command, str):
        return "a Bash call has no command"
    if given.get("run_in_background") is True:
        return "a command ran in the background: when it ended is not recorded"
    failed = block.get("is_error") is True
    if isinstance(detail, Mapping):
        for key, why in _SPOILT.items():
            if detail.get(key):
                return why
        out, err = str(detail.get("stdout", "")), _RESET.sub("", str(detail.get("stderr", "")))
        return Ran(command, _closed(out) + _closed(err), None if failed else _interpreted(detail), _closed(err))
    text = _RESET.sub("", content_text(block.get("content")))
    found = _EXIT.match(text)
    if failed and found is None:
        return "a command failed in a way that is not recorded"
    shown = text[found.end() :] if found else text
    return Ran(command, "" if shown == _NO_OUTPUT else _closed(shown), int(found[1]) if found else 0)


def _interpreted(detail: Record) -> int:
    """The exit code of a command that did not count as failed: 1 where a non-zero one is explained ("No matches found")."""
    return 1 if detail.get("returnCodeInterpretation") else 0


def _closed(text: str) -> str:
    """Text with the final newline that sessions cut off."""
    return text + "\n" if text and not text.endswith("\n") else text


def _seen(result: tuple[Record, Record] | None) -> Seen | None:
    """A file that ``Read`` showed from its first line to its last."""
    detail = result[1].get("toolUseResult") if result is not None else None
    file = detail.get("file") if isinstance(detail, Mapping) and detail.get("type") == "text" else None
    if not isinstance(file, Mapping) or file.get("startLine") != 1 or file.get("numLines") != file.get("totalLines"):
        return None
    path, text = file.get("filePath"), file.get("content")
    return Seen(path, text) if isinstance(path, str) and isinstance(text, str) else None


def _write(given: Record, block: Record, record: Record) -> Changed | str:
    path, content = given.get("file_path"), given.get("content")
    if not isinstance(path, str) or not isinstance(content, str):
        return "a Write call has no path or no content"
    detail = _detail(record)
    before, shows = _original(detail)
    if detail.get("type") == "create":
        before, shows = None, True
    return Changed(path, written(content), before, shows)


def _edit(given: Record, block: Record, record: Record) -> Changed | str:
    pairs = given.get("edits") if isinstance(given.get("edits"), list) else [given]
    return _replaced(given, [p for p in pairs or [] if isinstance(p, Mapping)], record)


def _replaced(given: Record, pairs: Sequence[Record], record: Record) -> Changed | str:
    path, detail = given.get("file_path"), _detail(record)
    texts = [(p.get("old_string"), p.get("new_string"), p.get("replace_all") is True) for p in pairs]
    known = [(old, new, every) for old, new, every in texts if isinstance(old, str) and isinstance(new, str)]
    if not isinstance(path, str) or not known or len(known) < len(texts):
        return "an edit has no path or no text"
    if detail.get("userModified") is True:
        return "the person changed an edit before it was made"
    return Changed(path, replacing(known), *_original(detail))


def _original(detail: Record) -> tuple[str | None, bool]:
    """The whole file before, where the result has it; an empty text may stand for none at all."""
    original = detail.get("originalFile")
    return (original, True) if isinstance(original, str) and original else (None, False)


def _detail(record: Record) -> Record:
    detail = record.get("toolUseResult")
    return detail if isinstance(detail, Mapping) else {}


def _notebook(given: Record, block: Record, record: Record) -> str:
    return "a notebook was edited cell by cell"


_EDITS = {"Write": _write, "Edit": _edit, "MultiEdit": _edit, "NotebookEdit": _notebook}

"""Claude Code sessions: one JSON object a line; Bash calls and their results become steps, each request a trace.

Source of the format: sessions under ``~/.claude/projects``, versions 0 to 2 (the envelope has ``type``, ``sessionId``, ``cwd``,
``version``, ``timestamp``; the message has ``tool_use`` and ``tool_result`` blocks; ``toolUseResult`` has stdout and stderr
apart, or is the text of an error), checked against published descriptions and test data of other readers (2.1.59 to 2.1.226).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synth.importers.common import Builder, Dropped, ImportReport, content_text, known_version, parse_time, task_id_for
from synth.interface import ExecutionTrace
from verifiers.evidence import iter_records
from verifiers.interface import EvidenceError

VERSIONS = (0, 1, 2)
_EDITORS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_HARMLESS = frozenset({
    "Read", "Glob", "Grep", "LS", "LSP", "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList", "WebFetch",
    "WebSearch", "ToolSearch", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode",
})  # fmt: skip
_EXIT = re.compile(r"(?:Error: )?Exit code (\d+)\n?")
_INJECTED = re.compile(
    r"<(?:system-reminder|command-name|command-message|command-args|local-command-\w+|bash-(?:input|stdout|stderr)|task-notification)\b"
)
_INTERRUPTED = "[Request interrupted by user"
_NO_OUTPUT = "(Bash completed with no output)"
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


@dataclass(slots=True)
class _Turn:
    """What one request led to."""

    text: str
    where: str
    record: Mapping[str, Any]
    calls: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    results: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=dict)
    other_tools: list[str] = field(default_factory=list)
    last_time: object = None
    interrupted: bool = False


def looks_like(record: Mapping[str, Any]) -> bool:
    """Whether a first line is a session's: an envelope, a summary of an earlier session, or a snapshot of edited files."""
    marks = ("sessionId", "parentUuid", "leafUuid")
    return "type" in record and (record["type"] == "file-history-snapshot" or any(mark in record for mark in marks))


def read(path: Path) -> ImportReport:
    """The traces of a session file.

    Raises:
        EvidenceError: a line is not JSON.
        UnknownFormat: another major version.
    """
    traces: list[ExecutionTrace] = []
    dropped: list[Dropped] = []
    for turn in _turns(path, dropped):
        trace = _trace(turn, path, dropped)
        if trace is not None:
            traces.append(trace)
    note = "a request counts as done when its last command did not fail: sessions do not say whether a task succeeded"
    return ImportReport("claude-code", tuple(traces), (), tuple(dropped), (note,))


def _turns(path: Path, dropped: list[Dropped]) -> Iterator[_Turn]:
    turn: _Turn | None = None
    for where, record in iter_records(path):
        known_version(record.get("version"), VERSIONS, "Claude Code", where)
        if record.get("isSidechain") is True:
            dropped.append(Dropped(where, "line", "it belongs to a sub-agent, whose commands run beside the request's"))
            continue
        message = record.get("message")
        if record.get("type") not in ("user", "assistant") or not isinstance(message, Mapping):
            continue
        blocks = message.get("content")
        results = [b for b in blocks if _is(b, "tool_result")] if isinstance(blocks, list) else []
        if record["type"] == "user" and not results:
            text = content_text(blocks).strip()
            if record.get("isMeta") is True or record.get("isCompactSummary") is True or not text or _INJECTED.match(text):
                continue
            if text.startswith(_INTERRUPTED):
                if turn is not None:
                    turn.interrupted = True
                continue
            if turn is not None:
                yield turn
            turn = _Turn(text, where, record)
        elif turn is not None:
            _collect(turn, record, blocks if isinstance(blocks, list) else [])
    if turn is not None:
        yield turn


def _is(block: object, kind: str) -> bool:
    return isinstance(block, Mapping) and block.get("type") == kind


def _collect(turn: _Turn, record: Mapping[str, Any], blocks: list[Any]) -> None:
    turn.last_time = record.get("timestamp", turn.last_time)
    for block in blocks:
        if _is(block, "tool_use"):
            if block.get("name") == "Bash" and isinstance(block.get("input"), Mapping):
                turn.calls[str(block.get("id"))] = block["input"]
            else:
                turn.other_tools.append(str(block.get("name")))
        elif _is(block, "tool_result"):
            turn.results[str(block.get("tool_use_id"))] = (block, record)


def _trace(turn: _Turn, path: Path, dropped: list[Dropped]) -> ExecutionTrace | None:
    """The turn's trace, or None with a reason in ``dropped``."""
    builder = _builder(turn, path)
    why = _unfit(turn)
    for call, given in turn.calls.items():
        why = why or _step(builder, given, turn.results.get(call))
    if not why:
        end, start = parse_time(turn.last_time), builder.timestamp
        duration_ms = (end - start).total_seconds() * 1000 if end is not None and start is not None else 0.0
        try:
            return builder.build(builder.exit_codes[-1] == 0, duration_ms)
        except EvidenceError as e:
            why = e.what
    dropped.append(Dropped(turn.where, "trace", why))
    return None


def _unfit(turn: _Turn) -> str:
    """Why the turn cannot be repeated by its shell commands, "" if it can."""
    if not turn.calls:
        return "the request ran no shell command"
    if turn.interrupted:
        return "the user interrupted the request"
    for tool in turn.other_tools:
        if tool in _EDITORS:
            return f"files were also changed with {tool}, which a shell cannot repeat"
        if tool not in _HARMLESS:
            return f"{tool} was used too, whose effect is not known"
    return ""


def _builder(turn: _Turn, path: Path) -> Builder:
    text = " ".join(turn.text.split())
    task_id = task_id_for(path.stem, str(turn.record.get("uuid")), text)
    builder = Builder(task_id, text, turn.where, parse_time(turn.record.get("timestamp")))
    cwd = turn.record.get("cwd")
    if isinstance(cwd, str) and cwd.startswith("/"):
        builder.metadata["workspace_root"] = cwd
    builder.metadata |= {"source": "claude-code", "session": turn.record.get("sessionId"), "version": turn.record.get("version")}
    return builder


def _step(builder: Builder, given: Mapping[str, Any], result: tuple[Mapping[str, Any], Mapping[str, Any]] | None) -> str:
    """Adds one Bash call; why the turn cannot be used otherwise."""
    command = given.get("command")
    if not isinstance(command, str):
        return "a Bash call has no command"
    if given.get("run_in_background") is True:
        return "a command ran in the background: when it ended is not recorded"
    if result is None:
        return "a command has no result: the session ended before it did"
    block, record = result
    detail = record.get("toolUseResult")
    failed = block.get("is_error") is True
    if isinstance(detail, Mapping):
        for key, why in _SPOILT.items():
            if detail.get(key):
                return why
        out, err = str(detail.get("stdout", "")), _RESET.sub("", str(detail.get("stderr", "")))
        builder.step(command, _closed(out) + _closed(err), None if failed else _interpreted(detail), _closed(err))
        return ""
    text = _RESET.sub("", content_text(block.get("content")))
    found = _EXIT.match(text)
    if failed and found is None:
        return "a command was refused or never ran"
    shown = text[found.end() :] if found else text
    builder.step(command, "" if shown == _NO_OUTPUT else _closed(shown), int(found[1]) if found else 0)
    return ""


def _interpreted(detail: Mapping[str, Any]) -> int:
    """The exit code of a command that did not count as failed: 1 where a non-zero one is explained ("No matches found")."""
    return 1 if detail.get("returnCodeInterpretation") else 0


def _closed(text: str) -> str:
    """Text with the final newline that sessions cut off."""
    return text + "\n" if text and not text.endswith("\n") else text

"""Codex sessions (``rollout-*.jsonl``): commands in three dialects and patches become steps, each request a trace.

Source of the format: sessions of versions 0.0 to 0.139 (``response_item`` with ``function_call`` and ``custom_tool_call``; the
oldest have no envelope). Each command is a shell of its own, started in ``workdir``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.importers.common import Dropped, ImportReport, content_text, parse_time
from synth.importers.keeping import DoesNotApply
from synth.importers.lines import session_lines
from synth.importers.patches import changes, patch_in
from synth.importers.turns import Ran, Start, Step, Tasks, Turn

Record = Mapping[str, Any]
_INJECTED = re.compile(
    r"<(?:environment_context|user_instructions|permissions|skill|turn_aborted|user_shell_command|INSTRUCTIONS|subagent_\w+)\b"
    r"|# AGENTS\.md"
)
_FROM_IDE = "## My request for Codex:"
_SHELLS = {"bash", "sh", "zsh"}
_HARMLESS = frozenset(
    {"update_plan", "view_image", "web_search", "list_mcp_resources", "request_user_input", "read_file", "grep_files"}
)
_TEXT = re.compile(r"(?:Chunk ID: [^\n]*\n)?(?:Wall time: [^\n]*\n)?(?:Process exited with code|Exit code:) (-?\d+)\n")
_OUTPUT = re.compile(r"(?:^|\n)Output:\n?")
_CUT = re.compile(r"\[\.\.\. omitted \d+ of \d+ lines|…\d+ tokens truncated…|\ATotal output lines: \d+\n")
_REFUSED = ("exec command rejected by user", "rejected by user", "aborted by user before")


def looks_like(record: Record) -> bool:
    """Whether a first line is a session's: its meta data with or without the envelope."""
    if record.get("type") == "session_meta":
        return True
    return {"id", "timestamp", "instructions"} <= record.keys()


def read(path: Path, start: Start | None = None) -> ImportReport:
    """The traces of a session file.

    Raises:
        EvidenceError: the file cannot be read.
    """
    session = _Session(path)
    for where, record in session_lines(path, session.dropped):
        session.take(where, record)
    if session.subagent:
        session.dropped.append(Dropped(str(path), "file", "a sub-agent's, whose requests are the model's own"))
        return ImportReport("codex", dropped=tuple(session.dropped), sessions=1)
    tasks = Tasks("codex", session.root, start, dropped=session.dropped)
    traces = tasks.traces(session.finished())
    return ImportReport("codex", tuple(traces), (), tuple(tasks.dropped), sessions=1)


class _Session:
    """The requests of one file in the making."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped: list[Dropped] = []
        self.turns: list[Turn] = []
        self.root: str | None = None
        self.subagent = False
        self._facts: dict[str, Any] = {}
        self._cwd: str | None = None
        self._calls: list[_Call] = []

    def take(self, where: str, record: Record) -> None:
        payload = record.get("payload")
        item = payload if isinstance(payload, Mapping) else record
        kind = record.get("type") if record.get("type") in ("session_meta", "turn_context") else item.get("type")
        if kind == "session_meta" or (kind is None and "instructions" in item):
            self._meta(item)
        elif kind == "turn_context":
            self._cwd = _path(item.get("cwd")) or self._cwd
            self.root = self.root or self._cwd
        elif kind == "message" and item.get("role") == "user":
            self._said(where, record, item)
        elif kind == "ghost_snapshot" and self.turns:
            found = item.get("ghost_commit")
            self.turns[-1].metadata.setdefault("snapshot", found.get("id") if isinstance(found, Mapping) else None)
        elif kind == "turn_aborted" and self.turns:
            self.turns[-1].spoilt = self.turns[-1].spoilt or "the user interrupted the request"
        elif self.turns:
            self._called(record, item, str(kind))

    def _meta(self, item: Record) -> None:
        if self._facts:
            return  # a session that goes on repeats the first one's
        git = item.get("git")
        commit = git.get("commit_hash") if isinstance(git, Mapping) else None
        self._facts = {"session": item.get("id"), "version": item.get("cli_version")}
        if isinstance(commit, str):
            self._facts["commit"] = commit
        self._cwd = self.root = _path(item.get("cwd"))
        self.subagent = isinstance(item.get("source"), Mapping) and "subagent" in item["source"]

    def _said(self, where: str, record: Record, item: Record) -> None:
        parts = item.get("content")
        items = parts if isinstance(parts, list) else []
        texts = [str(p.get("text", "")) for p in items if isinstance(p, Mapping)] or [content_text(parts)]
        if self.root is None:
            found = re.search(r"<cwd>([^<\n]+)</cwd>|Current working directory: ([^\n]+)", "\n".join(texts))
            self.root = self._cwd = _path((found[1] or found[2]).strip()) if found else None
        text = "\n".join(t for t in map(_request, texts) if t)
        if text:
            key = f"{self._facts.get('session')} {record.get('timestamp')} {len(self.turns)}"
            self.turns.append(Turn(text, where, key, parse_time(record.get("timestamp")), metadata=dict(self._facts)))

    def _called(self, record: Record, item: Record, kind: str) -> None:
        turn = self.turns[-1]
        turn.ended = parse_time(record.get("timestamp")) or turn.ended
        if kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._calls.append(_Call(str(item.get("call_id") or item.get("id")), turn, item, self._cwd))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            call = next((c for c in self._calls if c.id == str(item.get("call_id")) and c.output is None), None)
            if call is not None:
                call.output = item.get("output") or ""

    def finished(self) -> list[Turn]:
        """The turns with their steps, in the order of the calls: they may run side by side."""
        for call in self._calls:
            found = _steps(call.item, _answer(call.output), call.cwd) if call.output is not None else _unanswered(call.item)
            if isinstance(found, str):
                call.turn.spoilt = call.turn.spoilt or found
            else:
                call.turn.steps += found
        return self.turns


@dataclass(slots=True)
class _Call:
    """A call, and what answered it."""

    id: str
    turn: Turn
    item: Record
    cwd: str | None
    output: object = None


def _unanswered(item: Record) -> list[Step] | str:
    harmless = str(item.get("name")) in _HARMLESS
    return [] if harmless else "a command has no result: the session ended before it did"


def _request(text: str) -> str:
    """What the person said of one part of a message, "" for what the client put there."""
    if _FROM_IDE in text:
        return text.partition(_FROM_IDE)[2].strip()
    text = text.strip()
    return "" if _INJECTED.match(text) or text.startswith("# Context from my IDE setup") else text


def _path(value: object) -> str | None:
    return value.rstrip("/\\") or "/" if isinstance(value, str) and value else None


# ---------------------------------------------------------------- calls


def _steps(item: Record, answer: tuple[str, int | None], cwd: str | None) -> list[Step] | str:
    """What one call did; a text says why the turn cannot be repeated."""
    name = str(item.get("name") or item.get("type"))
    output, code = answer
    if any(output.startswith(mark) for mark in _REFUSED):
        return []
    if name == "apply_patch":
        return _patched(str(item.get("input") or _arguments(item).get("input") or ""), output, code)
    if name == "write_stdin":
        return "something was typed into a running command"
    if name not in ("shell", "shell_command", "exec_command", "container.exec", "local_shell_call", "exec"):
        return [] if name in _HARMLESS else f"{name} was used too, whose effect is not known"
    given = _arguments(item)
    command = _command(given.get("command", given.get("cmd")))
    if command is None:
        return "a command is in PowerShell, or is none"
    patch = patch_in(command) if "apply_patch" in command else None
    if patch is not None and re.match(r"\s*(?:cd [^&;\n]+&&\s*)?apply_patch\b", command):
        return _patched(patch, output, code)
    if output.startswith("failed in sandbox"):
        return "the agent's own sandbox stopped a command: how far it came is not recorded"
    if code is None:
        return "a command had not ended when the session went on"
    if _CUT.search(output):
        return "a command printed more than the session keeps"
    return [Ran(command, output, code, cwd=_path(given.get("workdir")) or cwd)]


def _patched(patch: str, output: str, code: int | None) -> list[Step] | str:
    if code != 0 and not output.startswith("Success"):
        return []
    try:
        return list(changes(patch))
    except DoesNotApply as e:
        return str(e)


def _arguments(item: Record) -> Record:
    action = item.get("action")
    if isinstance(action, Mapping):
        return action
    try:
        found = json.loads(str(item.get("arguments") or "{}"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _command(value: object) -> str | None:
    """The shell text of a call: as it stands, behind ``bash -lc``, or an argument list. None for other shells' languages."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        return None
    program = re.split(r"[/\\]", value[0])[-1].removesuffix(".exe")
    if program in _SHELLS and len(value) == 3 and re.fullmatch(r"-[lc]+", value[1]):
        return str(value[2])
    return None if program in ("powershell", "pwsh", "cmd") else shlex.join(value)


def _answer(output: object) -> tuple[str, int | None]:
    """What a call printed, and its exit code where it ended."""
    text = output if isinstance(output, str) else "\n".join(_parts(output))
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, Mapping) and isinstance(found.get("output"), str):
        meta = found.get("metadata")
        code = meta.get("exit_code") if isinstance(meta, Mapping) else None
        return found["output"], code if isinstance(code, int) and not isinstance(code, bool) else None
    match = _TEXT.search(text[:500])
    if match is None:
        return text, None
    behind = _OUTPUT.search(text, match.end() - 1)
    return text[behind.end() :] if behind else text[match.end() :], int(match[1])


def _parts(output: object) -> Iterator[str]:
    items = output if isinstance(output, list) else [output]
    for item in items:
        if isinstance(item, Mapping):
            yield str(item.get("text") or item.get("content") or "")

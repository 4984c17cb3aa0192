"""Session files of agents, written by hand in the shape that the real ones have."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = "/home/dev/shop"
TESTBED = "/testbed"


class Claude:
    """A Claude Code session in the making; each line follows the one before unless told otherwise."""

    def __init__(self, session: str = "s1", cwd: str = ROOT) -> None:
        self.lines: list[dict[str, Any]] = []
        self.session, self.cwd = session, cwd
        self.last: str | None = None
        self._calls = itertools.count(1)

    def line(self, kind: str, content: Any, *, after: str | None = "last", **more: Any) -> str:
        uuid = f"{self.session}-{len(self.lines)}"
        self.lines.append(
            {
                "parentUuid": self.last if after == "last" else after,
                "isSidechain": False,
                "cwd": self.cwd,
                "sessionId": self.session,
                "version": "2.0.42",
                "type": kind,
                "uuid": uuid,
                "timestamp": f"2026-03-01T09:{len(self.lines):02}:00.000Z",
                "message": {"role": kind, "content": content},
                **more,
            }
        )
        self.last = uuid
        return uuid

    def ask(self, text: Any, **more: Any) -> str:
        return self.line("user", text, **more)

    def call(self, name: str, given: Mapping[str, Any]) -> str:
        call = f"toolu_{self.session}_{next(self._calls)}"
        self.line("assistant", [{"type": "tool_use", "id": call, "name": name, "input": dict(given)}])
        return call

    def answer(self, call: str, text: str, detail: Any, *, error: bool = False, after: str | None = "last") -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": error}
        return self.line("user", [block], after=after, toolUseResult=detail)

    def bash(self, command: str, out: str = "") -> None:
        self.answer(self.call("Bash", {"command": command}), out, {"stdout": out, "stderr": "", "interrupted": False})

    def write(self, path: str, content: str) -> None:
        detail = {"type": "create", "filePath": f"{self.cwd}/{path}", "content": content, "structuredPatch": []}
        self.answer(self.call("Write", {"file_path": f"{self.cwd}/{path}", "content": content}), "File created", detail)

    def edit(self, path: str, old: str, new: str, original: str | None = None, **given: Any) -> None:
        full = {"file_path": f"{self.cwd}/{path}", "old_string": old, "new_string": new, **given}
        detail = {"filePath": full["file_path"], "originalFile": original, "structuredPatch": []}
        self.answer(self.call("Edit", full), "The file has been updated", detail)

    def save(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), "utf-8")
        return path


class Codex:
    """A Codex session in the making."""

    def __init__(self, cwd: str = ROOT, *, envelope: bool = True, **meta: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        self.envelope = envelope
        self._calls = itertools.count(1)
        head = {"id": "c1", "timestamp": self._time(), "cwd": cwd, "cli_version": "0.94.0", **meta}
        if envelope:
            self.lines.append({"timestamp": self._time(), "type": "session_meta", "payload": head})
        else:
            self.lines.append({"id": "c1", "timestamp": self._time(), "instructions": None})

    def _time(self) -> str:
        return f"2026-03-01T09:{len(self.lines):02}:00.000Z"

    def item(self, **payload: Any) -> None:
        at = {"timestamp": self._time()}
        self.lines.append({**at, "type": "response_item", "payload": payload} if self.envelope else payload)

    def event(self, **payload: Any) -> None:
        self.lines.append({"timestamp": self._time(), "type": "event_msg", "payload": payload})

    def ask(self, text: str) -> None:
        self.item(type="message", role="user", content=[{"type": "input_text", "text": text}])
        if self.envelope:
            self.event(type="user_message", message=text)

    def call(self, name: str, **given: Any) -> str:
        call = f"call_{next(self._calls)}"
        self.item(type="function_call", name=name, arguments=json.dumps(given), call_id=call)
        return call

    def answer(self, call: str, output: Any) -> None:
        self.item(type="function_call_output", call_id=call, output=output)

    def patch(self, text: str, output: str = '{"output":"Success. Updated","metadata":{"exit_code":0}}') -> None:
        call = f"call_{next(self._calls)}"
        body = f"*** Begin Patch\n{text}\n*** End Patch"
        self.item(type="custom_tool_call", name="apply_patch", input=body, call_id=call, status="completed")
        self.item(type="custom_tool_call_output", call_id=call, output=output)

    def save(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), "utf-8")
        return path


def gemini_call(name: str, output: str, status: str = "success", display: Any = None, **given: Any) -> dict[str, Any]:
    result = [{"functionResponse": {"id": "x", "name": name, "response": {"output": output}}}]
    return {"id": name, "name": name, "args": given, "result": result, "status": status, "resultDisplay": display}


def gemini(path: Path, *messages: dict[str, Any], project: str = "?", lines: bool = False) -> Path:
    head = {"sessionId": "g1", "projectHash": project, "startTime": "2026-03-01T09:00:00.000Z"}
    timed = [{"id": f"m{n}", "timestamp": f"2026-03-01T09:{n:02}:00.000Z", **m} for n, m in enumerate(messages)]
    text = "".join(json.dumps(r) + "\n" for r in (head, *timed)) if lines else json.dumps({**head, "messages": timed}, indent=1)
    path.write_text(text, "utf-8")
    return path


def saved(path: Path, record: Any) -> Path:
    path.write_text(json.dumps(record), "utf-8")
    return path


def call(name: str, number: int = 1, **given: Any) -> dict[str, Any]:
    made = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    return {"role": "assistant", "content": "", "tool_calls": [made]}


def answer(text: Any, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text, **more}


def mini(*messages: dict[str, Any], status: str = "Submitted", cwd: str = TESTBED, **info: Any) -> dict[str, Any]:
    config = {"environment": {"cwd": cwd}}
    asked = {"role": "user", "content": "<pr_description>\nMove a to b\n</pr_description>\nInstructions"}
    return {
        "info": {"exit_status": status, "config": config, **info}, "trajectory_format": "mini-swe-agent-1",
        "messages": [{"role": "system", "content": "You are"}, asked, *messages],
    }  # fmt: skip


def block(command: str, fence: str = "bash") -> dict[str, Any]:
    return {"role": "assistant", "content": f"THOUGHT: now\n\n```{fence}\n{command}\n```"}


def said(output: str, code: int = 0) -> dict[str, Any]:
    return {"role": "user", "content": f"<returncode>{code}</returncode>\n<output>\n{output}</output>"}


def log(path: Path, *chats: list[dict[str, Any]]) -> Path:
    lines = []
    for messages in chats:
        lines.append({"timestamp": "2026-01-01T10:00:00", "type": "request", "request_params": {"messages": messages}})
        lines.append({"timestamp": "2026-01-01T10:00:01", "type": "response", "response": {}})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


SWE_ASKED = {
    "role": "user",
    "content": [
        {"type": "text", "text": "<uploaded_files>\n/shop\n</uploaded_files>\n<pr_description>\nRename x\n</pr_description>"}
    ],
}


def cline(path: Path, *messages: tuple[str, str, str] | dict[str, Any]) -> Path:
    full = [m if isinstance(m, dict) else {"type": m[0], m[0]: m[1], "text": m[2]} for m in messages]
    return saved(path, [{"ts": 1767225600000 + 1000 * n, **m} for n, m in enumerate(full)])


CLINE_START = ("say", "text", "move the page")
CLINE_ENVIRONMENT = ("say", "api_req_started", json.dumps({"request": "# Current Working Directory (/home/dev/shop) Files\na"}))

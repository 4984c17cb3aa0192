"""One event of an agent into the store. Never raises, never speaks, never takes long: the agent goes on whatever happens here."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from synth.hooks.agents import AGENTS, Agent
from synth.store.pictures import SECRET, project_root
from synth.store.tasks import Store

Payload = Mapping[str, Any]
SKILL = "skill_"
"""How a tool of ``assay mcp`` is called, behind the server's name."""
TURN = ("prompt_id", "turn_id")
"""By which agents tell a turn from others."""
MOST_TEXT = 1 << 20
"""Characters kept of an output."""


def receive(
    agent_name: str,
    data: bytes,
    store: Store,
    ended: Callable[[Path], object] = lambda task: None,
    when: Payload = {},  # noqa: B006  never written to
    *,
    waits: bool = True,
) -> str:
    """Takes one event and returns what the agent wants to read. What goes wrong is in the store's log.

    Args:
        ended: Told of a task that this event closes.
        when: When it came (``time``, seconds since the epoch) and of which process (``pid``), where that is known.
        waits: Whether the agent waits for the answer; it reads nothing of what was put aside.
    """
    agent = AGENTS.get(agent_name)
    said, payload = "", None
    try:
        if agent is None:
            store.complain(f"unknown agent {agent_name!r}")
            return ""
        payload = json.loads(data.decode("utf-8", "replace"))
        if not isinstance(payload, Mapping):
            raise ValueError("the event is no JSON object")
        closed = _take(agent, payload, store, when)
        if closed is not None:
            ended(closed)
        said = _to_say(agent, payload, store) if waits else ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        _complain(store, f"{agent_name}: {type(e).__name__}: {e}")
        session = str(payload.get("session_id")) if isinstance(payload, Mapping) else ""
        store.spoil(agent_name, session, when.get("pid"))
    return agent.says(said) if agent is not None else ""


def _to_say(agent: Agent, payload: Payload, store: Store) -> str:
    """What the person is to be told now: between requests, never in the middle of a turn."""
    kind = agent.events.get(str(payload.get("hook_event_name")))
    if kind not in ("start", "request", "end"):
        return ""
    root, _ = project_root(Path(str(payload.get("cwd") or Path.cwd())))
    return store.moments.take(str(root), starts=kind == "start")


def _complain(store: Store, text: str) -> None:
    try:
        store.complain(text)
    except OSError:
        return  # a full disk: there is nobody left to tell


def _take(agent: Agent, payload: Payload, store: Store, when: Payload) -> Path | None:
    """Keeps one event; the task that it closes."""
    name, session = str(payload.get("hook_event_name")), str(payload.get("session_id"))
    kind = agent.events.get(name)
    if kind is None:
        store.complain(f"{agent.name}: event {name!r} is not known")
    elif kind == "request":
        cwd = Path(str(payload.get("cwd") or Path.cwd()))
        facts = {k: payload[k] for k in ("transcript_path", *TURN, "model") if k in payload}
        if _is_open(agent, session, facts, store):
            return None
        store.begin(agent.name, session, cwd, {"request": str(payload.get("prompt", "")), **facts, **when})
    elif kind == "end":
        closed = store.close(agent.name, session, "ended", {"transcript_path": payload.get("transcript_path"), **when})
        if closed is None:
            store.complain(f"{agent.name}: a turn ended that never began ({session})")
        return closed
    elif kind != "start":
        _tool(agent, kind, payload, store, session, when)
    return None


def _is_open(agent: Agent, session: str, facts: Payload, store: Store) -> bool:
    """Whether this very turn has begun already: its event came twice."""
    task = store.open_task(agent.name, session)
    first = next(iter(store.events(task)), {}) if task is not None else {}
    return any(k in facts and first.get(k) == facts[k] for k in TURN)


def _tool(agent: Agent, kind: str, payload: Payload, store: Store, session: str, when: Payload) -> None:
    tool, given = str(payload.get("tool_name")), payload.get("tool_input")
    given = given if isinstance(given, Mapping) else {}
    call = payload.get("tool_use_id") or payload.get("call_id")
    event: dict[str, Any] = {"event": kind, "tool": tool, "call": call, "cwd": payload.get("cwd"), **when}
    by_patch = str(given.get("command")).lstrip().startswith("apply_patch")
    if tool in agent.shell and not by_patch:
        event |= {"command": given.get("command"), "output": _response(payload.get("tool_response")) if kind == "after" else None}
    elif tool in agent.edits or by_patch:
        paths = _paths(given)
        secret = next((path for path in paths if SECRET.search(path)), None)
        event |= {"secret": secret} if secret is not None else {"files": {path: _content(path, payload, store) for path in paths}}
    elif tool.startswith("mcp_") and (skill := tool.partition(SKILL)[2]):
        event |= {"skill": skill, "given": given, "output": _response(payload.get("tool_response")) if kind == "after" else None}
    else:
        return
    store.add(agent.name, session, event)


def _paths(given: Payload) -> list[str]:
    """The files that an edit names: by themselves, or in a patch."""
    path = given.get("file_path") or given.get("notebook_path")
    if isinstance(path, str):
        return [path]
    patch = next((v for v in (given.get("command"), given.get("input"), given.get("patch")) if isinstance(v, str)), "")
    marks = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
    return [line.partition(": ")[2].strip() for line in patch.split("\n") if line.startswith(marks)]


def _content(path: str, payload: Payload, store: Store) -> list[str] | None:
    """Mode and digest of a file as it is now; None where there is none."""
    where = Path(str(payload.get("cwd") or "")) / path
    try:
        info = where.stat()
        return [f"{info.st_mode & 0o7777:04o}", store.objects.put(where.read_bytes())]
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def _response(response: object) -> Any:
    """What a command printed, as the agent told it, of bounded size."""
    if isinstance(response, Mapping):
        return {k: v[:MOST_TEXT] if isinstance(v, str) else v for k, v in response.items()}
    return response[:MOST_TEXT] if isinstance(response, str) else response


def default_store() -> Path:
    """Where hooks keep what they see, unless told otherwise."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "skill-assay" / "hooks"

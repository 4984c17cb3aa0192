"""SWE-agent trajectories (``.traj``): actions that are plain shell become steps.

Source of the format: trajectories and test data in SWE-agent's own repository, versions 0 and 1: a JSON object with
``trajectory`` (steps of ``action``, ``observation``, ``state``, in version 1 also ``execution_time``), ``info``, ``history`` and,
in version 1, ``replay_config``. Version 0 keeps the state *before* an action, as JSON text; version 1 the one *after* it, as an
object, and its observations come from a terminal, with carriage returns. Demonstrations have a ``history`` only: no recordings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synth.importers.common import Builder, Dropped, ImportReport, UnknownFormat, content_text, known_version, task_id_for
from verifiers.evidence import iter_records
from verifiers.interface import EvidenceError

VERSIONS = (0, 1)
_LOOKING = frozenset(
    {"open", "goto", "scroll_up", "scroll_down", "search_dir", "search_file", "find_file", "filemap", "view_image", "state"}
)
_CHANGING = frozenset({"edit", "create", "insert", "undo_edit", "str_replace_editor", "edit_anthropic"})
_VIEW = "str_replace_editor view "
_ENDING = frozenset({"submit", "exit_cost", "exit_context", "exit_format", "exit_forfeit", "exit", "exit_error"})
_REFUSED = ("and was NOT executed.", "is not supported by this environment")
"""What SWE-agent's own answers to a command that it did not run have in common."""
_SPOILT = re.compile(r"EXECUTION TIMED OUT\Z|was cancelled because it took more than|COMMAND OUTPUT EXCEEDED WINDOW")
_PROMPT = re.compile(r"^\(Current directory: (/[^\n]*)\)$", re.MULTILINE)


def looks_like(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("trajectory"), list)


def read(path: Path) -> ImportReport:
    """The trace of a trajectory file.

    Raises:
        EvidenceError: the file is not JSON.
        UnknownFormat: another major version, or steps without action and observation.
    """
    report = ImportReport("swe-agent", sessions=1)
    for where, record in iter_records(path):
        report += _one(where, record, path)
    return report


def _one(where: str, record: Mapping[str, Any], path: Path) -> ImportReport:
    info = record.get("info")
    info = info if isinstance(info, Mapping) else {}
    known_version(info.get("swe_agent_version"), VERSIONS, "SWE-agent", where)
    steps = record.get("trajectory")
    if not isinstance(steps, list) or not all(isinstance(s, Mapping) and "action" in s and "observation" in s for s in steps):
        raise UnknownFormat("is no SWE-agent trajectory: each step needs an action and an observation", "", where)
    description = _description(record) or path.stem
    builder = Builder(task_id_for(path.stem, description), description, where)
    builder.metadata |= {
        "source": "swe-agent",
        "environment": record.get("environment"),
        "version": info.get("swe_agent_version"),
    }
    dropped: list[Dropped] = []
    root = _root(record, steps)
    if root is not None:
        builder.metadata["workspace_root"] = root
    for number, step in enumerate(steps):
        at = f"{where} step {number + 1}"
        action, observation = str(step["action"]).strip("\n"), _plain(str(step["observation"] or ""))
        name = (action.split() or [""])[0]
        if name in _CHANGING and not action.startswith(_VIEW):
            why = f"step {number + 1} changed a file with SWE-agent's own {name!r}, which a shell cannot repeat"
            return ImportReport("swe-agent", dropped=(*dropped, Dropped(where, "trace", why)))
        if name in _ENDING or name in _LOOKING or name in _CHANGING or not name:
            dropped.append(Dropped(at, "step", f"{name or 'an empty action'} is a command of SWE-agent, not of a shell"))
            continue
        if any(mark in observation for mark in _REFUSED):
            dropped.append(Dropped(at, "step", "SWE-agent refused the command: it never ran"))
            continue
        if _SPOILT.search(observation):
            why = f"step {number + 1} ran out of time or printed more than the trajectory keeps"
            return ImportReport("swe-agent", dropped=(*dropped, Dropped(where, "trace", why)))
        builder.step(action, observation if not observation or observation.endswith("\n") else observation + "\n")
    return _finish(builder, info, where, dropped, _seconds(steps))


def _plain(observation: str) -> str:
    """An observation without the carriage returns of a terminal: only where every line has one."""
    return observation.replace("\r\n", "\n") if observation.count("\r\n") == observation.count("\n") else observation


def _seconds(steps: list[Any]) -> float:
    """Of all actions together, where they are recorded."""
    times = [step.get("execution_time") for step in steps]
    return sum(float(t) for t in times if isinstance(t, int | float) and not isinstance(t, bool) and 0 <= t < 1e9)


def _finish(builder: Builder, info: Mapping[str, Any], where: str, dropped: list[Dropped], seconds: float) -> ImportReport:
    if not builder.commands:
        return ImportReport("swe-agent", dropped=(*dropped, Dropped(where, "trace", "no step is a plain shell command")))
    status = str(info.get("exit_status"))
    try:
        trace = builder.build(status.startswith("submitted"), seconds * 1000)
    except EvidenceError as e:
        return ImportReport("swe-agent", dropped=(*dropped, Dropped(where, "trace", e.what)))
    note = "a trajectory counts as done when the agent submitted: whether the patch was right is not in the file"
    return ImportReport("swe-agent", (trace,), (), tuple(dropped), (note,))


def _root(record: Mapping[str, Any], steps: list[Any]) -> str | None:
    """The directory that the first action started in."""
    first = steps[0] if steps else {}
    state = first.get("state")
    if isinstance(state, str):
        return _working_dir(state)
    history = record.get("history")
    for message in history if isinstance(history, list) else []:
        shown = _PROMPT.findall(content_text(message.get("content"))) if isinstance(message, Mapping) and _asked(message) else []
        if shown:
            return str(shown[-1])
    return None if re.search(r"\b(cd|pushd|popd)\b", str(first.get("action"))) else _working_dir(state)


def _asked(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user" and not message.get("is_demo")


def _working_dir(state: object) -> str | None:
    """The working directory in a step's state, which is an object or the JSON text of one."""
    if isinstance(state, str):
        try:
            state = json.loads(state)
        except (ValueError, RecursionError):
            return None
    found = state.get("working_dir") if isinstance(state, Mapping) else None
    return found if isinstance(found, str) and found.startswith("/") else None


def _description(record: Mapping[str, Any]) -> str:
    """The problem statement: from the replay configuration, else from the first message that the user sent."""
    config = record.get("replay_config")
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            config = None
    part = config.get("problem_statement") if isinstance(config, Mapping) else None
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return " ".join(part["text"].split())[:500]
    history = record.get("history")
    for message in history if isinstance(history, list) else []:
        if isinstance(message, Mapping) and _asked(message):
            text = content_text(message.get("content"))
            found = re.search(r"ISSUE:\n(.*?)\n\n?INSTRUCTIONS", text, re.DOTALL)
            return " ".join((found[1] if found else text).split())[:500]
    return ""

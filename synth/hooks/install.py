"""Hooks put into an agent's settings beside what a person has there, and taken out again without a trace."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from synth.files import write_atomic
from synth.hooks.agents import Agent, Kind
from synth.hooks.notes import bytes_of, digest, find, note_file, put, restore
from synth.hooks.spool import SPOOL
from verifiers.interface import ConfigError

MARK = "assay-hook"
"""A word of every command of ours: what has it is ours to take out."""
_TIMEOUT_S = 30
"""After which an agent goes on without its hook: far more than one takes."""


Way = Literal["start", "request", "before", "note", "now", "end"]
"""How an event is taken (``hook.sh``)."""


def hook_command(agent: Agent, store: Path, way: Way = "now") -> str:
    """The shell text that an agent runs for an event. Its exit code is 0 whatever is gone by then: others stop some agents."""
    script, entry = (str(Path(__file__).with_name(name)) for name in ("hook.sh", "entry.py"))
    words = ["sh", script, MARK, "--agent", agent.name, "--store", str(store), way, sys.executable, entry, agent.answer]
    return f"{shlex.join(words)} || true"


def _calls(agent: Agent, kind: Kind) -> list[tuple[Way, dict[str, str]]]:
    """How the events of a kind are taken, and which tools they are about."""
    if kind in ("start", "request", "end"):
        return [(kind, {})]
    return [("before" if kind == "before" else "note", {"matcher": agent.commands}), ("now", {"matcher": agent.files})]


def install(agent: Agent, place: Path, store: Path) -> Path:
    """Adds our hooks to an agent's settings and returns the file. Again: brings them up to date.

    Args:
        place: The project, or the home directory for all projects.
        store: Where the hooks keep what they see; absolute.

    Raises:
        ConfigError: the settings are not JSON that can be added to.
    """
    path = (place / agent.settings).resolve()  # many keep the file elsewhere, behind a link
    if (earlier := store_of(agent, place)) is not None and earlier != store:
        uninstall(agent, place, earlier)  # it knows what was there before
    before = bytes_of(path)
    settings = _without(_parsed(path, before))
    hooks = settings.setdefault("hooks", {})
    for event, kind in agent.events.items():
        timeout = _TIMEOUT_S * (1000 if agent.name == "gemini-cli" else 1)
        for way, about in _calls(agent, kind):
            call = {"type": "command", "command": hook_command(agent, store, way), "timeout": timeout}
            hooks.setdefault(event, []).append({**about, "hooks": [call]})
    for directory in (store, store / SPOOL):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = (json.dumps(settings, indent=_indent(before), ensure_ascii=False) + "\n").encode()
    put(store, agent.name, path, data)
    return path


def uninstall(agent: Agent, place: Path, store: Path) -> bool:
    """Takes our hooks out. A file that is as we left it becomes what it was; one that was edited since loses only what is ours.

    Returns:
        Whether there was anything of ours.
    """
    path = (place / agent.settings).resolve()
    note, now = find(store, path), bytes_of(path)
    note_file(store, path).unlink(missing_ok=True)
    if now is None:
        return False
    if note is not None and digest(now) == note.after:
        restore(path, note)
        return True
    settings = _parsed(path, now)
    rest = _without(settings)
    if json.dumps(rest) == json.dumps(settings):
        return False
    if not rest and note is not None and note.before is None:
        restore(path, note)
    else:
        write_atomic(path, (json.dumps(rest, indent=_indent(now), ensure_ascii=False) + "\n").encode())
    return True


def is_installed(agent: Agent, place: Path) -> bool:
    """Whether the settings have our hooks."""
    data = bytes_of(place / agent.settings)
    return data is not None and f" {MARK} --agent {agent.name} ".encode() in data


def store_of(agent: Agent, place: Path) -> Path | None:
    """Where installed hooks keep what they see; None where none are, or their text is not ours."""
    try:
        groups = chain(*_parsed(place / agent.settings, bytes_of(place / agent.settings)).get("hooks", {}).values())
        found = [g["hooks"] for g in groups if isinstance(g, dict) and isinstance(g.get("hooks"), list)]
        words = shlex.split(next(call["command"] for call in chain(*found) if _is_ours(call)))
        return Path(words[words.index("--store") + 1])
    except (ConfigError, LookupError, StopIteration, ValueError):
        return None


# ---------------------------------------------------------------- settings


def _parsed(path: Path, data: bytes | None) -> dict[str, Any]:
    if data is None or not data.strip():
        return {}
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except ValueError as e:
        what = f"is not JSON that hooks can be added to ({e})"
        raise ConfigError(what, "Remove comments, or add the hooks by hand", path) from e
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(v, list) for v in hooks.values()):
        raise ConfigError("has 'hooks' of another form than this agent's", "Correct it first", path)
    return dict(found)


def _without(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without hooks of ours, and without what is empty for it."""
    if "hooks" not in settings:
        return settings
    hooks = {event: list(_others(groups)) for event, groups in settings["hooks"].items()}
    kept = {event: groups for event, groups in hooks.items() if groups or not settings["hooks"][event]}
    rest = {**settings, "hooks": kept}
    if not kept and settings["hooks"]:
        del rest["hooks"]
    return rest


def _others(groups: list[Any]) -> Iterator[Any]:
    for group in groups:
        calls = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(calls, list) or not any(map(_is_ours, calls)):
            yield group
            continue
        rest = [call for call in calls if not _is_ours(call)]
        if rest:
            yield {**group, "hooks": rest}


def _is_ours(call: object) -> bool:
    return isinstance(call, dict) and f" {MARK} " in str(call.get("command"))


def _indent(data: bytes | None) -> int | str:
    """The indentation that a file has: two blanks where it has none."""
    lines = data.decode("utf-8", "replace").split("\n")[1:2] if data else []
    blank = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
    return "\t" if blank.startswith("\t") else len(blank) or 2

"""Hooks put into an agent's settings beside what a person has there, and taken out again without a trace."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.files import write_atomic
from synth.hooks.agents import Agent
from verifiers.interface import ConfigError

MARK = "assay-hook"
"""A word of every command of ours: what has it is ours to take out."""
_TIMEOUT_S = 30
"""After which an agent goes on without its hook: far more than one takes."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What one settings file was before we changed it."""

    agent: str
    settings: Path
    before: bytes | None
    """None = there was no such file."""
    after: str
    """Digest of what we left."""
    made: tuple[str, ...]
    """Directories that we made for it, innermost first."""


def hook_command(agent: Agent, store: Path) -> str:
    """The shell text that an agent runs for each event."""
    entry = Path(__file__).with_name("entry.py")
    words = [sys.executable, "-I", "-S", str(entry), MARK, "--agent", agent.name, "--store", str(store)]
    return shlex.join(words)


def install(agent: Agent, place: Path, store: Path) -> Path:
    """Adds our hooks to an agent's settings and returns the file. Again: brings them up to date.

    Args:
        place: The project, or the home directory for all projects.
        store: Where the hooks keep what they see; absolute.

    Raises:
        ConfigError: the settings are not JSON that can be added to.
    """
    path = place / agent.settings
    known = find(store, path)
    before = _bytes(path)
    settings = _without(_parsed(path, before))
    hooks = settings.setdefault("hooks", {})
    for event, kind in agent.events.items():
        about_tools = {"matcher": agent.tools} if kind in ("before", "after") else {}
        timeout = _TIMEOUT_S * (1000 if agent.name == "gemini-cli" else 1)
        call = {"type": "command", "command": hook_command(agent, store), "timeout": timeout}
        hooks.setdefault(event, []).append({**about_tools, "hooks": [call]})
    data = (json.dumps(settings, indent=_indent(before), ensure_ascii=False) + "\n").encode()
    made = tuple(str(p) for p in _missing(path.parent))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)
    first = known if known is not None and before is not None and _digest(before) == known.after else None
    note = Installed(
        agent.name, path, first.before if first is not None else before, _digest(data), first.made if first is not None else made
    )
    _remember(store, note)
    return path


def uninstall(agent: Agent, place: Path, store: Path) -> bool:
    """Takes our hooks out. A file that is as we left it becomes what it was; one that was edited since loses only what is ours.

    Returns:
        Whether there was anything of ours.
    """
    path = place / agent.settings
    note, now = find(store, path), _bytes(path)
    _note_file(store, path).unlink(missing_ok=True)
    if now is None:
        return False
    if note is not None and _digest(now) == note.after:
        _restore(path, note)
        return True
    settings = _parsed(path, now)
    rest = _without(settings)
    if json.dumps(rest) == json.dumps(settings):
        return False
    if not rest and note is not None and note.before is None:
        _restore(path, note)
    else:
        write_atomic(path, (json.dumps(rest, indent=_indent(now), ensure_ascii=False) + "\n").encode())
    return True


def _restore(path: Path, note: Installed) -> None:
    if note.before is not None:
        write_atomic(path, note.before)
        return
    path.unlink()
    for directory in map(Path, note.made):
        if directory.is_dir() and not any(directory.iterdir()):
            directory.rmdir()


def is_installed(agent: Agent, place: Path) -> bool:
    """Whether the settings have our hooks."""
    data = _bytes(place / agent.settings)
    return data is not None and f" {MARK} --agent {agent.name} ".encode() in data


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


# ---------------------------------------------------------------- what was there before


def find(store: Path, settings: Path) -> Installed | None:
    """What is known of a settings file."""
    try:
        note = json.loads(_note_file(store, settings).read_bytes())
        before = base64.b64decode(note["before"]) if note["before"] is not None else None
        return Installed(note["agent"], Path(note["settings"]), before, note["after"], tuple(note["made"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(store: Path, note: Installed) -> None:
    file = _note_file(store, note.settings)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    before = base64.b64encode(note.before).decode() if note.before is not None else None
    doc = {"agent": note.agent, "settings": str(note.settings), "before": before, "after": note.after, "made": note.made}
    write_atomic(file, json.dumps(doc).encode(), 0o600)


def _note_file(store: Path, settings: Path) -> Path:
    return store / "installed" / f"{_digest(str(settings).encode('utf-8', 'surrogateescape'))[:16]}.json"


def _missing(directory: Path) -> Iterator[Path]:
    while not directory.exists():
        yield directory
        directory = directory.parent


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

"""What a file was before we changed it, kept in the store until the change is taken back."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from synth.files import write_atomic


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


def put(store: Path, agent: str, path: Path, data: bytes) -> None:
    """Writes a changed file, with the directories that it needs, and remembers what it was before our first change."""
    known, before = find(store, path), bytes_of(path)
    made = tuple(str(p) for p in _missing(path.parent))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)
    ours = known if known is not None and before is not None and digest(before) == known.after else None
    _remember(store, Installed(agent, path, ours.before if ours else before, digest(data), ours.made if ours else made))


def restore(path: Path, note: Installed) -> None:
    """Makes a file what it was; one that was not there goes, with the directories that were made for it."""
    if note.before is not None:
        write_atomic(path, note.before)
        return
    path.unlink()
    for directory in map(Path, note.made):
        if directory.is_dir() and not any(directory.iterdir()):
            directory.rmdir()


def find(store: Path, settings: Path) -> Installed | None:
    """What is known of a settings file."""
    try:
        note = json.loads(note_file(store, settings).read_bytes())
        before = base64.b64decode(note["before"]) if note["before"] is not None else None
        return Installed(note["agent"], Path(note["settings"]), before, note["after"], tuple(note["made"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(store: Path, note: Installed) -> None:
    file = note_file(store, note.settings)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    before = base64.b64encode(note.before).decode() if note.before is not None else None
    doc = {"agent": note.agent, "settings": str(note.settings), "before": before, "after": note.after, "made": note.made}
    write_atomic(file, json.dumps(doc).encode(), 0o600)


def note_file(store: Path, settings: Path) -> Path:
    return store / "installed" / f"{digest(str(settings).encode('utf-8', 'surrogateescape'))[:16]}.json"


def _missing(directory: Path) -> Iterator[Path]:
    while not directory.exists():
        yield directory
        directory = directory.parent


def bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

"""Directories and files put in place whole or not at all, and digests of what lies in a directory."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileFact:
    """One path of a directory tree. Symbolic links and empty directories count too; times and owners do not."""

    kind: str
    """``file``, ``link``, ``dir`` (empty ones only) or ``other``."""
    mode: str
    """Four octal digits; of a link ``0777``."""
    size: int
    sha256: str
    """Of a file's content or of a link's target; of an empty directory ``""``."""


Manifest = Mapping[str, FileFact]


def sync_directory(path: Path) -> None:
    """Makes the names in a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_atomic(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replaces one file in one step: a reader sees the old bytes or the new ones.

    Args:
        path: The file; its directory must exist.
        data: The whole new content.
        mode: Permission bits; None = those of the file that is there, else 0644.

    Raises:
        OSError: nothing was changed.
    """
    if mode is None:
        mode = stat.S_IMODE(path.stat().st_mode) if path.is_file() else 0o644
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(data)
            f.flush()
            os.fchmod(f.fileno(), mode)
            os.fsync(f.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_tree(directory: Path, files: Mapping[str, bytes]) -> None:
    """Creates ``directory`` (which must not exist) with ``files`` (relative POSIX path -> bytes), all synced.

    What begins with ``#!`` is a program (mode 0755), anything else is not (0644).

    Raises:
        OSError: the directory may then hold a part of the files; the caller removes it.
        ValueError: a path is absolute or leads outside.
    """
    directory.mkdir(parents=True)
    made = {directory}
    for name, data in sorted(files.items()):
        path = directory / inside(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        made.update(p for p in path.parents if p.is_relative_to(directory))
        with path.open("xb") as f:
            f.write(data)
            f.flush()
            os.fchmod(f.fileno(), _mode(data))
            os.fsync(f.fileno())
    for each in sorted(made, reverse=True):
        sync_directory(each)


def _mode(data: bytes) -> int:
    return 0o755 if data.startswith(b"#!") else 0o644


def _kept_mode(mode: int) -> int:
    """A mode as git and other umasks leave it: whether the owner may run it (a directory: enter it), and special bits."""
    return mode & 0o7000 | (0o755 if mode & stat.S_IXUSR else 0o644)


def inside(name: str) -> str:
    """``name``, if it is a clean relative path.

    Raises:
        ValueError: it is absolute, empty, or has ``.`` or ``..`` parts.
    """
    if name.startswith("/") or {"", ".", ".."} & set(name.split("/")) or "\0" in name:
        raise ValueError(f"{name!r} is not a clean relative path")
    return name


def manifest(directory: Path) -> dict[str, FileFact]:
    """Every file, link and empty directory below ``directory``, by relative POSIX path, in path order. Links are not followed.

    Of a mode it counts who may run a file, not who may read it: that is the umask's of whoever copied it.

    Raises:
        OSError: the directory is missing or cannot be read.
    """
    found: dict[str, FileFact] = {}
    _scan(directory, "", found)
    return dict(sorted(found.items()))


def _scan(directory: Path, prefix: str, found: dict[str, FileFact]) -> None:
    with os.scandir(directory) as entries:
        for entry in entries:
            name = f"{prefix}{entry.name}"
            info = entry.stat(follow_symlinks=False)
            mode = f"{_kept_mode(info.st_mode):04o}"
            if entry.is_symlink():
                target = os.fsencode(Path(entry.path).readlink())
                found[name] = FileFact("link", "0777", len(target), hashlib.sha256(target).hexdigest())
            elif entry.is_dir():
                below = len(found)
                _scan(Path(entry.path), f"{name}/", found)
                if len(found) == below:
                    found[name] = FileFact("dir", mode, 0, "")
            elif entry.is_file():
                data = Path(entry.path).read_bytes()
                found[name] = FileFact("file", mode, len(data), hashlib.sha256(data).hexdigest())
            else:
                found[name] = FileFact("other", mode, 0, "")


def manifest_of(files: Mapping[str, bytes]) -> dict[str, FileFact]:
    """What ``manifest`` says of the directory that ``write_tree`` makes of ``files``."""
    return {
        name: FileFact("file", f"{_mode(data):04o}", len(data), hashlib.sha256(data).hexdigest())
        for name, data in sorted(files.items())
    }


def manifest_digest(facts: Manifest) -> str:
    """SHA-256 (hex) over a manifest: path, kind, mode, size and content of everything."""
    lines = [[path, f.kind, f.mode, f.size, f.sha256] for path, f in sorted(facts.items())]
    return hashlib.sha256(json.dumps(lines, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()

"""A directory as a snapshot, and effects copied back into one: never outside it, each file whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from sandbox.interface import ROOT, Effect, Entry, EntryType, Snapshot
from verifiers.interface import AssayError

MAX_BYTES = 512 << 20
MAX_ENTRIES = 200_000


class WorkspaceError(AssayError, OSError):
    """A workspace that cannot be read whole, or effects that cannot be copied back."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory as it was at one moment, for the ``workspace`` and ``post_workspace`` of a recording."""

    snapshot: Snapshot

    @classmethod
    def from_directory(cls, directory: Path | str) -> Workspace:
        """Everything below a directory: files with content and mode, directories, links (not followed).

        Raises:
            WorkspaceError: not a directory, unreadable, or larger than 512 MiB or 200,000 paths.
        """
        return cls(snapshot_of(Path(directory)))

    def to_json(self) -> dict[str, Any]:
        """The object of the trace format: path -> ``{"type", "mode", "content_b64" | "target"}``."""
        return self.snapshot.to_json()


def snapshot_of(directory: Path) -> Snapshot:
    """Everything below ``directory``, links not followed, with the directory's own mode under ``ROOT``.

    Raises:
        WorkspaceError: not a directory, unreadable, or larger than a snapshot may be.
    """
    if not directory.is_dir():
        raise WorkspaceError("is not a directory", "Give the directory that the skill should work on", directory)
    entries: dict[str, Entry] = {ROOT: Entry("dir", stat.S_IMODE(directory.stat().st_mode))}
    size = 0
    for path in _walk(directory):
        name = path.relative_to(directory).as_posix()
        try:
            entries[name] = _entry(path)
        except OSError as e:
            raise WorkspaceError(
                f"cannot be read: {e.strerror}", "Make it readable, or work on a directory without it", path
            ) from e
        size += len(entries[name].content)
        if size > MAX_BYTES or len(entries) > MAX_ENTRIES:
            what = f"holds more than {MAX_BYTES >> 20} MiB or {MAX_ENTRIES} paths"
            raise WorkspaceError(what, "Give a smaller directory", directory)
    return Snapshot(entries)


def _walk(directory: Path) -> Iterator[Path]:
    def refuse(e: OSError) -> None:
        raise WorkspaceError(
            f"cannot be listed: {e.strerror}", "Make it readable, or work on a directory without it", e.filename
        ) from e

    for top, dirs, files in os.walk(directory, onerror=refuse):
        dirs.sort()
        yield from (Path(top, name) for name in sorted([*dirs, *files]))


def _entry(path: Path) -> Entry:
    info = path.lstat()
    mode = stat.S_IMODE(info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        return Entry("symlink", 0o777, target=str(path.readlink()))
    if stat.S_ISDIR(info.st_mode):
        return Entry("dir", mode)
    if not stat.S_ISREG(info.st_mode):
        return Entry(_special(info.st_mode), mode)
    if info.st_size > MAX_BYTES:
        raise OSError(27, f"larger than {MAX_BYTES >> 20} MiB", str(path))
    return Entry("file", mode, path.read_bytes())


def _special(mode: int) -> EntryType:
    return "fifo" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"


def apply(changes: Sequence[Effect], directory: Path) -> None:
    """Makes ``changes`` happen in ``directory``: new content is written beside first, then put in place; removals, modes last.

    Nothing is changed where a path is not what it was when the copy was taken, or where there is no room for all that is new.
    Every path is reached from the directory's own descriptor without following a link, so that nothing outside can be touched.
    Set-user-ID and set-group-ID bits are left out.

    Raises:
        WorkspaceError: a path changed meanwhile, is special, or could not be written (then nothing goes that was there).
    """
    top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for change in changes:
            _require_unchanged(top, change)
        _Application(top, directory, {c.path: c for c in changes}).run()
    finally:
        os.close(top)


@dataclass
class _Application:
    """Effects on their way into a directory. Until all that is new is in its place, what was done is taken back on an error."""

    top: int
    directory: Path
    changes: Mapping[str, Effect]
    aside: dict[str, str] = field(default_factory=dict)
    """Where something of another type was moved that is in the way."""
    _token: str = field(default_factory=lambda: secrets.token_hex(4))
    _names: Iterator[int] = field(default_factory=count)

    def run(self) -> None:
        leaves = [p for p, c in self.changes.items() if c.after is not None and c.after.type != "dir"]
        folders = [p for p, c in self.changes.items() if c.after is not None and c.after.type == "dir"]
        with ExitStack() as undo:
            with self._told("Nothing was applied: make room, or see to the permissions") as at:
                staged = {path: self._staged(at(path), undo) for path in sorted(leaves)}
                for path in sorted(p for p, c in self.changes.items() if _other_type(c)):
                    self._put_aside(at(path), undo)
                for path in sorted(p for p in folders if self._is_new(p)):
                    self._make(at(path), undo)
            with self._told("Compare it with the listed effects") as at:
                for path, temporary in staged.items():
                    self._place(at(path), temporary, undo)
            undo.pop_all()
        with self._told("All that is new is there, not everything else: compare it with the listed effects") as at:
            for path in sorted((p for p, c in self.changes.items() if _goes(c)), reverse=True):
                _remove(self.top, self._now_at(at(path)))
            # Modes of directories last, deepest first: a read-only directory must not refuse its own content.
            for path in sorted(folders, reverse=True):
                _chmod(self.top, at(path), self.changes[path])

    @contextmanager
    def _told(self, advice: str) -> Iterator[Callable[[str], str]]:
        """Says of an error which path it is about: the last one that went through the function."""
        last = [""]

        def at(path: str) -> str:
            last[0] = path
            return path

        try:
            yield at
        except WorkspaceError:
            raise
        except OSError as e:
            raise WorkspaceError(f"could not be applied: {e.strerror}", advice, self.directory / last[0]) from e

    def _is_new(self, path: str) -> bool:
        before = self.changes[path].before
        return before is None or before.type != "dir"

    def _beside(self, path: str) -> str:
        """A free name in the nearest directory above ``path`` that is there and stays: on the same disk, for a rename."""
        parent = path.rpartition("/")[0]
        while parent in self.changes and self._is_new(parent):
            parent = parent.rpartition("/")[0]
        name = f".assay-{self._token}-{next(self._names)}"
        return f"{parent}/{name}" if parent else name

    def _staged(self, path: str, undo: ExitStack) -> str:
        """Writes what a path will be under a name beside it."""
        after, temporary = self.changes[path].after, self._beside(path)
        assert after is not None
        with _parent(self.top, temporary) as (parent, name):
            if after.type == "symlink":
                os.symlink(after.target, name, dir_fd=parent)
                undo.callback(_discard, self.top, temporary)
                return temporary
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=parent)
            undo.callback(_discard, self.top, temporary)
            with os.fdopen(fd, "wb") as f:
                f.write(after.content)
                f.flush()
                os.fchmod(f.fileno(), after.mode & 0o1777)
                os.fsync(f.fileno())
        return temporary

    def _put_aside(self, path: str, undo: ExitStack) -> None:
        aside = self._beside(path)
        _move(self.top, path, aside)
        self.aside[path] = aside
        undo.callback(_move, self.top, aside, path)

    def _make(self, path: str, undo: ExitStack) -> None:
        with _parent(self.top, path) as (parent, name):
            os.mkdir(name, 0o700, dir_fd=parent)
        undo.callback(_discard, self.top, path)

    def _place(self, path: str, temporary: str, undo: ExitStack) -> None:
        _move(self.top, temporary, path)
        change = self.changes[path]
        if change.before is None or _other_type(change):
            undo.callback(_discard, self.top, path)

    def _now_at(self, path: str) -> str:
        """Where that is now which was at ``path``."""
        for old, new in self.aside.items():
            if path == old or path.startswith(f"{old}/"):
                return new + path[len(old) :]
        return path


def _other_type(change: Effect) -> bool:
    return change.before is not None and change.after is not None and change.after.type != change.before.type


def _goes(change: Effect) -> bool:
    """Whether what was there is there no more, in any form."""
    return change.before is not None and (change.after is None or _other_type(change))


def _require_unchanged(top: int, change: Effect) -> None:
    if change.after is not None and change.after.type in ("fifo", "socket", "device"):
        raise WorkspaceError(f"{change.path} would become a {change.after.type}", "Such effects are not copied back")
    current = _current(top, change.path)
    if current != change.before:
        raise WorkspaceError(f"{change.path} changed while the skill ran on the copy", "Nothing was applied: run it again")


def _current(top: int, path: str) -> Entry | None:
    try:
        with _parent(top, path) as (parent, name):
            info = os.stat(name, dir_fd=parent, follow_symlinks=False)
            mode = stat.S_IMODE(info.st_mode)
            if stat.S_ISLNK(info.st_mode):
                return Entry("symlink", 0o777, target=os.readlink(name, dir_fd=parent))
            if stat.S_ISDIR(info.st_mode):
                return Entry("dir", mode)
            if not stat.S_ISREG(info.st_mode):
                return Entry(_special(info.st_mode), mode)
            with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent), "rb") as f:
                return Entry("file", mode, f.read())
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def _parent(top: int, path: str) -> Iterator[tuple[int, str]]:
    """The open parent directory of ``path`` below ``top``, reached without following links, and the last name."""
    *parents, name = path.split("/")
    if not name or ".." in (*parents, name):
        raise WorkspaceError(f"{path!r} is not a path inside the workspace")
    fd = os.dup(top)
    try:
        for part in parents:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd, name
    finally:
        os.close(fd)


def _remove(top: int, path: str) -> None:
    with _parent(top, path) as (parent, name):
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode):
            os.rmdir(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)


def _discard(top: int, path: str) -> None:
    """Removes what we made, if it is still there."""
    with suppress(OSError):
        _remove(top, path)


def _move(top: int, path: str, to: str) -> None:
    with _parent(top, path) as (parent, name), _parent(top, to) as (new_parent, new_name):
        os.replace(name, new_name, src_dir_fd=parent, dst_dir_fd=new_parent)


def _chmod(top: int, path: str, change: Effect) -> None:
    assert change.after is not None
    mode = change.after.mode & 0o1777
    if path == ROOT:
        os.fchmod(top, mode)
        return
    with _parent(top, path) as (parent, name):
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            os.fchmod(fd, mode)
        finally:
            os.close(fd)


def write_tree(snapshot: Snapshot, directory: Path) -> None:
    """Writes a snapshot into a new directory, to look at. Special files become empty files named so."""
    directory.mkdir(parents=True)
    for path, entry in snapshot.items():
        target = directory if path == ROOT else directory / path
        if path == ROOT:
            continue
        if entry.type == "dir":
            target.mkdir(exist_ok=True)
        elif entry.type == "symlink":
            target.symlink_to(entry.target)
        elif entry.type == "file":
            target.write_bytes(entry.content)
            target.chmod(entry.mode & 0o777)
        else:
            target.with_name(f"{target.name}.{entry.type}").touch()

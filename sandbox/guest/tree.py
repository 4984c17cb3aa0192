"""A workspace as a list of entries: written to disk, read back, removed. Guest side; standard library only.

An entry is ``[path, type, mode, ref]``: type is one of ``file dir symlink fifo socket device link``, ref the sha256 of a
file's content, the target of a symbolic link, the first path of the file that a ``link`` is another name of, or empty.
Paths are relative, POSIX, with surrogateescape for bytes that are not UTF-8.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

FIXED_TIME_NS = 1_600_000_000 * 10**9
"""One mtime for everything that is materialised, so that no time stamp tells one run from another."""

MAX_ENTRIES = 50_000
MAX_DEPTH = 100
MAX_SCAN_BYTES = 96 << 20
WIPE_BUDGET = 20_000

ROOT = "."

_TYPES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}


class WireEntry(NamedTuple):
    path: str
    type: str
    mode: int
    ref: str


class TooMuch(Exception):
    """A tree that is not worth emptying: the container is replaced instead."""


# ---------------------------------------------------------------- writing


def creation_order(paths: Iterable[str], order: str) -> list[str]:
    """Paths in the order in which they are created: ``sorted``, ``reversed`` or ``shuffled:<seed>``, parents first."""
    wanted = sorted(paths)
    if order == "sorted":
        return wanted  # a parent's path is the beginning of its children's
    if order == "reversed":
        wanted.reverse()
    elif order.startswith("shuffled:"):
        random.Random(int(order.partition(":")[2])).shuffle(wanted)
    done: dict[str, None] = {}
    known = set(wanted)
    for path in wanted:
        missing = []
        at = path
        while at and at not in done:
            if at in known:
                missing.append(at)
            at = at.rpartition("/")[0]
        for ancestor in reversed(missing):
            done[ancestor] = None
    return list(done)


def materialise(root: str, entries: Iterable[WireEntry], blob: Callable[[str], bytes], order: str = "sorted") -> None:
    """Writes entries below ``root``, an empty directory that the caller owns.

    The caller's umask must be 0. Raises OSError where the disk is too small or an entry cannot be made.
    """
    table = {e.path: e for e in entries}
    directories, names = [], []
    for path in creation_order((p for p in table if p != ROOT), order):
        entry = table[path]
        where = f"{root}/{path}"
        if entry.type == "dir":
            os.mkdir(where, 0o700)
            directories.append((where, entry.mode))
        elif entry.type == "file":
            _write_file(where, entry.mode, blob(entry.ref))
        elif entry.type == "link":
            names.append((f"{root}/{entry.ref}", where))
        elif entry.type == "symlink":
            os.symlink(entry.ref, where)
            os.utime(where, ns=(FIXED_TIME_NS, FIXED_TIME_NS), follow_symlinks=False)
        else:
            os.mkfifo(where, entry.mode)
            os.utime(where, ns=(FIXED_TIME_NS, FIXED_TIME_NS))
    for file, name in names:
        os.link(file, name, follow_symlinks=False)
    root_mode = table[ROOT].mode if ROOT in table else 0o755
    for where, mode in [*sorted(directories, reverse=True), (root, root_mode)]:
        os.utime(where, ns=(FIXED_TIME_NS, FIXED_TIME_NS))
        os.chmod(where, mode)


def _write_file(where: str, mode: int, content: bytes) -> None:
    fd = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        written = os.write(fd, content) if content else 0
        while written < len(content):
            written += os.write(fd, memoryview(content)[written:])
        if mode & 0o7000:
            os.fchmod(fd, mode)  # a write clears setuid and setgid
        os.utime(fd, ns=(FIXED_TIME_NS, FIXED_TIME_NS))
    finally:
        os.close(fd)


# ---------------------------------------------------------------- reading


def attributes(where: int | str) -> list[str]:
    """Extended attributes and access lists that a job can have set, of a descriptor or path. Labels of the host are not ours."""
    try:
        found = os.listxattr(where)
    except OSError as error:
        return [] if error.errno in (errno.ENOTSUP, errno.ENOSYS) else ["more than can be listed"]
    return [name for name in found if name.startswith(("user.", "system.posix_acl_"))] if found else []


class Scan:
    """What is in a directory, read without following a link or opening anything but regular files and directories."""

    def __init__(self, root: str, base: Mapping[str, WireEntry], blob: Callable[[str], bytes | None]) -> None:
        self.entries: list[WireEntry] = []
        self.contents: dict[str, bytes] = {}
        """sha256 -> content, of every regular file that differs from the base at its path."""
        self.findings: list[str] = []
        self._base, self._blob, self._bytes = base, blob, 0
        self._attributed: list[str] = []
        self._inodes: dict[str, tuple[int, int]] = {}
        """Of files that have further names."""
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            info = os.fstat(fd)
            self._device = info.st_dev
            self.entries.append(WireEntry(ROOT, "dir", stat.S_IMODE(info.st_mode), ""))
            self._look_at(fd, ROOT)
            self._directory(fd, "", 0)
        finally:
            os.close(fd)
        self.entries.sort()
        self._note_links()
        if self._attributed:
            first = min(self._attributed).encode("unicode_escape").decode("ascii")[:300]
            self._finding(f"{len(self._attributed)} extended attributes or access lists, which no snapshot holds ({first})")

    def _look_at(self, fd: int, path: str) -> None:
        if found := attributes(fd):
            self._attributed += [f"{name} of {path}" for name in found]

    def _directory(self, fd: int, prefix: str, depth: int) -> None:
        with os.scandir(fd) as found:
            for item in found:
                if len(self.entries) >= MAX_ENTRIES:
                    self._finding(f"more than {MAX_ENTRIES} entries; the rest is not in the snapshot")
                    return
                info = item.stat(follow_symlinks=False)
                self._entry(fd, item.name, prefix + item.name, info, depth)

    def _entry(self, at: int, name: str, path: str, info: os.stat_result, depth: int) -> None:
        kind = _TYPES.get(stat.S_IFMT(info.st_mode), "device")
        mode, ref = stat.S_IMODE(info.st_mode), ""
        if kind == "symlink":
            mode, ref = 0o777, os.readlink(name, dir_fd=at)
        elif kind == "file":
            ref = self._file(at, name, path, info.st_size)
            if info.st_nlink > 1:
                self._inodes[path] = info.st_dev, info.st_ino
        self.entries.append(WireEntry(path, kind, mode, ref))
        if kind != "dir":
            return
        if depth >= MAX_DEPTH:
            self._finding(f"directories deeper than {MAX_DEPTH} levels; what lies below is not in the snapshot")
            return
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        try:
            self._look_at(fd, path)
            self._directory(fd, path + "/", depth + 1)
        finally:
            os.close(fd)

    def _file(self, at: int, name: str, path: str, size: int) -> str:
        if self._bytes + size > MAX_SCAN_BYTES:
            self._finding(f"files of more than {MAX_SCAN_BYTES} bytes together; some are held without their content")
            stand_in = f"unread {size}".encode()
            ref = hashlib.sha256(stand_in).hexdigest()
            self.contents[ref] = stand_in  # a content is always what its digest says: a lie would outlive this run
            return ref
        self._bytes += size
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        try:
            self._look_at(fd, path)
            content = _read_all(fd, size)
        finally:
            os.close(fd)
        before = self._base.get(path)
        if before is not None and before.type == "file" and self._blob(before.ref) == content:
            return before.ref
        ref = hashlib.sha256(content).hexdigest()
        self.contents[ref] = content
        return ref

    def _note_links(self) -> None:
        """Every further name of a file becomes a ``link`` to its first one."""
        first: dict[tuple[int, int], str] = {}
        for n, entry in enumerate(self.entries if self._inodes else ()):
            inode = self._inodes.get(entry.path)
            if inode is not None and first.setdefault(inode, entry.path) != entry.path:
                self.entries[n] = entry._replace(type="link", ref=first[inode])

    def _finding(self, text: str) -> None:
        if text not in self.findings:
            self.findings.append(text)


def _read_all(fd: int, size: int) -> bytes:
    first = os.read(fd, size + 1)
    if len(first) >= size:
        return first
    chunks = [first]
    while chunk := os.read(fd, 1 << 20):
        chunks.append(chunk)
    return b"".join(chunks)


# ---------------------------------------------------------------- removing


def wipe(root: str, budget: int = WIPE_BUDGET) -> int:
    """Empties a directory without following links; the number of entries removed.

    Raises:
        TooMuch: more entries or deeper than a fresh container is worth.
        OSError: something resisted.
    """
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return _wipe(fd, os.fstat(fd).st_dev, budget, 0)
    finally:
        os.close(fd)


def _wipe(fd: int, device: int, budget: int, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise TooMuch(f"a tree deeper than {MAX_DEPTH} levels")
    with os.scandir(fd) as found:
        items = [(e.name, e.is_dir(follow_symlinks=False)) for e, _ in zip(found, range(budget + 1), strict=False)]
    removed = 0
    for name, is_directory in items:
        if removed >= budget:
            raise TooMuch(f"more than {budget} entries")
        if is_directory:
            removed += _wipe_below(fd, name, device, budget - removed, depth)
        else:
            os.unlink(name, dir_fd=fd)
            removed += 1
    return removed


def _wipe_below(fd: int, name: str, device: int, budget: int, depth: int) -> int:
    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        if os.fstat(below).st_dev != device:
            return 0  # another mount of ours, emptied on its own
        removed = _wipe(below, device, budget, depth + 1)
    finally:
        os.close(below)
    os.rmdir(name, dir_fd=fd)
    return removed + 1

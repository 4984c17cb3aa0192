"""Which workspace files a run opens for reading, seen through inotify: announcing every open would double the run's time.

Guest side. One instance for the life of the container: closing one waits for the kernel, removing a watch does not.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator

_libc = ctypes.CDLL(None, use_errno=True)
_EVENT = struct.Struct("iIII")
OPEN, CLOSE_NOWRITE, CREATE, MOVED_TO, IS_DIR, ONLY_DIR = 0x20, 0x10, 0x100, 0x80, 0x40000000, 0x01000000
_WANTED = OPEN | CLOSE_NOWRITE | CREATE | MOVED_TO | ONLY_DIR
MAX_WATCHES = 2000


class Reads:
    """Watches the directories below a root. ``fd`` is ready when there is something to take. Raises OSError where refused."""

    def __init__(self) -> None:
        self.fd: int = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._paths: dict[int, str] = {}

    def start(self, directories: Iterable[str]) -> None:
        """Watches directories, and those that are made below them, from now on."""
        for path in directories:
            self._add(path)
        self.take()

    def stop(self) -> None:
        """Forgets the tree and what was seen and not taken."""
        for watch in self._paths:
            _libc.inotify_rm_watch(self.fd, watch)
        self._paths = {}
        self.take()

    def take(self) -> list[str]:
        """Paths that were opened for reading and closed since the last time, in that order."""
        found = []
        while data := self._read():
            for watch, mask, name in parse(data):
                path = f"{self._paths.get(watch, '')}/{name}"
                if mask & IS_DIR:
                    if mask & (CREATE | MOVED_TO) and watch in self._paths:
                        self._add(path)
                elif mask & CLOSE_NOWRITE and watch in self._paths:
                    found.append(path)
        return found

    def _read(self) -> bytes:
        try:
            return os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return b""

    def _add(self, path: str) -> None:
        if len(self._paths) < MAX_WATCHES:
            watch = _libc.inotify_add_watch(self.fd, os.fsencode(path), _WANTED)
            if watch >= 0:
                self._paths[watch] = path


def parse(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Watch, mask and name of each event."""
    at = 0
    while at + _EVENT.size <= len(data):
        watch, mask, _, size = _EVENT.unpack_from(data, at)
        at += _EVENT.size
        yield watch, mask, os.fsdecode(data[at : at + size].rstrip(b"\0"))
        at += size

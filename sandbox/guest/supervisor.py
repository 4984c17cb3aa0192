"""Answers the announced calls of one run: notes them in order, lets them go on, makes one fail, or ends the run there.

Guest side. One instance a run; calls of all its processes come through ``answer`` one after another.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sandbox.guest import memory, syscalls
from sandbox.guest.seccomp import WRITES

_NOTIFICATION = struct.Struct("<QIIiIQ6Q")
_RESPONSE = struct.Struct("<QqiI")
RECEIVE, SEND, STILL_VALID = 0xC0502100, 0xC0182101, 0x40082102
_CONTINUE = 1
_SYNC_WAKE_UP = 0x40082104
MAX_LOG = 20_000

_NEVER_INSIDE = ("/usr/", "/lib/", "/lib64/", "/etc/", "/bin/")
"""Read-only places of the image: whatever is read there is not of the workspace."""


class Notification(NamedTuple):
    id: int
    pid: int
    syscall: str
    args: tuple[int, ...]


@dataclass
class Seen:
    """One call as the record will have it, plus what the fault rules need. Field names as in ``Call``."""

    syscall: str
    kind: str
    path: str
    path2: str = ""
    in_workspace: bool = False
    changes_tree: bool = False
    truncates: bool = False
    injected: str = ""
    regular: bool = False
    """Whether it is about a regular file that is there."""
    family: str = ""


@dataclass
class Supervisor:
    """``watch``: the request's classes and fault."""

    watch: dict[str, Any]
    workdir: str
    elsewhere: tuple[str, ...]
    """Prefixes where changes are nobody's business: /tmp, HOME, /dev."""
    stop: Callable[[], None]
    """Ends the run: every process is killed before it returns."""
    hold: Callable[[], None]
    """Keeps further calls of the run from ``answer`` until ``go_on`` has been called."""
    log: list[dict[str, Any]] = field(default_factory=list)
    network: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    reached: bool = False
    _count: int = 0
    _dropped: int = 0
    _held: tuple[int, int] | None = None
    _parents: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names = syscalls.names(os.uname().machine)
        self._fault: dict[str, Any] = self.watch["fault"] or {"type": ""}

    # ------------------------------------------------------------ one call

    def answer(self, listener: int) -> None:
        """Takes one announced call from the listener and answers it."""
        note = receive(listener, self._names)
        if note is None:
            return
        seen = self._look(note)
        if seen is None:
            respond(listener, note.id, 0)
            return
        number = self._decide(seen)
        if number is None:
            self._note(seen)
            if self._fault["type"] == "crash":
                self.stop()
            else:
                self._held = listener, note.id
                self.hold()
            return
        respond(listener, note.id, number)
        if number:
            seen.injected = errno.errorcode[number]
        elif seen.kind in ("rename", "link", "unlink", "rmdir"):
            self._parents.clear()
        self._note(seen)

    def go_on(self) -> None:
        """Lets the held call take effect."""
        self._parents.clear()
        if self._held is not None:
            respond(*self._held, 0)

    def _look(self, note: Notification) -> Seen | None:
        """What the call is about; None for one that is of no interest or whose caller is gone."""
        meaning = syscalls.MEANINGS[note.syscall]
        try:
            if meaning.when == "net":
                return self._look_net(note)
            if meaning.fd is not None:
                return self._look_descriptor(note, meaning)
            return self._look_path(note, meaning)
        except (OSError, LookupError):
            return None

    def _look_net(self, note: Notification) -> Seen | None:
        family, text = memory.address(note.pid, note.syscall, note.args)
        if family in ("", "unspecified", "unix"):
            return None
        return Seen(note.syscall, "connect", text, family=family)

    def _look_descriptor(self, note: Notification, meaning: syscalls.Meaning) -> Seen | None:
        assert meaning.fd is not None
        fd = note.args[meaning.fd] & 0xFFFFFFFF
        path = os.readlink(f"/proc/{note.pid}/fd/{fd}")
        if not path.startswith("/"):
            return None
        if note.syscall == "close" and not memory.descriptor_flags(note.pid, fd) & (os.O_WRONLY | os.O_RDWR):
            return None
        inside = self._is_inside(path)
        mode = _mode(path)
        if meaning.when == "write" and not (inside and stat.S_ISREG(mode)):
            return None
        changes = meaning.kind == "chmod" and inside and mode != 0
        return Seen(note.syscall, meaning.kind, path, in_workspace=inside, changes_tree=changes, regular=stat.S_ISREG(mode))

    def _look_path(self, note: Notification, meaning: syscalls.Meaning) -> Seen | None:
        assert meaning.path is not None
        path = self._argument(note, meaning.path)
        if meaning.kind == "open":
            flags = _open_flags(note, meaning)
            if not flags & WRITES and path.startswith(_NEVER_INSIDE):
                return None
            return self._opened(note, self._resolved(path, note.pid), flags)
        if meaning.kind == "look":
            path = self._resolved(path, note.pid)
            return Seen(note.syscall, "look", path, in_workspace=True) if self._is_inside(path) else None
        path2 = self._resolved(self._argument(note, meaning.path2), note.pid) if meaning.path2 else ""
        if note.syscall in ("symlink", "symlinkat"):
            path2 = memory.text(note.pid, note.args[0])
        return self._changed(note, meaning, self._resolved(path, note.pid), path2)

    def _argument(self, note: Notification, place: tuple[int | None, int]) -> str:
        at, which = place
        text = memory.text(note.pid, note.args[which])
        if text.startswith("/"):
            return text
        base = memory.directory(note.pid, note.args[at] if at is not None else memory.AT_FDCWD)
        return f"{base}/{text}" if text else base

    def _resolved(self, path: str, pid: int) -> str:
        """Absolute path with links in its directories followed, its last component left alone."""
        if path.startswith("/proc/self"):
            path = f"/proc/{pid}{path[len('/proc/self') :]}"
        head, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        if head not in self._parents:
            self._parents[head] = os.path.realpath(head or "/")
        return f"{self._parents[head].rstrip('/')}/{name}"

    def note_read(self, path: str) -> None:
        """Notes that a workspace file was opened for reading, as inotify told."""
        self._note(Seen("open", "open-read", path, in_workspace=True))

    # ------------------------------------------------------------ what it would do

    def _opened(self, note: Notification, path: str, flags: int) -> Seen | None:
        if os.path.islink(path) and not flags & os.O_NOFOLLOW:
            path = os.path.realpath(path)
        inside, mode = self._is_inside(path), _mode(path)
        regular = stat.S_ISREG(mode)
        if not flags & WRITES:
            if not inside or not (regular or "look" in self.watch["classes"]):
                return None
            return Seen(note.syscall, "open-read" if regular else "look", path, in_workspace=True, regular=regular)
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            return Seen(note.syscall, "open-write", path, in_workspace=inside)
        creates = bool(flags & os.O_CREAT) and mode == 0
        fails = (mode != 0 and flags & os.O_EXCL and flags & os.O_CREAT) or (mode == 0 and not creates)
        truncates = bool(flags & os.O_TRUNC) and regular and os.lstat(path).st_size > 0
        return Seen(
            note.syscall,
            "create" if creates else "open-write",
            path,
            in_workspace=inside,
            changes_tree=inside and not fails and (creates or regular),
            truncates=truncates and not fails,
            regular=regular,
        )

    def _changed(self, note: Notification, meaning: syscalls.Meaning, path: str, path2: str) -> Seen:
        kind = meaning.kind
        if kind == "unlink" and meaning.flags is not None and note.args[meaning.flags] & 0x200:  # AT_REMOVEDIR
            kind = "rmdir"
        new = path2 if note.syscall in ("link", "linkat") else path
        there = _mode(new) != 0
        inside = self._is_inside(new) or (kind == "rename" and self._is_inside(path2))
        can = not there if kind in ("mkdir", "create", "link") else there
        return Seen(
            note.syscall, kind, path, path2,
            in_workspace=inside, changes_tree=inside and can and kind != "other", regular=stat.S_ISREG(_mode(path)),
        )  # fmt: skip

    def _is_inside(self, path: str) -> bool:
        return path == self.workdir or path.startswith(self.workdir + "/")

    # ------------------------------------------------------------ faults

    def _decide(self, seen: Seen) -> int | None:
        """0 = let it go on, an errno = let it fail, None = no answer: the run ends or is held here."""
        kind = self._fault["type"]
        if kind == "read-only":
            return self._read_only(seen)
        if not kind or not self._counts(seen):
            return 0
        mine = self._count == self._fault["k"]
        self._count += 1
        if not mine:
            return 0
        self.reached = True
        return int(getattr(errno, self._fault["errno"])) if kind == "errno" else None

    def _counts(self, seen: Seen) -> bool:
        """Whether this call is one of those that the fault counts."""
        wanted = self._fault["calls"]
        writes = seen.kind in ("write", "truncate") and seen.in_workspace and seen.regular
        if wanted == "change":
            return seen.changes_tree
        if wanted == "torn":
            return seen.changes_tree or (writes and seen.syscall != "close")
        if wanted == "write":
            return writes
        if wanted == "chmod":
            return seen.kind == "chmod" and seen.in_workspace
        return seen.kind == "open-read"

    def _read_only(self, seen: Seen) -> int:
        root = self._fault["path"]
        hit = any(p == root or p.startswith(root + "/") for p in _touched(seen))
        if not hit or not (seen.changes_tree or seen.kind in ("open-write", "write", "other")):
            return 0
        self.reached = True
        return errno.EROFS

    # ------------------------------------------------------------ the record

    def _note(self, seen: Seen) -> None:
        if seen.kind == "connect" and seen.family != "netlink":
            self._add(self.network, f"{seen.syscall} {seen.family} {seen.path}")
        if self._is_outside(seen):
            self._add(self.outside, f"{seen.syscall} {' '.join(_touched(seen))}")
        if len(self.log) >= MAX_LOG:
            self._dropped += 1
            return
        fields = ("syscall", "kind", "path", "path2", "in_workspace", "changes_tree", "truncates", "injected")
        self.log.append({"index": len(self.log), **{f: getattr(seen, f) for f in fields}})

    def _is_outside(self, seen: Seen) -> bool:
        """Whether it would change something that is neither in the workspace nor in a place that is emptied anyway."""
        if seen.kind in ("open-read", "look", "connect"):
            return False
        if seen.kind == "mkdir" and _mode(seen.path):
            return False  # a mkdir -p on its way down
        return not all(self._is_free(p) for p in _touched(seen))

    def _is_free(self, path: str) -> bool:
        return self._is_inside(path) or any(path == p or path.startswith(p + "/") for p in self.elsewhere)

    @staticmethod
    def _add(where: list[str], text: str) -> None:
        if len(where) < 200 and text not in where:
            where.append(text)


def _touched(seen: Seen) -> tuple[str, ...]:
    """The paths that a call would change."""
    if seen.kind == "rename":
        return (seen.path, seen.path2)
    return (seen.path2,) if seen.syscall in ("link", "linkat") else (seen.path,)


# ---------------------------------------------------------------- the kernel's side


def receive(listener: int, names: dict[int, str]) -> Notification | None:
    """The next announced call; None where its caller died meanwhile."""
    buffer = bytearray(_NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, RECEIVE, buffer, True)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    identity, pid, _, number, _, _, *args = _NOTIFICATION.unpack(buffer)
    return Notification(identity, pid, names[number], tuple(args))


def respond(listener: int, identity: int, number: int) -> None:
    """Lets an announced call go on (0) or fail with an errno."""
    answer = _RESPONSE.pack(identity, 0, -number, 0 if number else _CONTINUE)
    try:
        fcntl.ioctl(listener, SEND, answer)
    except OSError as error:
        if error.errno != errno.ENOENT:  # the caller died meanwhile
            raise


def prefer_same_cpu(listener: int) -> None:
    """Asks for wake-ups on the caller's CPU (Linux 6.6), which is faster; older kernels do without."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(listener, _SYNC_WAKE_UP, 1)


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _open_flags(note: Notification, meaning: syscalls.Meaning) -> int:
    if note.syscall == "creat":
        return os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    assert meaning.flags is not None
    if note.syscall == "openat2":
        return memory.open_how_flags(note.pid, note.args[meaning.flags])
    return note.args[meaning.flags] & 0xFFFFFFFF

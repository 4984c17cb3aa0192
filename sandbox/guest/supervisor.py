"""Answers the announced calls of one run: notes them in order, lets them go on, makes one fail, or ends the run there.

Guest side. One instance a run; calls of all its processes come through ``answer`` one after another.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sandbox.guest import memory, names, syscalls
from sandbox.guest.notify import Notification, receive, respond
from sandbox.guest.seccomp import WRITES

MAX_LOG = 20_000
MAX_NAMES = 50

UNKNOWN = "?"
"""Path of a call whose caller cannot be looked into, such as a program that may be run but not read."""

_AFTER_THE_FACT = frozenset({errno.EIO, errno.EFAULT, errno.ENOENT, errno.ESRCH, errno.EBADF, errno.ENOTDIR})
"""What reading an argument gives where the kernel refuses the call too: no such address, descriptor or process."""

_SHARED_MEMORY = ("/dev/shm", "/dev/mqueue")

_PROGRAMS = tuple(f"{root}{kind}" for root in ("/usr/local/", "/usr/", "/") for kind in ("bin", "sbin"))
"""Where a program is looked for by its name alone."""

_NEVER_INSIDE = ("/usr/", "/lib/", "/lib64/", "/etc/", "/bin/")
"""Read-only places of the image: whatever is read there is not of the workspace."""


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
    present: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    """Names of programs that were found, and that were not found, in some directory of programs."""
    reached: bool = False
    _count: int = 0
    _dropped: int = 0
    _held: tuple[int, int] | None = None
    _parents: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names = syscalls.names(os.uname().machine)
        self._fault: dict[str, Any] = self.watch["fault"] or {"type": ""}

    @property
    def missing(self) -> list[str]:
        """Programs that were looked for and that no directory has: a search goes from one directory to the next."""
        return sorted(self.absent - self.present)[:MAX_NAMES]

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
        """What the call is about; None for one that is of no interest, or that the kernel will refuse."""
        meaning = syscalls.MEANINGS[note.syscall]
        try:
            if meaning.when == "net":
                return self._look_net(note)
            if meaning.fd is not None:
                return self._look_descriptor(note, meaning)
            return self._look_path(note, meaning)
        except LookupError:
            return None
        except OSError as error:
            return None if error.errno in _AFTER_THE_FACT else _unseen(note, meaning)

    def _look_net(self, note: Notification) -> Seen | None:
        family, text = memory.address(note.pid, note.syscall, note.args)
        if note.syscall == "bind":
            return self._bound(note, text) if family == "unix" else None
        if family in ("", "unspecified", "unix"):
            return None
        return Seen(note.syscall, "connect", text, family=family)

    def _bound(self, note: Notification, text: str) -> Seen | None:
        """A socket with a name in the file system; an abstract one is looked for after the run."""
        if not text or text.startswith("@"):
            return None
        path = text if text.startswith("/") else f"{memory.directory(note.pid, memory.AT_FDCWD)}/{text}"
        return self._changed(note, syscalls.MEANINGS["bind"], self._resolved(path, note.pid), "")

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
        if meaning.kind in ("exec", "look"):
            self._searched(path)
        if meaning.kind == "exec":
            return None
        if meaning.kind == "look":
            path = self._resolved(path, note.pid)
            return Seen(note.syscall, "look", path, in_workspace=True) if self._is_inside(path) else None
        path2 = self._resolved(self._argument(note, meaning.path2), note.pid) if meaning.path2 else ""
        if note.syscall in ("symlink", "symlinkat"):
            path2 = memory.text(note.pid, note.args[0])
        path = self._resolved(path, note.pid)
        return self._changed(note, meaning, names.resolve(path, note.pid)[0] if _follows(note) else path, path2)

    def _argument(self, note: Notification, place: tuple[int | None, int]) -> str:
        at, which = place
        if at is not None and not note.args[which]:  # as futimens has it: the descriptor itself
            return memory.directory(note.pid, note.args[at])
        text = memory.text(note.pid, note.args[which])
        if text.startswith("/"):
            return text
        base = memory.directory(note.pid, note.args[at] if at is not None else memory.AT_FDCWD)
        return f"{base}/{text}" if text else base

    def _resolved(self, path: str, pid: int) -> str:
        """Absolute path with links in its directories followed, its last component left alone."""
        head, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return names.resolve(path, pid)[0]
        parent = self._parents.get(head)
        if parent is None:
            parent, lasts = names.resolve(head or "/", pid)
            if lasts:
                self._parents[head] = parent
        return f"{parent.rstrip('/')}/{name}"

    def _searched(self, path: str) -> None:
        """Notes a look for a program in a directory of programs."""
        folder, _, name = path.rpartition("/")
        if name and folder in _PROGRAMS:
            (self.present if os.path.exists(path) else self.absent).add(name)

    def note_read(self, path: str) -> None:
        """Notes that a workspace file was opened for reading, as inotify told."""
        self._note(Seen("open", "open-read", path, in_workspace=True))

    # ------------------------------------------------------------ what it would do

    def _opened(self, note: Notification, path: str, flags: int) -> Seen | None:
        if not flags & os.O_NOFOLLOW:
            path = names.resolve(path, note.pid)[0]
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
        if seen.path == UNKNOWN:
            return seen.kind not in ("write", "truncate")
        opens = seen.kind in ("open-write", "write", "truncate")
        return not all(self._is_free(p) and (opens or not _is_device(p)) for p in _touched(seen))

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


def _is_device(path: str) -> bool:
    """A name below /dev that outlives the run: what is changed there but contents stays changed."""
    return path.startswith("/dev/") and not path.startswith(_SHARED_MEMORY)


def _follows(note: Notification) -> bool:
    """Whether a call changes what a link leads to, not the link."""
    if note.syscall not in syscalls.FOLLOW:
        return False
    flags = syscalls.FOLLOW[note.syscall]
    return flags is None or not note.args[flags] & 0x100  # AT_SYMLINK_NOFOLLOW


def _unseen(note: Notification, meaning: syscalls.Meaning) -> Seen | None:
    """A call of which only the registers are known: taken for one that changes the workspace, so that it can be stopped at."""
    if meaning.when == "net":
        return Seen(note.syscall, "connect", UNKNOWN, family=UNKNOWN)
    if meaning.kind == "open":
        plain = note.syscall in ("open", "openat") and not _open_flags(note, meaning) & WRITES
        return None if plain else Seen(note.syscall, "open-write", UNKNOWN, in_workspace=True, changes_tree=True)
    if meaning.kind == "exec":
        return None
    changes = meaning.when == "change"
    return Seen(note.syscall, meaning.kind, UNKNOWN, in_workspace=changes, changes_tree=changes and meaning.kind != "other")


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

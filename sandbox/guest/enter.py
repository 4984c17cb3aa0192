"""From a fork of a warm parent to a job: descriptors, limits, surroundings, another uid. Guest side.

The order matters: what needs privilege comes first, and after ``become_job`` nothing of the runner is left in reach.
"""

from __future__ import annotations

import ctypes
import fcntl
import locale
import os
import resource
import signal
import socket
import time
import zlib
from typing import Any

from sandbox.guest import seccomp, syscalls
from sandbox.guest.procs import JOB_ID

_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
CLONE_FS = 0x200
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
OPEN_FILES = 1024
LOWEST_HIDDEN = 100
"""A waiting process has far fewer descriptors than this, so all of them lie below."""

CONTROL_FD = 1000
"""Where a supervised job's process keeps its line to the runner until its own code starts."""


def clone_sharing_cwd() -> int:
    """Like fork, but the working directory is shared with the child, also after it has executed another program.

    So the parent sees where a ``cd`` of the child's shell led, whatever traps or ``exec`` it used. The child must do
    nothing but prepare and execute.
    """
    number = _SYS_CLONE[os.uname().machine]
    pid = int(_libc.syscall(number, CLONE_FS | signal.SIGCHLD, 0, 0, 0, 0))
    if pid < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return pid


def take_descriptors(given: int, out: int, err: int, private: int, control: int | None) -> tuple[int, int | None]:
    """Puts the job's descriptors in place and closes every other one.

    Returns where ``private`` is now (a number that nobody is told, closed on exec) and ``control``.
    """
    for fd, number in ((given, 0), (out, 1), (err, 2)):
        os.dup2(fd, number)
    number = LOWEST_HIDDEN + int.from_bytes(os.urandom(2), "big") % 800
    moved: int = fcntl.fcntl(private, fcntl.F_DUPFD_CLOEXEC, number)
    if control is not None:
        control = fcntl.fcntl(control, fcntl.F_DUPFD_CLOEXEC, CONTROL_FD)
    os.closerange(3, LOWEST_HIDDEN)
    return moved, control


def prepare() -> None:
    """What a warm parent can do once for all its children."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _known_collations[os.environ.get("LC_ALL", "")] = _collation()
    machine = os.uname().machine
    if machine in syscalls.NUMBERS:
        for classes in ((), ("read",), ("write",)):
            seccomp.prepared(machine, classes, CONTROL_FD)


_known_collations: dict[str, str] = {}


def become_job(spec: dict[str, Any]) -> None:
    """Own session, limits, working directory, umask, then uid and gid of the job, for good."""
    os.setsid()
    _write("/proc/self/oom_score_adj", b"1000")
    size = int(spec["file_bytes"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    if spec["cpus"] is not None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: spec["cpus"]])
    os.chdir(spec["workdir"])
    os.umask(spec["umask"])
    os.setgroups([])
    os.setresgid(JOB_ID, JOB_ID, JOB_ID)
    os.setresuid(JOB_ID, JOB_ID, JOB_ID)
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # the supervisor reads paths from the job's memory
    if spec["cwd"] != ".":
        try:
            os.chdir(spec["cwd"])
        except OSError:
            os.chdir(spec["workdir"])


def _write(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def take_environment(env: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()


def probe() -> dict[str, str]:
    """What this process sees of its surroundings."""
    return {
        "hash_seed": f"{hash('probe') & 0xFFFFFFFF:08x}",
        "tz": "/".join(time.tzname) + f" {time.localtime(1_700_000_000).tm_hour}",
        "locale": _known_collations.get(os.environ.get("LC_ALL", "")) or _collation(),
        "home": os.environ.get("HOME", ""),
        "umask": f"{_umask():04o}",
        "cwd": os.getcwd(),
        "order": _order(),
        "cpus": str(len(os.sched_getaffinity(0))),
        "optimised": os.environ.get("PYTHONOPTIMIZE", ""),
        "clock": f"{time.time():.3f}",
    }


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _collation() -> str:
    """The locale that the environment really gives, and how it sorts."""
    before = locale.setlocale(locale.LC_COLLATE)
    try:
        name = locale.setlocale(locale.LC_COLLATE, "")
    except locale.Error:
        return "missing"
    words = "".join(sorted("aBbA", key=locale.strxfrm))
    locale.setlocale(locale.LC_COLLATE, before)
    return f"{name} {words}"


def _order() -> str:
    """The names that directory listings gave, in their order (the first 256), as a hash."""
    names: list[str] = []
    pending = ["."]
    while pending and len(names) < 256:
        at = pending.pop(0)
        try:
            with os.scandir(at) as found:
                for item in found:
                    names.append(item.name)
                    if item.is_dir(follow_symlinks=False):
                        pending.append(item.path)
        except OSError:
            continue  # a directory that the job may not read
    return f"{zlib.crc32(chr(0).join(names[:256]).encode('utf-8', 'surrogateescape')):08x}"


def submit(line: int, classes: list[str]) -> None:
    """Puts this process under supervision. There is nothing to wait for: the first call that is announced waits by itself."""
    with socket.socket(fileno=line) as control:
        listener = seccomp.install(classes, CONTROL_FD)
        socket.send_fds(control, [b"l"], [listener])
        os.close(listener)

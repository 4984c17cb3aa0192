"""What runs in the container and what it left behind: processes, IPC objects, network counters. Guest side."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

JOB_ID = 1000
"""uid and gid of every job. The runner and the warm parents are 0, so that no job can signal, trace or limit them."""
NOBODY_ID = 1001
"""uid of no process."""


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def read_text(path: str) -> str:
    """A small file of /proc as text, empty where it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, 1 << 16).decode("utf-8", "backslashreplace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def _lives(pid: int) -> bool:
    """Whether any thread of a process still runs. A leader that has ended is a zombie while its other threads go on."""
    fields = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return bool(fields) and (fields[0] not in ("Z", "X") or int(fields[17]) > 1)


def strangers(keep: Collection[int]) -> list[int]:
    """Live processes that are not the runner's own: neither in ``keep`` nor of uid 0, which no job can be."""
    return [pid for pid in pids() if pid not in keep and _uid(pid) != 0 and _lives(pid)]


def _uid(pid: int) -> int:
    """Real uid of a process; that of a job for one that is gone."""
    _, _, rest = read_text(f"/proc/{pid}/status").partition("\nUid:")
    return int(rest.split(maxsplit=1)[0]) if rest else JOB_ID


def describe(pid: int) -> str:
    """The command line of a process, or its name, escaped and cut to 200 characters."""
    line = read_text(f"/proc/{pid}/cmdline").rstrip("\0").replace("\0", " ")
    text = line or read_text(f"/proc/{pid}/comm").strip() or "?"
    return text.encode("unicode_escape").decode("ascii")[:200]


def reap() -> int:
    """Collects dead children of PID 1; how many of them were killed."""
    killed = 0
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return killed
        if pid == 0:
            return killed
        killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def kill_jobs() -> None:
    """Sends SIGKILL to every process of the job's uid at once, so that no fork can slip through."""
    # With the effective uid of the job, kill(-1) reaches just the job's processes. They may signal whom they share a real
    # or saved uid with: neither is theirs meanwhile, and the saved one leads back.
    os.setresuid(NOBODY_ID, JOB_ID, 0)
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.setresuid(0, 0, 0)


def kill_all(keep: Collection[int], timeout_s: float = 10.0) -> tuple[list[int], bool]:
    """Kills and reaps until only ``keep`` is left: what is still alive after the time, and whether there was anything.

    It kills before it looks: a process that forks and ends again and again is in no listing, but under SIGKILL at once
    nothing new can appear, so what a listing shows afterwards is all there is.
    """
    reap()
    kill_jobs()
    deadline = time.monotonic() + timeout_s
    pause = 0.0002
    caught = 0
    while left := strangers(keep):
        caught += 1
        if time.monotonic() > deadline:
            break
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
        kill_jobs()
    caught += reap()
    return left, caught > 0


# ---------------------------------------------------------------- leftovers other than processes


def ipc_objects() -> list[str]:
    """System V IPC objects of this namespace, one description each."""
    found = []
    for kind in ("shm", "sem", "msg"):
        lines = read_text(f"/proc/sysvipc/{kind}").splitlines()[1:]
        found += [f"{kind} key {line.split()[0]}" for line in lines if line.split()]
    return found


def abstract_sockets() -> list[str]:
    names = (line.split()[-1] for line in read_text("/proc/net/unix").splitlines()[1:])
    return [n.encode("unicode_escape").decode("ascii")[:200] for n in names if n.startswith("@")]


def files_below(roots: Iterable[str], limit: int = 50) -> list[str]:
    """Paths below the given directories, at most ``limit``, escaped. Links are not followed, other mounts not entered."""
    out: list[str] = []
    for root in roots:
        device = os.stat(root).st_dev
        pending = [root]
        while pending and len(out) < limit:
            for item in _listing(pending.pop()):
                info = item.stat(follow_symlinks=False)
                if info.st_dev != device:
                    continue
                out.append(escaped(item.path))
                if item.is_dir(follow_symlinks=False) and len(item.path) < 2000:
                    pending.append(item.path)
                if len(out) >= limit:
                    break
    return out


def escaped(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")


def _listing(path: str) -> list[os.DirEntry[str]]:
    with os.scandir(path) as found:
        return [item for item, _ in zip(found, range(1000), strict=False)]


class Mounts:
    """Watches the mounts of this process's namespace."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._poll.register(os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC), select.POLLPRI)

    def changed(self) -> bool:
        """Whether anything was mounted or unmounted since the last time (``proc_pid_mountinfo(5)``: POLLPRI says so)."""
        return bool(self._poll.poll(0))


# ---------------------------------------------------------------- network


class Counters(NamedTuple):
    """What the kernel counts for this container."""

    network: str
    oom_kills: int


def counters() -> Counters:
    return Counters(network_counters(), oom_kills())


def network_counters() -> str:
    return read_text("/proc/net/snmp") + read_text("/proc/net/snmp6")


_ATTEMPTS = {
    "Ip.OutNoRoutes": "packets without a route",
    "Ip6OutNoRoutes": "IPv6 packets without a route",
    "Tcp.ActiveOpens": "TCP connections opened",
    "Udp.OutDatagrams": "UDP datagrams sent",
    "Udp6OutDatagrams": "IPv6 UDP datagrams sent",
    "Icmp.OutMsgs": "ICMP messages sent",
}


def network_attempts(before: str, after: str) -> list[str]:
    """What the counters say was tried, described; empty where nothing moved."""
    if before == after:
        return []
    was, now = _counters(before), _counters(after)
    out = []
    for key, words in _ATTEMPTS.items():
        count = now.get(key, 0) - was.get(key, 0)
        if count > 0:
            out.append(f"{count} {words}")
    return out


def _counters(text: str) -> dict[str, int]:
    out: dict[str, int] = {}
    names: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and not words[0].endswith(":"):
            out[words[0]] = _number(words[1])
        elif words and words[0].endswith(":"):
            if len(words) > 1 and _NUMBER.fullmatch(words[1]):
                out.update({f"{words[0][:-1]}.{n}": _number(v) for n, v in zip(names, words[1:], strict=False)})
            else:
                names = words[1:]
    return out


_NUMBER = re.compile(r"-?[0-9]{1,20}")


def _number(text: str) -> int:
    return int(text) if _NUMBER.fullmatch(text) else 0


def oom_kills() -> int:
    """How often the kernel killed something in this container for want of memory."""
    text = read_text("/sys/fs/cgroup/memory/memory.oom_control") or read_text("/sys/fs/cgroup/memory.events")
    for line in text.splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0

"""The container's /dev: as little as programs need, and nothing of it keeps what a run did to it. Guest side."""

from __future__ import annotations

import contextlib
import os

from sandbox.guest.tree import FIXED_TIME_NS

NEEDED = frozenset({"fd", "mqueue", "null", "pts", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"})
"""A terminal is none of a skill's business, and nothing asks for a device that is always full."""
MASKED = ("/proc/keys", "/proc/timer_list", "/proc/latency_stats", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi")
"""Where an engine puts a device of its own over what nobody shall read: its times can be set as well."""


def keep_few() -> tuple[str, ...]:
    """Removes the other devices; the paths of those that stay. Nothing is done where the engine lets nobody change /dev."""
    with contextlib.suppress(OSError):
        os.chmod("/dev/pts", 0o700)
    for name in os.listdir("/dev"):
        if name not in NEEDED:
            with contextlib.suppress(OSError):
                os.unlink(f"/dev/{name}")
    found = [f"/dev/{name}" for name in sorted(NEEDED - {"mqueue", "pts", "shm"})]
    kept = tuple(path for path in (*found, *MASKED) if os.path.lexists(path) and _settable(path))
    restore(kept)
    return kept


def _settable(path: str) -> bool:
    try:
        os.utime(path, ns=(FIXED_TIME_NS, FIXED_TIME_NS), follow_symlinks=False)
    except OSError:
        return False  # read-only for everybody
    return True


def restore(paths: tuple[str, ...]) -> None:
    """Gives devices and the links beside them their times back. Anybody who may write to a file may set them. Raises OSError."""
    for path in paths:
        info = os.lstat(path)
        if info.st_mtime_ns != FIXED_TIME_NS or info.st_atime_ns != FIXED_TIME_NS:
            os.utime(path, ns=(FIXED_TIME_NS, FIXED_TIME_NS), follow_symlinks=False)

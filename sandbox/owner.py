"""Who started a container: written into its label, so that what a dead process left can be told from what a live one uses."""

from __future__ import annotations

import os
from pathlib import Path


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return "unknown"


def _started(pid: int) -> str:
    """When a process started, in clock ticks since boot; empty when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def label(pid: int | None = None) -> str:
    """``boot:pid namespace:pid:start`` of this process."""
    number = os.getpid() if pid is None else pid
    return f"{_boot()}:{_namespace()}:{number}:{_started(number)}"


def _namespace() -> str:
    try:
        return Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return "unknown"


def is_dead(text: str) -> bool:
    """Whether the process that wrote this label is known to be gone. Another host's or namespace's is never known to be."""
    parts = text.split(":")
    if len(parts) < 4 or not parts[-2].isdecimal():
        return False
    boot, pid, started = parts[0], int(parts[-2]), parts[-1]
    if boot != _boot() or boot == "unknown" or ":".join(parts[1:-2]) != _namespace():
        return False
    return _started(pid) != started

"""What a path of a supervised call means to its caller. Guest side."""

from __future__ import annotations

import os
import posixpath

MOST_LINKS = 40
"""As the kernel: ``MAXSYMLINKS`` of ``include/linux/namei.h``."""


def resolve(path: str, pid: int) -> tuple[str, bool]:
    """An absolute path with every link followed, and whether the answer lasts until a name changes.

    A way through ``/proc`` leads to what a descriptor or a working directory is at this moment: it does not last.
    """
    todo = [part for part in reversed(path.split("/")) if part]
    at, lasts, links = "/", True, 0
    while todo:
        part = todo.pop()
        if part == "..":
            at = posixpath.dirname(at)
        if part in (".", ".."):
            continue
        step = _of_caller(posixpath.join(at, part), pid)
        lasts = lasts and not step.startswith("/proc/")
        target = _link(step)
        if not target:
            at = step
            continue
        links += 1
        if links > MOST_LINKS:
            return posixpath.join(step, *reversed(todo)), False
        at = "/" if target.startswith("/") else at
        todo += [p for p in reversed(target.split("/")) if p]
    return at, lasts


def _of_caller(path: str, pid: int) -> str:
    """``/proc/self`` is somebody else for the caller than for whoever looks."""
    return f"/proc/{pid}" if path in ("/proc/self", "/proc/thread-self") else path


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""

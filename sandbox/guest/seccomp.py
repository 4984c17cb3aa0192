"""Puts the calling process and all its descendants under supervision. Guest side."""

from __future__ import annotations


def install(classes: list[str], control_fd: int) -> int:
    """The descriptor on which the process's calls are announced."""
    raise OSError(f"supervision of {classes} over {control_fd} is not built yet")

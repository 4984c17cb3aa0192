"""The kernel's side of supervision: takes announced calls and answers them. Guest side."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import struct
from typing import NamedTuple

_NOTIFICATION = struct.Struct("<QIIiIQ6Q")
_RESPONSE = struct.Struct("<QqiI")
RECEIVE, SEND, STILL_VALID = 0xC0502100, 0xC0182101, 0x40082102
_CONTINUE = 1
_SYNC_WAKE_UP = 0x40082104


class Notification(NamedTuple):
    id: int
    pid: int
    syscall: str
    args: tuple[int, ...]


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

"""Puts the calling process and all its descendants under supervision by seccomp user notification. Guest side.

The filter announces calls and lets the runner answer. It observes and injects; it is no security boundary (TOCTOU, see
``seccomp_unotify(2)``).
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
from collections.abc import Collection

from sandbox.guest import syscalls

_libc = ctypes.CDLL(None, use_errno=True)
_LD_W_ABS, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, NOTIFY, REFUSE = 0x7FFF0000, 0x7FC00000, 0x00050000
_NR, _ARCH, _ARGS = 0, 4, 16
_X32_BIT = 0x40000000
_INSTRUCTION = struct.Struct("HBBI")

SET_MODE_FILTER, NEW_LISTENER, WAIT_KILLABLE = 1, 1 << 3, 1 << 5
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
"""Flags of an open that may change something."""

Instruction = tuple[int, int, int, int]


def program(machine: str, classes: Collection[str], control_fd: int) -> list[Instruction]:
    """The filter as (code, jump if true, jump if false, operand).

    Args:
        classes: may hold ``read`` (opens for reading too), ``write`` (writes and closes) and ``look`` (stat and the like).
        control_fd: ``sendmsg`` on this descriptor is not announced: over it the listener itself travels.
    """
    number = syscalls.numbers(machine)
    out: list[Instruction] = [
        (_LD_W_ABS, 0, 0, _ARCH),
        (_JEQ, 1, 0, syscalls.AUDIT[machine]),
        (_RET, 0, 0, ALLOW),
        (_LD_W_ABS, 0, 0, _NR),
    ]
    if machine == "x86_64":
        out += [(_JGE, 0, 1, _X32_BIT), (_RET, 0, 0, ALLOW)]
    for name, meaning in syscalls.MEANINGS.items():
        if name in number and (meaning.when in ("change", "net") or meaning.when in classes):
            body = _body(name, meaning, classes, control_fd)
            out += [(_JEQ, 0, len(body), number[name]), *body]
    for name in syscalls.HIDDEN:
        out += [(_JEQ, 0, 1, number[name]), (_RET, 0, 0, REFUSE | errno.ENOSYS)]
    out.append((_RET, 0, 0, ALLOW))
    return out


def _body(name: str, meaning: syscalls.Meaning, classes: Collection[str], control_fd: int) -> list[Instruction]:
    """What decides about one call, ending in a return on every path."""
    notify = (_RET, 0, 0, NOTIFY)
    if name in ("open", "openat") and "read" not in classes:
        assert meaning.flags is not None
        return [(_LD_W_ABS, 0, 0, _low(meaning.flags)), (_JSET, 0, 1, WRITES), notify, (_RET, 0, 0, ALLOW)]
    if name == "sendmsg":
        return [(_LD_W_ABS, 0, 0, _low(0)), (_JEQ, 1, 0, control_fd), notify, (_RET, 0, 0, ALLOW)]
    if name == "sendto":  # without an address it is a send() on what is connected already
        load_low, load_high = (_LD_W_ABS, 0, 0, _low(4)), (_LD_W_ABS, 0, 0, _low(4) + 4)
        return [load_low, (_JEQ, 0, 3, 0), load_high, (_JEQ, 0, 1, 0), (_RET, 0, 0, ALLOW), notify]
    return [notify]


def _low(argument: int) -> int:
    """Offset of the low half of an argument (both machines are little-endian)."""
    return _ARGS + 8 * argument


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


@functools.cache
def prepared(machine: str, classes: tuple[str, ...], control_fd: int) -> tuple[_Program, ctypes.Array[ctypes.c_char]]:
    """The filter as the kernel reads it, and what keeps its code alive. A warm parent makes the usual ones before it forks."""
    code = b"".join(_INSTRUCTION.pack(*i) for i in program(machine, classes, control_fd))
    buffer = ctypes.create_string_buffer(code, len(code))
    return _Program(len(code) // _INSTRUCTION.size, ctypes.addressof(buffer)), buffer


def install(classes: Collection[str], control_fd: int) -> int:
    """Supervises this process from now on; the descriptor on which its calls are announced.

    Raises:
        OSError: the kernel or the engine's profile does not allow it.
        LookupError: no table for this machine.
    """
    machine = os.uname().machine
    filled, _ = prepared(machine, tuple(classes), control_fd)
    for flags in (NEW_LISTENER | WAIT_KILLABLE, NEW_LISTENER):
        fd = int(_libc.syscall(syscalls.numbers(machine)["seccomp"], SET_MODE_FILTER, flags, ctypes.byref(filled)))
        if fd >= 0:
            return fd
    raise OSError(ctypes.get_errno(), f"seccomp user notification: {os.strerror(ctypes.get_errno())}")

"""A lock of our own on top of the engine's: system calls that no job needs and that reach deep into the kernel. Guest side.

Docker's default profile refuses most of them; other engines' do not (Podman lets anybody make user namespaces). Each warm
parent locks itself, so that every job inherits the lock without paying for it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from sandbox.guest import syscalls
from sandbox.guest.seccomp import ALLOW, REFUSE

_LD_W_ABS, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _ARG0 = 0, 4, 16
_X32_BIT = 0x40000000
_INSTRUCTION = struct.Struct("HBBI")
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2

NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of ``linux/sched.h``."""

REFUSED = {
    "x86_64": {
        "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "add_key": 248,
        "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "kexec_load": 246,
        "init_module": 175, "finit_module": 313, "open_by_handle_at": 304, "quotactl": 179, "fanotify_init": 300,
    },
    "aarch64": {
        "unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "add_key": 217,
        "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "kexec_load": 104,
        "init_module": 105, "finit_module": 273, "open_by_handle_at": 265, "quotactl": 60, "fanotify_init": 262,
    },
}  # fmt: skip
"""Answered with EPERM. Source: the kernel's syscall tables."""

REFUSED_EVERYWHERE = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
    "open_tree_attr": 467,
}  # fmt: skip
"""The same number on every machine."""

ABSENT = {"cachestat": 451, "clone3": 435, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}
"""Answered with ENOSYS, for which every program has another way: the flags of clone3 lie in memory, a ring hides calls.

What of a file of the image is in the page cache would tell a job what an earlier one has read (``cachestat``)."""

CLONE = {"x86_64": 56, "aarch64": 220}

FADVISE, DONTNEED = {"x86_64": 221, "aarch64": 223}, 4
"""Advice to drop pages is taken and not followed: with it a job could write into the page cache, bit by bit, for later ones."""
PREADV2, NOWAIT = {"x86_64": 327, "aarch64": 286}, 8
"""A read that must not wait tells what is in the page cache, and leaves no trace."""

Instruction = tuple[int, int, int, int]


def _argument(index: int) -> Instruction:
    """Loads the low half of an argument (both machines are little-endian)."""
    return (_LD_W_ABS, 0, 0, _ARG0 + 8 * index)


def program(machine: str) -> list[Instruction]:
    """The filter as (code, jump if true, jump if false, operand). Calls of another machine's table are absent."""
    absent, refused = REFUSE | errno.ENOSYS, REFUSE | errno.EPERM
    out: list[Instruction] = [
        (_LD_W_ABS, 0, 0, _ARCH),
        (_JEQ, 1, 0, syscalls.AUDIT[machine]),
        (_RET, 0, 0, absent),
        (_LD_W_ABS, 0, 0, _NR),
        (_JGE, 0, 1, _X32_BIT),
        (_RET, 0, 0, absent),
    ]
    for number in (REFUSED[machine] | REFUSED_EVERYWHERE).values():
        out += [(_JEQ, 0, 1, number), (_RET, 0, 0, refused)]
    for number in ABSENT.values():
        out += [(_JEQ, 0, 1, number), (_RET, 0, 0, absent)]
    out += [(_JEQ, 0, 4, CLONE[machine]), _argument(0), (_JSET, 0, 1, NAMESPACES), (_RET, 0, 0, refused), (_RET, 0, 0, ALLOW)]
    out += [(_JEQ, 0, 4, FADVISE[machine]), _argument(3), (_JEQ, 0, 1, DONTNEED), (_RET, 0, 0, REFUSE), (_RET, 0, 0, ALLOW)]
    cannot = REFUSE | errno.EOPNOTSUPP
    out += [(_JEQ, 0, 3, PREADV2[machine]), _argument(5), (_JSET, 0, 1, NOWAIT), (_RET, 0, 0, cannot)]
    return [*out, (_RET, 0, 0, ALLOW)]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def lock() -> str:
    """Locks this process and all that it forks; empty, or why it could not be done."""
    machine = os.uname().machine
    if machine not in REFUSED:
        return f"there is no table of system calls for {machine}"
    code = b"".join(_INSTRUCTION.pack(*i) for i in program(machine))
    buffer = ctypes.create_string_buffer(code, len(code))
    filled = _Program(len(code) // _INSTRUCTION.size, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(filled), 0, 0) != 0:
        return f"the kernel takes no filter of system calls: {os.strerror(ctypes.get_errno())}"
    return ""

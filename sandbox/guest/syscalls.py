"""The system calls that matter to a workspace: their numbers on each machine, and which arguments name what. Guest side.

Numbers: ``arch/x86/entry/syscalls/syscall_64.tbl`` and ``include/uapi/asm-generic/unistd.h`` (arm64) of the kernel.
"""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """What a call does and where its arguments are. A place is (argument of the directory descriptor or None, of the path)."""

    kind: str
    """A ``CallKind``, or ``open`` where the flags decide."""
    path: tuple[int | None, int] | None = None
    path2: tuple[int | None, int] | None = None
    fd: int | None = None
    flags: int | None = None
    when: str = "change"
    """``change``: always supervised · ``write``, ``look``: only when those are · ``net``: always."""


_AT = (0, 1)

MEANINGS: dict[str, Meaning] = {
    "open": Meaning("open", (None, 0), flags=1),
    "openat": Meaning("open", _AT, flags=2),
    "openat2": Meaning("open", _AT, flags=2),
    "creat": Meaning("open", (None, 0)),
    "mkdir": Meaning("mkdir", (None, 0)),
    "mkdirat": Meaning("mkdir", _AT),
    "mknod": Meaning("create", (None, 0)),
    "mknodat": Meaning("create", _AT),
    "rmdir": Meaning("rmdir", (None, 0)),
    "unlink": Meaning("unlink", (None, 0)),
    "unlinkat": Meaning("unlink", _AT, flags=2),
    "rename": Meaning("rename", (None, 0), (None, 1)),
    "renameat": Meaning("rename", _AT, (2, 3)),
    "renameat2": Meaning("rename", _AT, (2, 3)),
    "link": Meaning("link", (None, 0), (None, 1)),
    "linkat": Meaning("link", _AT, (2, 3)),
    "symlink": Meaning("link", (None, 1)),
    "symlinkat": Meaning("link", (1, 2)),
    "chmod": Meaning("chmod", (None, 0)),
    "fchmod": Meaning("chmod", fd=0),
    "fchmodat": Meaning("chmod", _AT),
    "fchmodat2": Meaning("chmod", _AT),
    "truncate": Meaning("truncate", (None, 0)),
    "chown": Meaning("other", (None, 0)),
    "lchown": Meaning("other", (None, 0)),
    "fchown": Meaning("other", fd=0),
    "fchownat": Meaning("other", _AT),
    "utime": Meaning("other", (None, 0)),
    "utimes": Meaning("other", (None, 0)),
    "futimesat": Meaning("other", _AT),
    "utimensat": Meaning("other", _AT),
    "setxattr": Meaning("other", (None, 0)),
    "lsetxattr": Meaning("other", (None, 0)),
    "fsetxattr": Meaning("other", fd=0),
    "setxattrat": Meaning("other", _AT),
    "removexattr": Meaning("other", (None, 0)),
    "lremovexattr": Meaning("other", (None, 0)),
    "fremovexattr": Meaning("other", fd=0),
    "removexattrat": Meaning("other", _AT),
    "write": Meaning("write", fd=0, when="write"),
    "pwrite64": Meaning("write", fd=0, when="write"),
    "writev": Meaning("write", fd=0, when="write"),
    "pwritev": Meaning("write", fd=0, when="write"),
    "pwritev2": Meaning("write", fd=0, when="write"),
    "copy_file_range": Meaning("write", fd=2, when="write"),
    "sendfile": Meaning("write", fd=0, when="write"),
    "splice": Meaning("write", fd=2, when="write"),
    "fallocate": Meaning("write", fd=0, when="write"),
    "ftruncate": Meaning("truncate", fd=0, when="write"),
    "close": Meaning("write", fd=0, when="write"),
    "bind": Meaning("create", when="net"),
    "execve": Meaning("exec", (None, 0)),
    "execveat": Meaning("exec", _AT),
    "stat": Meaning("look", (None, 0), when="look"),
    "lstat": Meaning("look", (None, 0), when="look"),
    "newfstatat": Meaning("look", _AT, when="look"),
    "statx": Meaning("look", _AT, when="look"),
    "access": Meaning("look", (None, 0), when="look"),
    "faccessat": Meaning("look", _AT, when="look"),
    "faccessat2": Meaning("look", _AT, when="look"),
    "readlink": Meaning("look", (None, 0), when="look"),
    "readlinkat": Meaning("look", _AT, when="look"),
    "connect": Meaning("connect", when="net"),
    "sendto": Meaning("connect", when="net"),
    "sendmsg": Meaning("connect", when="net"),
    "sendmmsg": Meaning("connect", when="net"),
}

FOLLOW = {
    "chmod": None, "fchmodat": None, "fchmodat2": 3, "truncate": None, "chown": None, "fchownat": 4, "utime": None,
    "utimes": None, "futimesat": None, "utimensat": 3, "setxattr": None, "removexattr": None, "setxattrat": 2,
    "removexattrat": 2,
}  # fmt: skip
"""Calls that change what a link leads to, and which argument may tell them not to (``AT_SYMLINK_NOFOLLOW``)."""

HIDDEN = ("io_uring_setup", "io_uring_enter", "io_uring_register")
"""Refused with ENOSYS while supervised: what goes through a ring is not announced."""

_X86_64 = {
    "open": 2, "openat": 257, "openat2": 437, "creat": 85, "mkdir": 83, "mkdirat": 258, "mknod": 133, "mknodat": 259,
    "rmdir": 84, "unlink": 87, "unlinkat": 263, "rename": 82, "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265,
    "symlink": 88, "symlinkat": 266, "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "truncate": 76,
    "ftruncate": 77, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260, "utime": 132, "utimes": 235, "futimesat": 261,
    "utimensat": 280, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
    "fremovexattr": 199, "write": 1, "pwrite64": 18, "writev": 20, "pwritev": 296, "pwritev2": 328, "copy_file_range": 326,
    "sendfile": 40, "splice": 275, "fallocate": 285, "close": 3, "connect": 42, "sendto": 44, "sendmsg": 46, "sendmmsg": 307,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "seccomp": 317, "setxattrat": 463,
    "removexattrat": 466, "bind": 49, "execve": 59, "execveat": 322,
    "stat": 4, "lstat": 6, "newfstatat": 262, "statx": 332, "access": 21, "faccessat": 269, "faccessat2": 439, "readlink": 89,
    "readlinkat": 267,
}  # fmt: skip

_ARM64 = {
    "openat": 56, "openat2": 437, "mkdirat": 34, "mknodat": 33, "unlinkat": 35, "renameat": 38, "renameat2": 276, "linkat": 37,
    "symlinkat": 36, "fchmod": 52, "fchmodat": 53, "fchmodat2": 452, "truncate": 45, "ftruncate": 46, "fchown": 55,
    "fchownat": 54, "utimensat": 88, "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
    "fremovexattr": 16, "write": 64, "pwrite64": 68, "writev": 66, "pwritev": 70, "pwritev2": 287, "copy_file_range": 285,
    "sendfile": 71, "splice": 76, "fallocate": 47, "close": 57, "connect": 203, "sendto": 206, "sendmsg": 211, "sendmmsg": 269,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "seccomp": 277, "setxattrat": 463,
    "removexattrat": 466, "bind": 200, "execve": 221, "execveat": 281, "newfstatat": 79, "statx": 291, "faccessat": 48,
    "faccessat2": 439, "readlinkat": 78,
}  # fmt: skip

NUMBERS = {"x86_64": _X86_64, "aarch64": _ARM64}
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH of ``linux/audit.h``."""


def numbers(machine: str) -> dict[str, int]:
    """Call numbers of this machine. Raises LookupError for one that has no table."""
    if machine not in NUMBERS:
        raise LookupError(f"there is no table of system calls for {machine}")
    return NUMBERS[machine]


def names(machine: str) -> dict[int, str]:
    return {number: name for name, number in numbers(machine).items()}

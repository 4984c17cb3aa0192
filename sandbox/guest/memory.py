"""Reads arguments of a supervised call out of the caller's memory. Guest side.

The runner has no CAP_SYS_PTRACE: it borrows the job's uid for the moment, which is enough for a process of that uid.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import struct
from collections.abc import Iterator

from sandbox.guest.procs import JOB_ID

_libc = ctypes.CDLL(None)
PATH_BYTES = 4096
AT_FDCWD = -100
_FIRST = 256


@contextlib.contextmanager
def as_job() -> Iterator[None]:
    """Takes the job's uid for file access only (the gid is the job's all along).

    The file system uid decides about /proc/PID/mem; the effective one, by which a job could renice the runner, stays 0.
    """
    _libc.setfsuid(JOB_ID)
    try:
        yield
    finally:
        _libc.setfsuid(0)


@contextlib.contextmanager
def as_runner() -> Iterator[None]:
    """Takes the runner's own uid for file access, within ``as_job`` or without it."""
    before = _libc.setfsuid(0)
    try:
        yield
    finally:
        _libc.setfsuid(before)


def read(pid: int, address: int, size: int) -> bytes:
    """Bytes of a process's memory, fewer where a mapping ends. Raises OSError."""
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _pread(fd, size, address)
    finally:
        os.close(fd)


def _pread(fd: int, size: int, address: int) -> bytes:
    """Like ``os.pread``; an address that no user memory has is an OSError too."""
    if address >> 63:
        raise OSError(errno.EFAULT, "not an address of user memory")
    return os.pread(fd, size, address)


def text(pid: int, address: int) -> str:
    """The NUL-terminated string at an address, as a path. Raises OSError."""
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = _pread(fd, _FIRST, address)
        if 0 not in data and len(data) == _FIRST:
            data += _pread(fd, PATH_BYTES - _FIRST, address + _FIRST)
    finally:
        os.close(fd)
    return os.fsdecode(data.partition(b"\0")[0])


def directory(pid: int, fd: int) -> str:
    """The path of a descriptor, or of the working directory. Raises OSError."""
    signed = struct.unpack("i", struct.pack("I", fd & 0xFFFFFFFF))[0]
    return os.readlink(f"/proc/{pid}/cwd" if signed == AT_FDCWD else f"/proc/{pid}/fd/{signed}")


def descriptor_flags(pid: int, fd: int) -> int:
    """Open flags of a descriptor. Raises OSError, LookupError."""
    with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("flags:"):
                return int(line.split()[1], 8)
    raise LookupError(fd)


def open_how_flags(pid: int, address: int) -> int:
    """The flags in the ``struct open_how`` of an openat2. Raises OSError."""
    return int.from_bytes(read(pid, address, 8), "little")


# ---------------------------------------------------------------- network addresses

_FAMILIES = {0: "unspecified", 1: "unix", 2: "inet", 10: "inet6", 16: "netlink", 17: "packet", 40: "vsock"}


def address(pid: int, syscall: str, args: tuple[int, ...]) -> tuple[str, str]:
    """Family and text of the address that a connect or send goes to; empty where there is none. Raises OSError."""
    where, size = args[1], args[2]
    if syscall == "sendto":
        where, size = args[4], args[5]
    elif syscall in ("sendmsg", "sendmmsg"):
        head = read(pid, args[1], 16)
        where, size = struct.unpack("<QI", head[:12])
    if not where or size < 2:
        return "", ""
    return described(read(pid, where, min(size, 128)))


def described(data: bytes) -> tuple[str, str]:
    """Family and text of a ``struct sockaddr``."""
    number = int.from_bytes(data[:2], "little")
    family = _FAMILIES.get(number, f"family {number}")
    if number == 2 and len(data) >= 8:
        return family, f"{'.'.join(str(b) for b in data[4:8])}:{int.from_bytes(data[2:4], 'big')}"
    if number == 10 and len(data) >= 24:
        groups = ":".join(f"{int.from_bytes(data[i : i + 2], 'big'):x}" for i in range(8, 24, 2))
        return family, f"[{groups}]:{int.from_bytes(data[2:4], 'big')}"
    if number == 1:
        path = data[2:].partition(b"\0")[0] or b"@" + data[3:].rstrip(b"\0")
        return family, path.decode("utf-8", "backslashreplace")
    return family, family

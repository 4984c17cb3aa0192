"""A warm parent: an interpreter with everything loaded that skills import, which forks one process for each job.

It speaks with the runner over descriptor 3: a ``spawn`` frame with descriptors in, ``pid`` and ``exit`` frames out. It
stays uid 0, so that no job can touch it, and holds nothing that a job could use.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import types
from typing import Any, NoReturn

from sandbox.guest import enter, job, seccomp, syscalls, wire

CONTROL = 3

PRELOAD = (
    "argparse ast asyncio base64 binascii bisect bz2 calendar collections configparser contextlib copy csv dataclasses "
    "datetime decimal difflib enum errno fcntl filecmp fileinput fnmatch fractions functools getpass glob grp gzip hashlib "
    "heapq html io itertools json locale logging lzma math operator os pathlib platform pprint pwd queue random re secrets "
    "shlex shutil signal sqlite3 stat statistics string struct subprocess tarfile tempfile textwrap threading time "
    "traceback types typing unicodedata urllib.parse uuid warnings xml.etree.ElementTree zipfile zlib concurrent.futures "
    "asyncio.subprocess skill_api"
)


def preload() -> None:
    for name in PRELOAD.split():
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # a smaller image; the skill that needs it will say so
    _omni_aliases()
    if os.uname().machine in syscalls.NUMBERS:
        for classes in ((), ("read",), ("write",)):
            seccomp.machine_code(os.uname().machine, classes, enter.CONTROL_FD)
    gc.collect()
    gc.freeze()


def _omni_aliases() -> None:
    """The import path that Omni's own skills use, leading to the same decorator."""
    api = importlib.import_module("skill_api")
    for name in ("omni", "omni.foundation", "omni.foundation.api", "omni.foundation.api.decorators"):
        module = types.ModuleType(name)
        module.__path__ = []
        sys.modules[name] = module
    for name in ("omni.foundation.api", "omni.foundation.api.decorators"):
        sys.modules[name].skill_command = api.skill_command  # type: ignore[attr-defined]  # a module made just above


def main() -> NoReturn:
    """Serves until the runner closes its end."""
    preload()
    line = socket.socket(fileno=CONTROL)
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    wake_in, wake_out = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_out, warn_on_full_buffer=False)
    line.sendall(wire.encode({"hello": os.getpid(), "hash": f"{hash('probe') & 0xFFFFFFFF:08x}"}))
    poll = select.poll()
    poll.register(CONTROL, select.POLLIN)
    poll.register(wake_in, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == CONTROL:
                _serve(line, null)
            else:
                os.read(wake_in, 512)
                _report_exits(line)


def _report_exits(line: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        try:
            cwd = os.getcwd()
        except OSError:
            cwd = ""
        os.chdir("/")
        line.sendall(wire.encode({"exit": pid, "status": status, "cwd": cwd}))


def _serve(line: socket.socket, null: int) -> None:
    first, fds, _, _ = socket.recv_fds(line, 1 << 16, 8)
    if not first:
        os._exit(0)
    spec, parts = wire.read_frame(_Rest(line, first).read)
    sharing = spec["kind"] == "exec"
    refused = ""
    try:
        pid = enter.clone_sharing_cwd() if sharing else os.fork()
    except OSError as error:  # an earlier command of the run has used up all processes
        pid, refused = 0, error.strerror or "fork failed"
    else:
        if pid == 0:
            _child(spec, parts, null, fds)
    for fd in fds:
        os.close(fd)
    line.sendall(wire.encode({"pid": pid, "refused": refused}))


class _Rest:
    """Reads on from a socket after the first bytes came together with descriptors."""

    def __init__(self, line: socket.socket, first: bytes) -> None:
        self._line, self._held = line, first

    def read(self, count: int) -> bytes:
        while len(self._held) < count:
            more = self._line.recv(1 << 20)
            if not more:
                os._exit(0)
            self._held += more
        out, self._held = self._held[:count], self._held[count:]
        return out


def _child(spec: dict[str, Any], parts: list[bytes], null: int, fds: list[int]) -> None:
    """The job's process. Never comes back, whatever happens."""
    status = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        out, err, private, *control = fds
        nonce = bytes.fromhex(spec["nonce"])
        hidden, line = enter.take_descriptors(null, out, err, private, control[0] if control else None)
        try:
            seen = _enter(spec, line)
        except (OSError, LookupError) as error:
            job.write_all(hidden, job.frame(nonce, {"failed": f"the job's process could not be set up: {error}"}))
            return
        if spec["kind"] == "exec":
            _execute(spec, hidden, nonce, seen)
        status = _skill(spec, parts, hidden, nonce, seen)
        job.flush()
    finally:
        os._exit(status)


def _enter(spec: dict[str, Any], line: int | None) -> dict[str, str]:
    """Gives up what a job must not have; what it then sees of its surroundings."""
    enter.become_job(spec)
    enter.take_environment(spec["env"])
    seen = enter.probe() if spec["probe"] else {}
    if line is not None:
        enter.await_go(line, spec["watch"])
    return seen


def _execute(spec: dict[str, Any], hidden: int, nonce: bytes, seen: dict[str, str]) -> NoReturn:
    job.write_all(hidden, job.frame(nonce, {"probe": seen}))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execve(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as error:
        os.write(2, f"{spec['argv'][0]}: {error.strerror}\n".encode())
        os._exit(127)


def _skill(spec: dict[str, Any], parts: list[bytes], hidden: int, nonce: bytes, seen: dict[str, str]) -> int:
    source, args = parts[0].decode("utf-8", "surrogateescape"), json.loads(parts[1])
    for name in [n for n in sys.modules if n == "sandbox" or n.startswith("sandbox.")]:
        del sys.modules[name]
    try:
        message = job.perform(source, args, spec["function"], spec["trace"])
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    job.flush()
    job.write_all(hidden, job.frame(nonce, {**message, "probe": seen}))
    return 0

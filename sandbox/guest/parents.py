"""The runner's side of the warm parents: starting one per kind, hash seed and locale, asking it for processes. Guest side."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox.guest import private, wire

NORMAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MESSAGE = 1 << 16
TRIES = 6
"""How often a refused fork is tried again, a little later each time."""


@dataclass(frozen=True)
class Key:
    kind: str
    """``skill`` or ``shell``."""
    hash_seed: int = 0
    locale: str = "C.UTF-8"


class Refused(OSError):
    """There is no process to be had: the run has used them all up."""


class Parent:
    """One warm parent process, the line to it, and the processes that wait for a job."""

    def __init__(self, key: Key, boot: str, payload: bytes) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code_in, code_out = os.pipe()
        null = os.open("/dev/null", os.O_RDWR)
        moves = ((null, 0), (null, 1), (theirs.fileno(), 3), (code_in, 4))
        # Out of the way first, so that no number is overwritten before it has been used.
        high = [(os.dup(fd) if fd < 10 else fd, number) for fd, number in moves]
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for fd, number in high]
        argv = [sys.executable, "-s", "-B", "-c", boot % 4, key.kind]
        self.pid = os.posix_spawn(sys.executable, argv, _environment(key), file_actions=actions)
        for fd in {null, code_in, *(fd for fd, _ in high)} - {theirs.fileno()}:
            os.close(fd)
        theirs.close()
        self.line = ours
        self._standby: deque[tuple[int, socket.socket]] = deque()
        self._refused = ""
        with open(code_out, "wb") as code:
            code.write(len(payload).to_bytes(4, "big") + payload)
        self.hello = self._message()

    def exits(self) -> list[dict[str, Any]]:
        """Takes the next message; ended children, if it is about one. Call when ``line`` is ready."""
        message = self._message()
        return [message] if "exit" in message else []

    def spawn(self, spec: dict[str, Any], parts: list[bytes], fds: list[int], on_exit: Callable[[dict[str, Any]], None]) -> int:
        """Gives a waiting process its job; its pid. Exit messages of others that come meanwhile go to ``on_exit``.

        Raises:
            Refused: there is none and none can be made.
        """
        tries = 0
        while not self._standby:
            if self._refused:  # perhaps long ago, when a job had used up all processes
                if tries == TRIES:
                    raise Refused(self._refused)
                time.sleep(0.005 * tries)
                tries, self._refused = tries + 1, ""
                self.line.send(b"fork")
            for message in self.exits():
                on_exit(message)
        pid, line = self._standby.popleft()
        with line:
            data = wire.encode(spec, parts)
            try:
                sent = socket.send_fds(line, [data], fds)
            except ConnectionError:  # it was killed while it waited; another is on its way
                return self.spawn(spec, parts, fds, on_exit)
            if sent < len(data):  # even an empty send fails once the job has closed its end
                line.sendall(data[sent:])
        return pid

    def need(self, count: int) -> None:
        """Asks for so many waiting processes in all."""
        for _ in range(count - max(1, len(self._standby))):
            self.line.send(b"fork")

    def _message(self) -> dict[str, Any]:
        data, fds, _, _ = socket.recv_fds(self.line, MESSAGE, 1)
        if not data:
            raise ConnectionError("a warm parent is gone")
        message: dict[str, Any] = json.loads(data)
        if "standby" in message:
            self._standby.append((message["standby"], socket.socket(fileno=fds[0])))
            self._refused = ""
        elif "refused" in message:
            self._refused = message["refused"]
        return message


def _environment(key: Key) -> dict[str, str]:
    return {
        "PATH": NORMAL_PATH,
        "PYTHONHASHSEED": str(key.hash_seed),
        "LANG": key.locale,
        "LC_ALL": key.locale,
        "TZ": "UTC",
        "HOME": "/",
    }


class Parents:
    """All warm parents of this container, started when first asked for."""

    def __init__(self, boot: str, payload: bytes) -> None:
        self._boot, self._payload = boot, payload
        self._all: dict[Key, Parent] = {}

    def get(self, key: Key) -> Parent:
        if key not in self._all:
            self._all[key] = Parent(key, self._boot, self._payload)
        return self._all[key]

    def pids(self) -> set[int]:
        """The runner and its parents. Their waiting children are uid 0, which no job can be."""
        return {os.getpid(), *(p.pid for p in self._all.values())}


def fresh_key() -> bytes:
    return secrets.token_bytes(private.KEY_BYTES)

"""The runner's side of the warm parents: starting one per hash seed and locale, asking it for processes. Guest side."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from dataclasses import dataclass
from typing import Any

from sandbox.guest import wire

NORMAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Key:
    hash_seed: int = 0
    locale: str = "C.UTF-8"
    lane: int = 0
    """Shell jobs that run at once need a parent each: they share its working directory."""


class Parent:
    """One warm parent process and the socket to it."""

    def __init__(self, key: Key, boot: str, payload: bytes) -> None:
        ours, theirs = socket.socketpair()
        environment = {
            "PATH": NORMAL_PATH,
            "PYTHONHASHSEED": str(key.hash_seed),
            "LANG": key.locale,
            "LC_ALL": key.locale,
            "TZ": "UTC",
            "HOME": "/",
        }
        argv = [sys.executable, "-s", "-B", "-c", boot % 3, "warm"]
        null = os.open("/dev/null", os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, theirs.fileno(), 3)]
        self.pid = os.posix_spawn(sys.executable, argv, environment, file_actions=actions)
        os.close(null)
        theirs.close()
        self.line = ours
        ours.sendall(len(payload).to_bytes(4, "big") + payload)
        self.hello = self.receive()

    def receive(self) -> dict[str, Any]:
        return wire.read_frame(self._exactly)[0]

    def _exactly(self, count: int) -> bytes:
        chunks = []
        while count:
            chunk = self.line.recv(count)
            if not chunk:
                raise ConnectionError("a warm parent is gone")
            chunks.append(chunk)
            count -= len(chunk)
        return b"".join(chunks)

    def spawn(
        self, spec: dict[str, Any], parts: list[bytes], fds: list[int]
    ) -> tuple[int, str, list[dict[str, Any]]]:
        """Asks for one process; its pid (0 = refused), why it was refused, and exit frames of others that came first."""
        data = wire.encode(spec, parts)
        sent = socket.send_fds(self.line, [data], fds)
        self.line.sendall(data[sent:])
        early = []
        while "pid" not in (frame := self.receive()):
            early.append(frame)
        return int(frame["pid"]), str(frame["refused"]), early


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
        return {os.getpid(), *(p.pid for p in self._all.values())}


def nonce() -> bytes:
    return secrets.token_bytes(16)

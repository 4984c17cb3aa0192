"""Frames over an attached container: requests go to its stdin, answers come out of Docker's multiplexed stream."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any, Protocol

from sandbox.guest import wire
from sandbox.interface import Cause, SandboxError

_STREAM = struct.Struct(">BxxxL")
_STDOUT, _STDERR = 1, 2
_CHUNK = 1 << 18
_NOTES_BYTES = 20_000


class Socket(Protocol):
    """What is needed of an attached socket."""

    def sendall(self, data: bytes, /) -> None: ...
    def recv(self, size: int, /) -> bytes: ...
    def settimeout(self, seconds: float | None, /) -> None: ...
    def close(self) -> None: ...


class Channel:
    """One request, one answer, each within a deadline. After any error the channel is of no more use."""

    def __init__(self, sock: Socket) -> None:
        self._sock = sock
        self._raw = bytearray()
        self._out = bytearray()
        self._notes = bytearray()
        """What the runner wrote to stderr: diagnostics of our own side."""

    def send(self, data: bytes, timeout_s: float) -> None:
        """Writes bytes. Raises SandboxError (DEADLINE, ENGINE_LOST)."""
        try:
            self._sock.settimeout(timeout_s)
            self._sock.sendall(data)
        except TimeoutError:
            raise self._late(timeout_s) from None
        except OSError as error:
            raise self._lost(str(error)) from None

    def receive(self, timeout_s: float) -> tuple[dict[str, Any], list[bytes]]:
        """The next frame. Raises SandboxError (DEADLINE, ENGINE_LOST, PROTOCOL)."""
        deadline = time.monotonic() + timeout_s
        try:
            return wire.read_frame(lambda count: self._exactly(count, deadline, timeout_s))
        except wire.WireError as error:
            raise SandboxError(Cause.PROTOCOL, f"the sandbox sent what is no frame: {error}") from None

    def ask(self, header: dict[str, Any], parts: list[bytes], timeout_s: float) -> tuple[dict[str, Any], list[bytes]]:
        """Sends a request and waits for its answer."""
        self.send(wire.encode(header, parts), timeout_s)
        return self.receive(timeout_s)

    def close(self) -> None:
        self._sock.close()

    def notes(self) -> str:
        """The last line that the runner said about its own troubles."""
        lines = self._notes.decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def _exactly(self, count: int, deadline: float, timeout_s: float) -> bytes:
        while len(self._out) < count:
            self._fill(deadline, timeout_s)
        taken = bytes(self._out[:count])
        del self._out[:count]
        return taken

    def _fill(self, deadline: float, timeout_s: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._late(timeout_s)
        try:
            self._sock.settimeout(left)
            data = self._sock.recv(_CHUNK)
        except TimeoutError:
            raise self._late(timeout_s) from None
        except OSError as error:
            raise self._lost(str(error)) from None
        if not data:
            raise self._lost("the stream ended")
        self._raw += data
        self._demultiplex()

    def _demultiplex(self) -> None:
        while len(self._raw) >= _STREAM.size:
            stream, size = _STREAM.unpack_from(self._raw)
            if stream > _STDERR:
                raise SandboxError(Cause.PROTOCOL, "the engine's stream is not multiplexed as it should be")
            if len(self._raw) < _STREAM.size + size:
                return
            body = self._raw[_STREAM.size : _STREAM.size + size]
            del self._raw[: _STREAM.size + size]
            if stream == _STDOUT:
                self._out += body
            else:
                self._notes += body
                del self._notes[:-_NOTES_BYTES]

    def _late(self, timeout_s: float) -> SandboxError:
        return SandboxError(Cause.DEADLINE, f"the sandbox did not answer within {timeout_s:.0f} s", "The container is replaced")

    def _lost(self, why: str) -> SandboxError:
        said = f" ({note})" if (note := self.notes()) else ""
        return SandboxError(
            Cause.ENGINE_LOST, f"the connection to the sandbox was lost: {why}{said}", "Look at `assay engine status`"
        )


def plain(sock: Any) -> Socket:
    """The real socket below what the SDK hands out."""
    inner: object = getattr(sock, "_sock", sock)
    if not isinstance(inner, socket.socket):
        raise SandboxError(Cause.PROTOCOL, f"cannot attach over a {type(inner).__name__}")
    if inner is not sock:
        sock.close()  # only the wrapper: a socket closes when the last of its wrappers and itself are closed
    return inner

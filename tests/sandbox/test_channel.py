"""The channel: Docker's multiplexed stream on one side, frames on the other."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.channel import Channel, plain
from sandbox.guest import wire
from sandbox.interface import Cause, SandboxError


class ScriptedSocket:
    """Gives out prepared chunks; an exception in the list is raised, an empty list is the end of the stream."""

    def __init__(self, *chunks: bytes | OSError) -> None:
        self.chunks = list(chunks)
        self.sent = b""
        self.closed = False

    def sendall(self, data: bytes, /) -> None:
        if self.chunks and isinstance(self.chunks[0], BrokenPipeError):
            raise self.chunks[0]
        self.sent += data

    def recv(self, size: int, /) -> bytes:
        if not self.chunks:
            return b""
        chunk = self.chunks.pop(0)
        if isinstance(chunk, OSError):
            raise chunk
        return chunk

    def settimeout(self, seconds: float | None, /) -> None:
        assert seconds is None or seconds >= 0

    def close(self) -> None:
        self.closed = True


def multiplexed(data: bytes, stream: int = 1, size: int = 7) -> bytes:
    return b"".join(
        struct.pack(">BxxxL", stream, len(data[i : i + size])) + data[i : i + size] for i in range(0, len(data), size)
    )


@given(st.binary(max_size=300), st.integers(1, 40), st.integers(1, 40))
def test_any_chopping_gives_the_same_frame(part: bytes, size: int, chop: int) -> None:
    """It does not matter how the engine cuts its stream, nor how the socket does."""
    raw = multiplexed(wire.encode({"type": "hello"}, [part]), size=size) + multiplexed(b"note\n", stream=2)
    channel = Channel(ScriptedSocket(*(raw[i : i + chop] for i in range(0, len(raw), chop))))
    assert channel.receive(5.0) == ({"type": "hello"}, [part])


def test_a_question_is_written_as_a_frame() -> None:
    """What is asked reaches the container's stdin as it is, without multiplexing."""
    sock = ScriptedSocket(multiplexed(wire.encode({"type": "ok"})))
    assert Channel(sock).ask({"type": "put"}, [b"x"], 5.0) == ({"type": "ok"}, [])
    assert sock.sent == wire.encode({"type": "put"}, [b"x"])


@pytest.mark.parametrize(
    ("chunks", "cause"),
    [
        ([TimeoutError()], Cause.DEADLINE),
        ([], Cause.ENGINE_LOST),
        ([ConnectionResetError("reset")], Cause.ENGINE_LOST),
        ([multiplexed(b"\xff" * 40)], Cause.PROTOCOL),
        ([b"HTTP/1.1 500 Internal"], Cause.PROTOCOL),
    ],
)
def test_each_trouble_has_its_cause(chunks: list[bytes | OSError], cause: Cause) -> None:
    """A silent, a broken and a babbling engine are told apart."""
    with pytest.raises(SandboxError) as caught:
        Channel(ScriptedSocket(*chunks)).receive(0.5)
    assert caught.value.cause is cause


def test_the_runners_last_words_are_in_the_error() -> None:
    """When the stream ends, the error says what the runner wrote to stderr."""
    channel = Channel(ScriptedSocket(multiplexed(b"Traceback ...\nMemoryError: too much\n", stream=2)))
    with pytest.raises(SandboxError, match="MemoryError: too much"):
        channel.receive(1.0)


def test_a_broken_pipe_while_sending() -> None:
    """A container that is gone shows when writing, too."""
    with pytest.raises(SandboxError) as caught:
        Channel(ScriptedSocket(BrokenPipeError("pipe"))).send(b"x", 1.0)
    assert caught.value.cause is Cause.ENGINE_LOST


def test_what_is_no_socket_is_refused() -> None:
    """A transport that cannot be attached to is a clear error."""
    with pytest.raises(SandboxError, match="cannot attach"):
        plain(object())

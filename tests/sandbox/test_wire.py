"""Frames: what is written is read back, and nothing else is taken for a frame."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest import wire

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def reader(data: bytes) -> Callable[[int], bytes]:
    stream = io.BytesIO(data)

    def exactly(count: int) -> bytes:
        got = stream.read(count)
        if len(got) < count:
            raise EOFError
        return got

    return exactly


@given(st.dictionaries(st.text().filter(lambda k: k != "parts"), JSON), st.lists(st.binary(max_size=100)))
def test_round_trip(header: dict[str, object], parts: list[bytes]) -> None:
    """Header and parts survive, one frame after another."""
    read = reader(wire.encode(header, parts) * 2)
    assert wire.read_frame(read) == (header, parts)
    assert wire.read_frame(read) == (header, parts)


@given(st.binary(max_size=200))
def test_garbage_is_refused(data: bytes) -> None:
    """Foreign bytes end in WireError or in a short read, never in anything else."""
    with pytest.raises((wire.WireError, EOFError)):
        wire.read_frame(reader(data + b"\xff" * 12))


@given(st.integers(min_value=0, max_value=60))
def test_a_cut_frame_is_short(cut: int) -> None:
    """A frame that is cut anywhere is asked on for, not accepted."""
    data = wire.encode({"type": "x"}, [b"abc", b"defg"])
    with pytest.raises(EOFError):
        wire.read_frame(reader(data[: min(cut, len(data) - 1)]))


@pytest.mark.parametrize("text", [b"[]", b"{}", b'{"parts": 3}', b'{"parts": [-1]}', b'{"parts": [true]}', b"{", b"[" * 100_000])
def test_headers_without_sizes(text: bytes) -> None:
    """A header must be an object with a list of sizes."""
    with pytest.raises(wire.WireError):
        wire.parse_header(text)


def test_sizes_must_add_up() -> None:
    """Parts are cut from exactly the bytes that were announced."""
    with pytest.raises(wire.WireError):
        wire.split([1, 2], b"abcd")


def test_a_giant_frame_is_refused() -> None:
    """Lengths over the limit are refused before anything is read."""
    with pytest.raises(wire.WireError):
        wire.read_frame(reader(wire.HEAD.pack(1 << 31, 0)))

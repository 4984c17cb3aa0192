"""Frames between client and runner: lengths, a JSON header, raw bytes. Used on both sides; standard library only.

Layout: ``>IQ`` (header length, length of all parts), the header (JSON, ASCII), then the parts one after another; their
lengths are in the header under ``parts``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

HEAD = struct.Struct(">IQ")
MAX_HEADER = 64 << 20
MAX_PARTS = 1 << 30


class WireError(ValueError):
    """The bytes are no frame."""


def encode(header: dict[str, Any], parts: Sequence[bytes] = ()) -> bytes:
    """One frame, as bytes to be written in one go."""
    text = json.dumps({**header, "parts": [len(p) for p in parts]}).encode("ascii")
    return b"".join([HEAD.pack(len(text), sum(map(len, parts))), text, *parts])


def read_frame(read_exactly: Callable[[int], bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """Reads one frame through ``read_exactly(n)``, which returns n bytes or raises.

    Raises:
        WireError: lengths out of bounds, a header that is not a JSON object, part lengths that do not add up.
    """
    header_size, parts_size = HEAD.unpack(read_exactly(HEAD.size))
    if header_size > MAX_HEADER or parts_size > MAX_PARTS:
        raise WireError(f"a frame of {header_size} + {parts_size} bytes is over the limit")
    header = parse_header(read_exactly(header_size))
    blob = read_exactly(parts_size) if parts_size else b""
    return header, split(header.pop("parts"), blob)


def parse_header(text: bytes) -> dict[str, Any]:
    """The header as an object whose ``parts`` is a list of sizes."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise WireError("the header of a frame is not JSON") from None
    if not isinstance(header, dict):
        raise WireError("the header of a frame is not an object")
    sizes = header.get("parts")
    if not isinstance(sizes, list) or not all(type(s) is int and s >= 0 for s in sizes):
        raise WireError("the header of a frame has no list of part sizes")
    return header


def split(sizes: Sequence[int], blob: bytes) -> list[bytes]:
    """The parts of a frame, cut from the bytes that follow its header."""
    if sum(sizes) != len(blob):
        raise WireError(f"parts of {sum(sizes)} bytes were announced and {len(blob)} came")
    out, at = [], 0
    for size in sizes:
        out.append(blob[at : at + size])
        at += size
    return out

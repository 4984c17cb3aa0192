"""Looks through the objects of a foreign git directory before anything inflates them without bound."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping

MAX_INFLATED_BYTES = 64 << 20
"""Of all objects together; a git directory that holds more is compared byte by byte."""
_STEP = 1 << 14
_LOOSE = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38})")
_OFFSET, _NAMED = 6, 7
"""Pack entries that are differences to another one: gitformat-pack(5)."""


def check_objects(files: Mapping[str, bytes]) -> None:
    """Returns if every object can be inflated within bounds and every loose one is what its name says.

    Args:
        files: Path in the git directory -> content.

    Raises:
        ValueError: it is not so.
        zlib.error, IndexError: an object is cut off or broken.
    """
    left = MAX_INFLATED_BYTES
    for path, content in sorted(files.items()):
        loose = _LOOSE.fullmatch(path)
        if loose:
            body, _ = _inflated(content, 0, left)
            left -= len(body)
            if hashlib.sha1(body, usedforsecurity=False).hexdigest() != loose[1] + loose[2]:
                raise ValueError(f"{path} is not what its name says")
        elif path.startswith("objects/pack/") and path.endswith(".pack"):
            left -= _pack(content, left)


def _pack(data: bytes, most: int) -> int:
    """Bytes that a pack's objects take when they are inflated and put together. Raises ValueError where they are more."""
    count, at, total = int.from_bytes(data[8:12], "big"), 12, 0
    if count * 10 > len(data):
        raise ValueError("a pack with more objects than it has room for")
    for _ in range(count):
        kind, (size, at) = (data[at] >> 4) & 7, _size(data, at, 4)
        if kind == _OFFSET:
            _, at = _size(data, at, 7)
        at += 20 if kind == _NAMED else 0
        body, at = _inflated(data, at, most - total)
        whole = size if kind not in (_OFFSET, _NAMED) else _size(body, _size(body, 0, 7)[1], 7)[0]
        total += max(len(body), whole)
        if len(body) != size or total > most:
            raise ValueError("a pack that inflates too far, or to another size than it says")
    return total


def _size(data: bytes, at: int, bits: int) -> tuple[int, int]:
    """A number of 7 bits a byte (``bits`` in the first), lowest first, and where it ends."""
    value, shift = data[at] & ((1 << bits) - 1), bits
    while data[at] & 0x80:
        at += 1
        value |= (data[at] & 0x7F) << shift
        shift += 7
        if shift > 63:
            raise ValueError("a size beyond all measure")
    return value, at + 1


def _inflated(data: bytes, at: int, most: int) -> tuple[bytes, int]:
    """One zlib stream that begins at ``at``, and where it ends."""
    stream, out, total = zlib.decompressobj(), [], 0
    while not stream.eof:
        piece = data[at : at + _STEP]
        if not piece:
            raise ValueError("an object that is cut off")
        out.append(stream.decompress(piece, most - total + 1))
        total += len(out[-1])
        if total > most or stream.unconsumed_tail:
            raise ValueError("objects that inflate too far")
        at += len(piece)
    return b"".join(out), at - len(stream.unused_data)

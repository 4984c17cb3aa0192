"""What a job's process says over its private pipe: sealed and numbered frames, so that nothing else is taken for one.

The key itself never travels: whoever gets hold of a frame can neither change it, nor say it again, nor make another. A frame
that is taken away shows, because its number is missing. Guest side, of both ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable
from typing import Any

KEY_BYTES = 16
SEAL_BYTES = 16
_LENGTH = struct.Struct(">I")
_HEAD = SEAL_BYTES + _LENGTH.size
_blake2b = hashlib.blake2b


def _seal(key: bytes, number: int, text: bytes) -> bytes:
    return _blake2b(_LENGTH.pack(number) + text, key=key, digest_size=SEAL_BYTES).digest()


def frame(key: bytes, number: int, message: dict[str, Any]) -> bytes:
    """The frame of this number (they count from 0)."""
    text = json.dumps(message).encode("ascii")
    return _seal(key, number, text) + _LENGTH.pack(len(text)) + text


def speaker(key: bytes, fd: int) -> Callable[[dict[str, Any]], None]:
    """What says one message after another. Key and number are held by nothing else."""
    number = 0

    def say(message: dict[str, Any]) -> None:
        nonlocal number
        data = frame(key, number, message)
        number += 1
        write_all(fd, data)

    return say


def parse_frames(key: bytes, data: bytes) -> tuple[list[bytes], list[str]]:
    """The messages in what came over the job's private pipe, and what else was there, described."""
    found: list[bytes] = []
    while data:
        if len(data) < _HEAD:
            return found, [f"{len(data)} bytes that are no frame came over the job's private pipe"]
        (size,) = _LENGTH.unpack(data[SEAL_BYTES:_HEAD])
        text = data[_HEAD : _HEAD + size]
        cut = len(text) < size
        if cut or data[:SEAL_BYTES] != _seal(key, len(found), text):
            what = "are cut short or no frame" if cut else "are no frame, or not the next one"
            return found, [f"{len(data)} bytes that {what} came over the job's private pipe"]
        found.append(text)
        data = data[_HEAD + size :]
    return found, []


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]

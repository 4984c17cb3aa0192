"""What a job's process says over its private pipe: frames that carry a secret, so that nothing else is taken for one.

Guest side, of both ends.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any

NONCE_BYTES = 16
_LENGTH = struct.Struct(">I")


def frame(nonce: bytes, message: dict[str, Any]) -> bytes:
    text = json.dumps(message).encode("ascii")
    return nonce + _LENGTH.pack(len(text)) + text


def parse_frames(nonce: bytes, data: bytes) -> tuple[list[bytes], list[str]]:
    """The messages in what came over the job's private pipe, and what else was there, described."""
    found: list[bytes] = []
    while data:
        body = data[NONCE_BYTES + _LENGTH.size :]
        if not data.startswith(nonce) or len(data) < NONCE_BYTES + _LENGTH.size:
            return found, [f"{len(data)} bytes that are no frame came over the job's private pipe"]
        (size,) = _LENGTH.unpack(data[NONCE_BYTES : NONCE_BYTES + _LENGTH.size])
        if len(body) < size:
            return found, ["the job's frame is cut short"]
        found.append(body[:size])
        data = body[size:]
    return found, []


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]

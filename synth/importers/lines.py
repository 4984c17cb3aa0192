"""Session files line by line: of any size, cut in the middle, with bytes that are no text. One bad line costs that line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from synth.importers.common import Dropped
from verifiers.interface import EvidenceError

LONGEST = 64 << 20
"""Bytes of one line: a session writes a message a line, and no message is that long."""

Line = tuple[str, Mapping[str, Any]]


def session_lines(path: Path, dropped: list[Dropped]) -> Iterator[Line]:
    """``(where, record)`` of every JSON object of a file with one a line; what is none goes to ``dropped``.

    Raises:
        EvidenceError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST):
                number += 1
                record = _record(line.removeprefix(b"\xef\xbb\xbf"), f"{path}:{number}", dropped)
                if record is not None:
                    yield f"{path}:{number}", record
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e


def _record(line: bytes, where: str, dropped: list[Dropped]) -> Mapping[str, Any] | None:
    if not line.strip():
        return None
    try:
        found = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        whole = line.endswith(b"\n")
        dropped.append(Dropped(where, "line", "it is no JSON" if whole else "the file ends in the middle of it"))
        return None
    if not isinstance(found, dict):
        dropped.append(Dropped(where, "line", "it is no JSON object"))
        return None
    return found

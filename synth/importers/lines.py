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
    for where, found in json_lines(path, dropped):
        if isinstance(found, dict):
            yield where, found
        else:
            dropped.append(Dropped(where, "line", "it is no JSON object"))


def json_lines(path: Path, dropped: list[Dropped], comment: str | None = None) -> Iterator[tuple[str, Any]]:
    """``(where, value)`` of every line that is JSON; what is none goes to ``dropped``.

    Args:
        comment: What lines begin with that say nothing.

    Raises:
        EvidenceError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST):
                number += 1
                text = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").strip()
                if not text or (comment is not None and text.startswith(comment)):
                    continue
                try:
                    yield f"{path}:{number}", json.loads(text)
                except (ValueError, RecursionError):
                    whole = line.endswith(b"\n")
                    why = "it is no JSON" if whole else "the file ends in the middle of it"
                    dropped.append(Dropped(f"{path}:{number}", "line", why))
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e

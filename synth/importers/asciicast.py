"""Asciicasts (``.cast``, versions 2 and 3): what a terminal showed, and when.

Source of the format: asciinema's own descriptions and recordings. A version 3 has the time since the event before, and comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from synth.importers.common import Dropped, ImportReport, UnknownFormat, parse_time
from synth.importers.lines import json_lines
from synth.importers.recording import Recording, bounded, report

VERSIONS = (2, 3)
_SIZE = re.compile(r"(\d{1,4})x(\d{1,4})")
_SHELLS = re.compile(r"(?:\S*/)?(?:ba|z|fi|da|k)?sh(?:\s+-\w+)*")


def looks_like(record: Mapping[str, Any]) -> bool:
    return "version" in record and ("width" in record or isinstance(record.get("term"), Mapping))


def read(path: Path) -> ImportReport:
    """The trace of a recording.

    Raises:
        EvidenceError: the file cannot be read.
        UnknownFormat: another version, or more than a terminal shows in reasonable time.
    """
    dropped: list[Dropped] = []
    return report("asciicast", path, load(path, dropped), dropped)


def load(path: Path, dropped: list[Dropped]) -> Recording:
    """What an asciicast holds; lines that are no events go to ``dropped``.

    Raises:
        EvidenceError: the file cannot be read.
        UnknownFormat: another version, or too large.
    """
    records = json_lines(bounded(path), dropped, comment="#")
    head = next((value for _, value in records if isinstance(value, Mapping)), {})
    version = head.get("version")
    if version not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        raise UnknownFormat(f"asciicast version {version!r} is not known", f"Known versions: {known}", path)
    command, title = head.get("command"), head.get("title")
    pieces, seconds = _pieces(head, records, dropped)
    alone = isinstance(command, str) and not _SHELLS.fullmatch(command.strip())
    return Recording(
        pieces, title if isinstance(title, str) else "", str(command) if alone else "", parse_time(head.get("timestamp")), seconds
    )


def _pieces(
    head: Mapping[str, Any], records: Iterator[tuple[str, Any]], dropped: list[Dropped]
) -> tuple[list[tuple[int, int, str]], float]:
    """What was printed in each size of the terminal, and the seconds that it took."""
    term = head.get("term")
    size = (_whole(term.get("cols")), _whole(term.get("rows"))) if isinstance(term, Mapping) else (0, 0)
    columns, lines = size if any(size) else (_whole(head.get("width")), _whole(head.get("height")))
    pieces, said, seconds = [], [], 0.0
    for where, event in records:
        if not _is_event(event):
            dropped.append(Dropped(where, "line", "it is no event"))
            continue
        # Version 3 has the time since the event before.
        seconds = seconds + event[0] if head.get("version") == 3 else event[0]
        changed = _SIZE.fullmatch(event[2]) if event[1] == "r" else None
        if event[1] == "o":
            said.append(event[2])
        elif changed:
            pieces.append((columns, lines, "".join(said)))
            columns, lines, said = int(changed[1]), int(changed[2]), []
    return [*pieces, (columns, lines, "".join(said))], seconds if 0 <= seconds < 1e9 else 0.0


def _is_event(value: object) -> bool:
    return (
        isinstance(value, list) and len(value) == 3 and isinstance(value[0], int | float) and 0 <= value[0] < 1e9
        and isinstance(value[2], str)
    )  # fmt: skip


def _whole(value: object) -> int:
    """A size; 0 for what is none."""
    return value if isinstance(value, int) and value < 1e9 else 0

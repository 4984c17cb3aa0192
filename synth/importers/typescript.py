"""Typescripts: what ``script`` wrote, byte for byte as the terminal got it.

Source of the format: typescripts of util-linux (which names the size of the terminal) and of BSD (which does not).
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from synth.importers.common import ImportReport, UnknownFormat, parse_time
from synth.importers.recording import Recording, bounded, report
from verifiers.interface import EvidenceError

_STARTED = re.compile(rb"\AScript started on ([^\n]*?)\r?\n")
_DONE = re.compile(r'\r?\n?Script done on [^\n]*?(?:COMMAND_EXIT_CODE="(\d+)"[^\n]*)?\s*\Z')
_COLUMNS, _LINES = re.compile(r'COLUMNS="(\d{1,4})"'), re.compile(r'LINES="(\d{1,4})"')
_ZSH = re.compile(r"[%#](?:\x1b\[[0-9;]*m)*( {20,})\r \r")
"""What zsh prints before a prompt: a mark, and blanks to the end of the line."""
_NO_SIZE = (500, 100)
"""A terminal on which few lines are cut."""


def looks_like(text: str) -> bool:
    return text.startswith("Script started on ")


def read(path: Path) -> ImportReport:
    """The trace of a typescript, whose bytes may be anything.

    Raises:
        EvidenceError: the file cannot be read.
        UnknownFormat: it is no typescript, or too large.
    """
    try:
        raw = bounded(path).read_bytes()
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e
    head = _STARTED.match(raw)
    if head is None:
        raise UnknownFormat("is no typescript", "Its first line is 'Script started on …'", path)
    facts = head[1].decode("utf-8", "replace")
    columns, lines = _COLUMNS.search(facts), _LINES.search(facts)
    text = raw[head.end() :].decode("utf-8", "replace")
    done = _DONE.search(text)
    text = text[: done.start()] if done else text
    if "\r\n" not in text:
        text = text.replace("\n", "\r\n")  # an editor's: a terminal would go down only
    blanks = _ZSH.search(text)
    wide = int(columns[1]) if columns else len(blanks[1]) + 1 if blanks else _NO_SIZE[0]
    size = (wide, int(lines[1]) if lines else _NO_SIZE[1])
    # That of the shell is that of its last command.
    failed = done is not None and done[1] not in (None, "0")
    return report("typescript", path, Recording([(*size, text)], time=_time(facts)), [], not failed)


def _time(facts: str) -> datetime | None:
    """``2026-01-30 20:48:35+00:00`` or ``Fri Jan 30 20:48:35 2026``."""
    text = facts.partition(" [")[0].strip()
    try:
        return parse_time(text) or parse_time(datetime.strptime(text, "%a %b %d %H:%M:%S %Y").isoformat())
    except ValueError:
        return None

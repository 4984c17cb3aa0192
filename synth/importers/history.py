"""Histories of bash, zsh and fish: commands without outputs, exit codes and directories. What came of them is not known.

Source of the formats: the shells' own files. bash writes ``#seconds`` before a command where it was told to; zsh ``: seconds:0;``
in its extended form, a backslash before each newline inside a command, and some bytes changed with 0x83 before them; fish a list
of ``- cmd:`` and ``when:``. What several shells wrote into one file stands in no order but that of the times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from synth.importers.common import Dropped, ImportReport
from synth.importers.recording import bounded
from verifiers.interface import EvidenceError

LARGEST = 64 << 20
PAUSE_S = 30 * 60
"""Longer than this between two commands, and the second begins another task."""
_NAME = re.compile(r"(?:^|[._-])(?:bash|zsh|fish|sh)?_?hist(?:ory|file)$|\.history$")
_BASH, _ZSH = re.compile(r"#(\d{9,11})"), re.compile(r": (\d{9,11}):\d+;(.*)", re.DOTALL)
_FISH, _WHEN = re.compile(r"- cmd: ?(.*)"), re.compile(r"  when: (\d{9,11})")
_META = re.compile(rb"\x83(.)", re.DOTALL)
_NO_TIMES = "a history without times: where one task ends and the next begins is not in it"
_NO_OUTPUTS = "a history holds no outputs, exit codes or directories: a replay could not be compared with anything"

Command = tuple[int, int | None, str]
"""Line, seconds since the epoch where they are known, and text."""


def looks_like(path: Path, text: str) -> bool:
    """Whether the times of one of the shells stand in the first lines, or the file's name says so."""
    return _shell(text) != "" or bool(_NAME.search(path.name) and text.strip() and "\0" not in text)


def _shell(text: str) -> str:
    """The shell whose times stand in the first lines; "" where none do."""
    lines = [line.rstrip("\r") for line in text.split("\n", 20)[:20]]
    if any(map(_FISH.match, lines)) and any(map(_WHEN.match, lines)):
        return "fish"
    return "zsh" if any(map(_ZSH.match, lines)) else "bash" if any(map(_BASH.fullmatch, lines)) else ""


def read(path: Path) -> ImportReport:
    """A report without traces: how many tasks there were, and what is missing.

    Raises:
        EvidenceError: the file cannot be read.
        UnknownFormat: it is too large.
    """
    try:
        raw = bounded(path, LARGEST).read_bytes()
    except OSError as e:
        raise EvidenceError(f"cannot be read: {e.strerror}", "", path) from e
    commands = list(_commands(raw))
    timed = sorted(((when, line) for line, when, _ in commands if when is not None))
    dropped = [Dropped(f"{path}:{line}", "trace", _NO_OUTPUTS) for line in _firsts(timed)]
    untimed = len(commands) - len(timed)
    if untimed:
        dropped.append(Dropped(str(path), "trace" if timed else "file", _NO_TIMES + f" ({untimed} commands)"))
    return ImportReport("history", dropped=tuple(dropped), sessions=1)


def _firsts(timed: list[tuple[int, int]]) -> Iterator[int]:
    """The line of the first command of each task."""
    before: int | None = None
    for when, line in timed:
        if before is None or when - before > PAUSE_S:
            yield line
        before = when


def _commands(raw: bytes) -> Iterator[Command]:
    text = raw.decode("utf-8", "replace")
    shell = _shell(text)
    if shell == "zsh":
        return _zsh(_META.sub(lambda m: bytes([m[1][0] ^ 32]), raw).decode("utf-8", "replace"))
    return _fish(text) if shell == "fish" else _bash(text)


def _bash(text: str) -> Iterator[Command]:
    """With times, all lines up to the next time are one command; without, each line is."""
    when: int | None = None
    for number, line in enumerate(text.split("\n"), 1):
        stamp = _BASH.fullmatch(line.rstrip("\r"))
        if stamp:
            when, fresh = int(stamp[1]), True
        elif line.strip() and (when is None or fresh):
            yield number, when, line
            fresh = False


def _zsh(text: str) -> Iterator[Command]:
    number = 1
    for entry in re.split(r"(?<!\\)\n", text):
        found = _ZSH.match(entry)
        if entry.strip():
            yield number, int(found[1]) if found else None, found[2] if found else entry
        number += entry.count("\n") + 1


def _fish(text: str) -> Iterator[Command]:
    command: tuple[int, str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        begins, when = _FISH.match(line), _WHEN.match(line)
        if command is not None and (begins or when):
            yield command[0], int(when[1]) if when else None, command[1]
            command = None
        if begins:
            command = (number, begins[1])
    if command is not None:
        yield command[0], None, command[1]

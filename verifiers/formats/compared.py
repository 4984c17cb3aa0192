"""Two sides of a finding, line beside line, for the HTML page."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from verifiers.formats.effects import Side
from verifiers.formats.text import clip

MAX_TEXT = 8000
MAX_SHORT = 48
_CONTENT = re.compile(r"(?P<size>\d+ bytes) (?P<quote>['\"])(?P<text>.*)(?P=quote)", re.DOTALL)
"""A file's content as findings quote it."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a side: ``kind`` is ``same`` or ``other`` (not on the other side)."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sides under a heading, each with its size where it is a file's content."""

    heading: str
    expected: tuple[DiffLine, ...]
    observed: tuple[DiffLine, ...]
    expected_size: str = ""
    observed_size: str = ""


def compare(side: Side) -> Compared:
    """Both sides of a difference as they are shown."""
    contents = _CONTENT.fullmatch(side.expected), _CONTENT.fullmatch(side.observed)
    if contents[0] is None or contents[1] is None:
        return Compared(side.heading, *side_by_side(clip(side.expected, MAX_TEXT), clip(side.observed, MAX_TEXT)))
    left, right = (clip(_as_lines(c["text"]), MAX_TEXT).split("\n") for c in contents if c is not None)
    return Compared(side.heading, *matched(left, right), contents[0]["size"], contents[1]["size"])


def _as_lines(quoted: str) -> str:
    """A quoted content with its line ends as line ends; what the last line lacks is said."""
    if not quoted:
        return "(nothing)"
    text = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[0], quoted)
    return text.removesuffix("\n") if text.endswith("\n") else f"{text}\n(no newline at the end)"


def side_by_side(expected: str, observed: str) -> tuple[tuple[DiffLine, ...], tuple[DiffLine, ...]]:
    """The lines of both sides, those that the other side does not have marked. Both empty if there is nothing to show."""
    if not expected and not observed:
        return (), ()
    return matched(_lines(expected), _lines(observed))


def apart(both: Compared) -> tuple[str, str]:
    """The first line of each side that the other does not have, in short."""
    lines = (next((line.text for line in side if line.kind == "other"), "nothing") for side in (both.expected, both.observed))
    expected, observed = (clip(line.strip(), MAX_SHORT) for line in lines)
    return expected, observed


def matched(left: Sequence[str], right: Sequence[str]) -> tuple[tuple[DiffLine, ...], tuple[DiffLine, ...]]:
    """The lines of both sides, those that the other side does not have marked."""
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    same_left = {i + n for i, _, size in matcher.get_matching_blocks() for n in range(size)}
    same_right = {j + n for _, j, size in matcher.get_matching_blocks() for n in range(size)}
    return _marked(left, same_left), _marked(right, same_right)


def _lines(text: str) -> list[str]:
    """Lines as shown: a line end that stands in the text as ``\\n`` (a quoted content) ends a line too, and stays visible."""
    return re.sub(r"\\n(?=.)", "\\\\n\n", text).splitlines() or ["nothing"]


def _marked(lines: Sequence[str], same: set[int]) -> tuple[DiffLine, ...]:
    return tuple(DiffLine("same" if n in same else "other", line) for n, line in enumerate(lines))

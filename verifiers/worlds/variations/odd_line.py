"""A line of another kind than those around it."""

from __future__ import annotations

from verifiers.worlds.records import in_parts, takes_lines
from verifiers.worlds.variation import Example, Stage, Turns, Variation, of_content, pairs

_COLUMNS = (b",", b";", b"\t", b"|", b":")


def with_line(content: bytes, line: bytes) -> bytes:
    """Text with one more line in the middle; the first and the last line stay what they are. A table gets no row without columns:
    what is right for it no recording says, and commands do it by chance (``cut`` prints it whole). A blank line is no row."""
    if content.count(b"\n") < 2 or not takes_lines(content) or (line.strip() and in_parts(content)):
        return content
    lines = content.split(b"\n")
    counts = ({row.count(mark) for row in lines if row} for mark in _COLUMNS)
    if line.strip() and any(len(count) == 1 and count != {0} for count in counts):
        return content
    return b"\n".join([*lines[: len(lines) // 2], line, *lines[len(lines) // 2 :]])


LINES = ("", "word", "  two words ")
VARIATIONS = (
    Variation(
        name="odd-line", why="A file has a blank line, a line of one word, or one with blanks at its ends.",
        choices=lambda g: pairs(g.contents, LINES),
        apply=of_content(lambda content, _d, _p, line: with_line(content, line.encode())),
        stage=Stage.EDIT, turns=Turns.SHARED, alone=3 * len(LINES),
        odd="line",
        examples=(
            Example(("a", ""), {"a": "1\n2\n3\n"}, {"a": "1\n2\n\n3\n"}),
            Example(("a", "word"), {"a": "k,1\nl,2\nm,3\n"}, {"a": "k,1\nl,2\nm,3\n"}),
        ),
    ),
)  # fmt: skip

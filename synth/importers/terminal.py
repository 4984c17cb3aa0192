"""What a terminal showed: recorded bytes through a terminal, as lines of text, with the commands that were typed.

A shell tells the terminal when it begins to read a line and when the line is complete (bracketed paste, ``?2004``), which marks
commands behind any prompt. A recording without these marks has its commands told by the look of prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyte

LARGEST = 16 << 20
"""Bytes of a recording: a terminal shows about a million a second."""
_WIDEST, _HIGHEST = 1000, 500
_READS, _SCREENS = 2004, frozenset({47, 1047, 1049})
_KNOWN = "|".join((
    r"\x1b[78DEMH]", r"\x1b\[\?\d{1,4}(?:;\d{1,4}){0,8}[hl]", r"\x1b\[4[hl]", r"\x1b\[[0-3]?J", r"\x1b\[[0-2]?K",
    r"\x1b\[\d{0,4}[@A-GILMPXade]", r"\x1b\[(?:\d{1,4}(?:;\d{1,4})?)?[Hfr]",
))  # fmt: skip
_TOKEN = re.compile(
    rf"(?P<known>{_KNOWN})|\x1b\][^\x07\x1b]{{0,4096}}(?:\x07|\x1b\\)|\x1b[PX^_].{{0,4096}}?\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]"
    r"|(?P<text>[^\x1b\x00-\x06\x0e-\x1f\x7f-\x9f]+)|.",
    re.DOTALL,
)
"""Sequences that move or erase, others (colours, titles), and text. What is neither is left out."""
_PROMPT_END = re.compile(r"[$#%>❯➜λ»](?:\s(?P<command>.*)|\Z)", re.DOTALL)


class Screen(pyte.Screen):
    """A terminal that keeps what scrolled away, which lines are one, and what was typed."""

    def __init__(self, columns: int, lines: int) -> None:
        self.past: list[Any] = []
        self.typed: dict[int, str] = {}
        """Line, by its identity -> the command that begins in it."""
        self.full = False
        """Whether a program took the whole screen after the first prompt."""
        self.marked = False
        """Whether the shell said where commands are typed."""
        self.unclear = False
        """Whether something was typed behind a prompt that looks like none."""
        self._inside: dict[int, Any] = {}
        """Lines that a command goes on in."""
        self._wraps: dict[int, Any] = {}
        self._drawing = False
        self._reading: tuple[Any, int] | None = None
        self._kept: dict[int, Any] | None = None
        super().__init__(columns, lines)

    def draw(self, data: str) -> None:
        self._drawing = True
        super().draw(data)
        self._drawing = False

    def linefeed(self) -> None:
        if self._drawing:
            line = self.buffer[self.cursor.y]
            self._wraps[id(line)] = line
        super().linefeed()

    def index(self) -> None:
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y == bottom and top == 0 and self._kept is None:
            self.past.append(self.buffer[0])
        super().index()

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        whole = how in (2, 3) or (how == 0 and (self.cursor.x, self.cursor.y) == (0, 0))
        if whole and self._kept is None:
            self._put_away()
        super().erase_in_display(how, *args, **kwargs)

    def _put_away(self) -> None:
        """What is shown becomes the past: nothing that was printed is lost by clearing the screen."""
        shown = [self.buffer[y] for y in range(self.lines)]
        while shown and not self._text(shown[-1]):
            shown.pop()
        self.past += shown
        self.buffer.clear()

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and _SCREENS & set(modes) and self._kept is None:
            self._kept, self.full = dict(self.buffer), self.full or self.marked
            self.save_cursor()
            self.buffer.clear()
        elif kwargs.get("private") and _READS in modes:
            self._reading, self.marked = (self.buffer[self.cursor.y], self.cursor.x), True
        elif not kwargs.get("private"):
            super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and _SCREENS & set(modes) and self._kept is not None:
            self.buffer.clear()
            self.buffer.update(self._kept)
            self._kept = None
            self.restore_cursor()
        elif kwargs.get("private") and _READS in modes and self._reading is not None:
            self._read(*self._reading)
            self._reading = None
        elif not kwargs.get("private"):
            super().reset_mode(*modes, **kwargs)

    def _read(self, line: Any, prompt: int) -> None:
        """A line is complete: zsh says so at its end, bash on the next one."""
        rows = [*self.past[-_HIGHEST:], *(self.buffer[y] for y in range(self.cursor.y + 1))]
        begin = next((n for n in range(len(rows) - 1, -1, -1) if rows[n] is line), len(rows))
        if not self.cursor.x and len(rows) - begin > 1:
            rows.pop()
        parts = []
        for n in range(begin, len(rows)):
            last = n == len(rows) - 1
            parts.append(self._text(rows[n], prompt if n == begin else 0, self.cursor.x or None if last else None))
            parts.append("" if last or id(rows[n]) in self._wraps else "\n")
            self._inside |= {id(rows[n]): rows[n]} if n > begin and id(rows[n - 1]) not in self._wraps else {}
        whole = "".join(parts)
        found = _PROMPT_END.search(whole) if not prompt else None
        self.unclear = self.unclear or (not prompt and found is None and bool(whole))
        self.typed[id(line)] = whole if prompt else (found["command"] or "" if found else "")

    def _text(self, line: Any, begin: int = 0, end: int | None = None) -> str:
        """Cells of a line as text; the blanks at its end are nobody's, unless the next one goes on."""
        stop = min(self.columns, end if end is not None else max(line, default=-1) + 1)
        text = "".join(line[x].data for x in range(begin, stop))
        return text if id(line) in self._wraps else text.rstrip()

    def rows(self) -> Iterator[tuple[str, str | None]]:
        """Each line, and the command that was typed in it. What did not fit in one line is one here."""
        text: str = ""
        command: str | None = None
        for line in [*self.past, *(self.buffer[y] for y in range(self.lines))]:
            if id(line) in self._inside:
                continue
            text, command = text + self._text(line), self.typed.get(id(line), command)
            if id(line) not in self._wraps:
                yield text, command
                text, command = "", None


def shown(pieces: Iterable[tuple[int, int, str]]) -> Screen:
    """The terminal after all that was printed.

    Args:
        pieces: Columns, lines, and what was printed while it had that size; a size that no terminal has becomes one.
    """
    screen = Screen(80, 24)
    stream = pyte.Stream(screen)
    for columns, lines, text in pieces:
        screen.resize(min(max(lines, 2), _HIGHEST), min(max(columns, 2), _WIDEST))
        stream.feed("".join(m[0] for m in _TOKEN.finditer(text) if m["known"] or m["text"]))
    return screen

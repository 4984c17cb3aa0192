"""What a terminal showed: recorded bytes through a terminal, as lines of text, with the commands that were typed.

A shell tells the terminal when it begins to read a line and when the line is complete (bracketed paste, ``?2004``), which marks
commands behind any prompt. A recording without these marks has its commands told by the look of prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyte

LARGEST = 4 << 20
"""Bytes of a recording: to show a million takes some seconds."""
_WIDEST, _HIGHEST = 500, 200
_READS, _PROMPT, _SCREENS = 2004, 9001, frozenset({47, 1047, 1049})
"""Private modes of a terminal: a line is read, a prompt begins (ours), another screen."""
_KNOWN = "|".join((
    r"\x1b[78DEMH]", r"\x1b\[\?\d{1,4}(?:;\d{1,4}){0,8}[hl]", r"\x1b\[4[hl]", r"\x1b\[[0-3]?J", r"\x1b\[[0-2]?K",
    r"\x1b\[\d{0,4}[@A-GILMPXade]", r"\x1b\[(?:\d{1,4}(?:;\d{1,4})?)?[Hfr]",
))  # fmt: skip
_OTHERS = r"\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b[PXk^_].{0,4096}?\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]|."
_TOKEN = re.compile(
    r"(?P<prompt>\x1b\[(?:0(?:;10)?)?m\x0f?\x1b\[2[37]m\x1b\[24m\x1b\[J)"
    rf"|(?P<known>{_KNOWN})|(?P<text>[^\x1b\x00-\x06\x0e-\x1f\x7f-\x9f]+)|{_OTHERS}",
    re.DOTALL,
)
"""How zsh begins a prompt, sequences that move or erase, text; others (colours, titles) are left out, as is what is none."""
_PROMPT_END = re.compile(r"[$#%>❯➜λ»](?:\s(?P<command>.*)|\Z)", re.DOTALL)


class Screen(pyte.Screen):
    """A terminal that keeps what scrolled away, which lines are one, and what was typed."""

    def __init__(self, columns: int, lines: int) -> None:
        self.past: list[Any] = []
        self._typed: dict[int, tuple[Any, str, str]] = {}
        """By the identity of a line, which is kept: the line, the command that begins in it, and what stood before its prompt."""
        self.full = False
        """Whether a program took the whole screen."""
        self.marked = False
        """Whether the shell said where commands are typed."""
        self.unclear = False
        """Whether something was typed behind a prompt that looks like none."""
        self.inner = False
        """Whether something was typed behind a prompt that is not the shell's: a program's, or another shell's."""
        self._shell: object = None
        """What the prompts of the recording's shell have in common."""
        self._inside: dict[int, Any] = {}
        """Lines that a command goes on in."""
        self._wraps: dict[int, Any] = {}
        self._drawing = False
        self._prompt: Any = None
        """The line that a prompt of zsh begins in, and below, where it ends: it may be drawn again while a line is read."""
        self._end: tuple[Any, int] | None = None
        self._reading: tuple[Any, int] | None = None
        """The line and column in which what is typed begins."""
        self._right = False
        """Whether a prompt stands at the right of it too."""
        self._accepted: list[int | None] = []
        """Of a line that is complete, where it is cut."""
        self._kept: dict[int, Any] | None = None
        super().__init__(columns, lines)

    def draw(self, data: str) -> None:
        self._drawing = True
        super().draw(data)
        self._drawing = False

    def linefeed(self) -> None:
        line = self.buffer[self.cursor.y]
        if self._drawing:
            self._wraps[id(line)] = line
        elif self._accepted:
            self._read(line, self._accepted.pop())
        super().linefeed()

    def index(self) -> None:
        if self.margins is not None or self.cursor.y < self.lines - 1:
            super().index()
            return
        if self._kept is None:
            self.past.append(self.buffer[0])
        moved = {y - 1: line for y, line in self.buffer.items() if y}
        self.buffer.clear()
        self.buffer.update(moved)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        if how in (2, 3) or (how == 0 and (self.cursor.x, self.cursor.y) == (0, 0)):
            self._put_away()
        else:
            for y in range(self.cursor.y + 1, self.lines) if how == 0 else ():
                self._wraps.pop(id(self.buffer[y]), None)
            super().erase_in_display(how, *args, **kwargs)

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        if how == 0 and self._prompt is not None and self._end is None:
            self._end = (self.buffer[self.cursor.y], self.cursor.x)
            self._reading = self._reading and self._end
        if how != 1:
            self._wraps.pop(id(self.buffer[self.cursor.y]), None)
        super().erase_in_line(how, private)

    def _put_away(self) -> None:
        """What is shown becomes the past: nothing that was printed is lost by clearing the screen."""
        shown = [self.buffer[y] for y in range(max(self.buffer, default=-1) + 1)] if self._kept is None else []
        if self._reading is not None:
            # What is being typed is drawn again, in the line where the cursor is.
            begins = self._prompt if self._prompt is not None else self._reading[0]
            shown = shown[: next((n for n, line in enumerate(shown) if line is begins), len(shown))]
        written = [n for n, line in enumerate(shown) if self._text(line)]
        self.past += shown[min(written) : max(written) + 1] if written else []
        self.buffer.clear()
        self._reading = self._reading and (self.buffer[self.cursor.y], 0)

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and _SCREENS & set(modes) and self._kept is None:
            self._kept, self.full = dict(self.buffer), True
            self.save_cursor()
            self.buffer.clear()
        elif kwargs.get("private") and _PROMPT in modes:
            self._prompt, self._end = self.buffer[self.cursor.y], None
        elif kwargs.get("private") and _READS in modes and self._kept is None:
            line = self.buffer[self.cursor.y]
            # Before bash draws a prompt: what stands there is an output without a newline.
            self._reading, self.marked = self._end or (line, self.cursor.x), True
            self._right = bool(self._text(line, self._reading[1]).strip())
        elif not kwargs.get("private"):
            super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and _SCREENS & set(modes) and self._kept is not None:
            self.buffer.clear()
            self.buffer.update(self._kept)
            self._kept = None
            self.restore_cursor()
        elif kwargs.get("private") and _READS in modes and self._reading is not None and self._kept is None:
            # zsh says so in the line itself, wherever the cursor is in it, bash on the next one.
            if self.cursor.x:
                self._accepted = [self.cursor.x if self._right else None]
            else:
                self._read(self.buffer[max(0, self.cursor.y - 1)], None)
        elif not kwargs.get("private"):
            super().reset_mode(*modes, **kwargs)

    def _read(self, last: Any, end: int | None) -> None:
        """Takes what was typed, from where reading began to the line that is the last of it."""
        if self._reading is None:
            return
        line, column = self._reading
        rows = [*self.past[-_HIGHEST:], *(self.buffer[y] for y in range(self.lines))]
        stop = next((n for n in range(len(rows) - 1, -1, -1) if rows[n] is last), 0)
        begin = next((n for n in range(stop, -1, -1) if rows[n] is line), stop)
        rows = rows[: stop + 1]
        above = next((n for n in range(begin, -1, -1) if rows[n] is self._prompt), begin)
        self._inside |= {id(row): row for row in rows[above:begin]}
        parts = []
        for n in range(begin, len(rows)):
            parts.append(self._text(rows[n], column if n == begin else 0, end if n == stop else None))
            parts.append("" if n == stop or id(rows[n]) in self._wraps else "\n")
            self._inside |= {id(rows[n]): rows[n]} if n > begin and id(rows[n - 1]) not in self._wraps else {}
        whole = "".join(parts)
        found = _PROMPT_END.search(whole) if self._end is None else None
        self.unclear = self.unclear or (self._end is None and found is None and bool(whole))
        prompt = whole[: found.start() + 1] if found else ""
        kind = "zsh" if self._end is not None else (prompt[-1:], "@" in prompt)
        self._shell = self._shell or kind
        if kind == self._shell:
            before = self._text(line, 0, column) if self._end is None else ""
            self._typed[id(rows[begin])] = (rows[begin], (found["command"] or "") if found else whole, before)
        elif prompt != ">":
            self.inner = True
        self._reading = self._prompt = self._end = None

    def _text(self, line: Any, begin: int = 0, end: int | None = None) -> str:
        """Cells of a line as text; the blanks at its end are nobody's, unless the next one goes on."""
        stop = min(self.columns, end if end is not None else max(line, default=-1) + 1)
        text = "".join(line[x].data for x in range(begin, stop))
        return text if id(line) in self._wraps else text.rstrip()

    def rows(self) -> Iterator[tuple[str, str | None]]:
        """Each line, and the command that was typed in it. What did not fit in one line is one here."""
        text: str = ""
        command: str | None = None
        # A prompt behind which nothing was typed is no output of the command before it.
        pending = self._prompt if self._prompt is not None else self._reading[0] if self._reading is not None else None
        for line in [*self.past, *(self.buffer[y] for y in range(self.lines))]:
            if line is pending:
                return
            if id(line) in self._inside:
                continue
            if id(line) in self._typed:
                _, command, before = self._typed[id(line)]
                if before:
                    yield before, None
            text += self._text(line)
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
        stream.feed("".join(_fed(m) for m in _TOKEN.finditer(text)))
    return screen


def _fed(token: re.Match[str]) -> str:
    return f"\x1b[J\x1b[?{_PROMPT}h" if token["prompt"] else token["known"] or token["text"] or ""

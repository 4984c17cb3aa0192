"""What the program says: findings on stdout; talk, progress and errors on stderr. Foreign text is escaped on the way."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress


QUIET, NORMAL, VERBOSE = 0, 1, 2
_LEVEL = [NORMAL]


def set_level(level: int) -> None:
    """How much is said on stderr from now on: results and errors alone, the usual, or each step in logs too."""
    _LEVEL[0] = level


def escape(text: str) -> str:
    """``text`` with control characters, bidirectional overrides and lone surrogates made visible. Keeps newlines and tabs."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else _visible(c) for c in text)


def _visible(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def out(text: str) -> None:
    """Prints a result (already complete lines or one line) on stdout."""
    _write(sys.stdout, text)


def raw(text: str) -> None:
    """Prints text on stdout whose foreign parts are escaped already (it may hold colours)."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def say(text: str) -> None:
    """Prints talk on stderr."""
    if _LEVEL[0] > QUIET:
        _write(sys.stderr, text)


def error(text: str) -> None:
    """Prints one line, ``error: …``, on stderr."""
    _write(sys.stderr, "error: " + escape(text).replace("\n", "\\n"))


def _no_commands(text: str) -> str:
    """Text that a CI runner takes for text."""
    if "::" not in text and "##[" not in text:
        return text
    from verifiers.formats.text import no_commands  # late: help must not wait for what it needs

    return no_commands(text)


def _write(stream: TextIO, text: str) -> None:
    line = _no_commands(escape(text))
    stream.write(line if line.endswith("\n") else line + "\n")


def colour(stream: TextIO) -> bool:
    """Whether ``stream`` may be coloured: a terminal, and NO_COLOR unset."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Talk:
    """Progress of a long job. On a terminal a bar with the current step, elsewhere one line a step."""

    def __init__(self, bar: Progress | None, quiet: bool) -> None:
        self._bar = bar
        self._quiet = quiet
        self._task = bar.add_task("", total=None) if bar is not None else None

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Says what happens now; ``done`` of ``total`` where that is known."""
        if self._quiet:
            return
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=_no_commands(escape(text)), completed=done, total=total)
            return
        say(f"[{done}/{total}] {text}" if done is not None and total is not None else text)

    @property
    def watched(self) -> Callable[..., None] | None:
        """``step`` where a person waits or asked for steps: a log gets the result alone."""
        return self.step if self._bar is not None or _LEVEL[0] >= VERBOSE else None

    @property
    def live(self) -> Callable[[Callable[[], str]], None] | None:
        """Takes what stands after the step and changes while it goes on; None where no bar shows that."""
        return self._beside if self._bar is not None else None

    def _beside(self, text: Callable[[], str]) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, beside=text)

    def note(self, text: str) -> None:
        """Says something that stays on the screen."""
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.console.print(_no_commands(escape(text)), markup=False, highlight=False, soft_wrap=True)
        else:
            say(text)


@contextmanager
def talk(quiet: bool = False) -> Iterator[Talk]:
    """Progress on stderr for the length of the block."""
    quiet = quiet or _LEVEL[0] == QUIET
    if quiet or not sys.stderr.isatty():
        yield Talk(None, quiet)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    from synth.cli.bar import StepColumn

    console = Console(file=sys.stderr, no_color=not colour(sys.stderr))
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(), StepColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield Talk(bar, quiet)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table with aligned columns; the last column is not padded."""
    cells = [head, *rows]
    widths = [max(len(escape(row[i])) for row in cells) for i in range(len(head))]
    lines = ("  ".join(escape(c).ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "\n".join(lines)

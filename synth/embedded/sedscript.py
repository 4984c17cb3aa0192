"""sed scripts with parameters: where each parameter stands says how it is quoted, so that no value can be read as code.

A script is read character by character, a parameter counting as one character. Two kinds of command fail to be idempotent and
are guarded: a substitution whose result it would change again, and a line put in beside a line that stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from synth.embedded.code import Piece, merge, quote
from verifiers.shell.tree import ShellError

Char = str | Piece
"""One character of a script, or a parameter (its expression)."""

BASIC, EXTENDED, NEW, TEXT = "[\\.*^$/", "[\\.*^$/+?(){}|", "\\&/\n", "\\"
"""What a backslash makes literal: in a pattern of each dialect, in a replacement, in a line that is put in."""


@dataclass(slots=True)
class Command:
    """One command of a script, in pieces."""

    address: list[Char] = field(default_factory=list)
    """As written, ``!`` included."""
    letter: str = ""
    pattern: list[Char] = field(default_factory=list)
    new: list[Char] = field(default_factory=list)
    flags: str = ""
    text: list[Char] = field(default_factory=list)
    """What ``a``, ``i`` and ``c`` put in, without the newline at its end."""


class _Reader:
    def __init__(self, chars: Sequence[Char]) -> None:
        self.chars = list(chars)
        self.i = 0

    def peek(self) -> Char:
        return self.chars[self.i] if self.i < len(self.chars) else ""

    def take(self) -> Char:
        if self.i >= len(self.chars):
            raise ShellError("this sed script ends too early")
        self.i += 1
        return self.chars[self.i - 1]

    def skip(self, blanks: str) -> None:
        while self.i < len(self.chars) and isinstance(c := self.peek(), str) and c in blanks:
            self.i += 1

    def commands(self) -> Iterator[Command]:
        self.skip(" \t\n;")
        while self.i < len(self.chars):
            yield self.command()
            self.skip(" \t\n;")

    def command(self) -> Command:
        out = Command(address=self.address())
        letter = self.take()
        if letter == "s":
            delimiter = self.take()
            if not isinstance(delimiter, str) or delimiter in "\\\n":
                raise ShellError("this sed script is not understood")
            out.letter, out.pattern, out.new = "s", self.until(delimiter), self.until(delimiter)
            out.flags = self.flags()
        elif isinstance(letter, str) and letter in "aic" and letter:
            out.letter, out.text = letter, self.line()
        elif isinstance(letter, str) and letter in "dpqDPNngGhHx" and letter:
            out.letter = letter
            self.skip(" \t")
            if self.peek() not in ("", ";", "\n"):
                raise ShellError("this sed script is not understood")
        else:
            raise ShellError("this sed script with a parameter is not understood")
        return out

    def address(self) -> list[Char]:
        out: list[Char] = []
        while True:
            c = self.peek()
            if c == "/":
                self.take()
                out += ["/", *self.until("/"), "/"]
                if self.peek() == "I":
                    out.append(self.take())
            elif c == "\\":  # an address with marks of its own choice around it
                self.take()
                mark = self.take()
                if not isinstance(mark, str):
                    raise ShellError("a parameter behind a backslash is not understood")
                out += ["/", *self.until(mark), "/"]
            elif not isinstance(c, str) or (c and (c.isdecimal() or c in "$,!+~ \t")):
                out.append(self.take())
            else:
                return [c for c in out if not (isinstance(c, str) and c.isspace()) or "/" in out]

    def until(self, close: str) -> list[Char]:
        """Up to an unescaped delimiter; the delimiter's own backslash is dropped, and every ``/`` gets one."""
        out: list[Char] = []
        while (c := self.take()) != close:
            if c == "\n":
                raise ShellError("this sed script is not understood")
            if c == "\\":
                after = self.take()
                if not isinstance(after, str):
                    raise ShellError("a parameter behind a backslash is not understood")
                out += ["\\", "/"] if after == "/" else [after] if after == close else ["\\", after]
            else:
                out += ["\\", "/"] if c == "/" else [c]
        return out

    def flags(self) -> str:
        out = ""
        while isinstance(c := self.peek(), str) and c and (c.isdecimal() or c in "gpIi"):
            out += str(self.take())
        self.skip(" \t")
        if self.peek() not in ("", ";", "\n"):
            raise ShellError("this sed script is not understood")
        return out

    def line(self) -> list[Char]:
        self.skip(" \t")
        if self.peek() == "\\":
            self.take()
            self.skip("\n" if self.peek() == "\n" else "")
        out: list[Char] = []
        while self.i < len(self.chars) and (c := self.take()) != "\n":
            out.append(c)
            if c == "\\" and self.i < len(self.chars):
                out.append(self.take())
        return out


def commands(pieces: Sequence[Piece]) -> list[Command]:
    """The commands of a script.

    Raises:
        ShellError: one that this module does not hold.
    """
    chars: list[Char] = []
    for piece in merge(list(pieces)):
        chars += list(piece[1]) if piece[0] else [piece]
    return list(_Reader(chars).commands())


def pieces_of(chars: Sequence[Char]) -> list[Piece]:
    return merge([(True, c) if isinstance(c, str) else c for c in chars])


def quoted(chars: Sequence[Char], special: str, quoting: Callable[[str, str], str]) -> list[Piece]:
    """Pieces with each parameter quoted for its place: ``quoting(expression, special characters)``.

    Raises:
        ShellError: a parameter inside a bracket expression.
    """
    shown = "".join(c if isinstance(c, str) else "\0" for c in chars)
    if special in (BASIC, EXTENDED) and re.search(r"(?<!\\)\[[^\]]*\0", shown):
        raise ShellError("a parameter inside a bracket expression is not understood")
    return [(True, c) if isinstance(c, str) else (False, quoting(c[1], special)) for c in chars]


def script(command: Command, dialect: str, quoting: Callable[[str, str], str]) -> list[Piece]:
    """A command as pieces of a script again, guarded where a second run would do more."""
    address = quoted(command.address, dialect, quoting) if "/" in command.address else _numbers(command.address)
    if command.letter == "s":
        old, new = quoted(command.pattern, dialect, quoting), quoted(command.new, NEW, quoting)
        body: list[Piece] = [(True, "s/"), *old, (True, "/"), *new, (True, "/" + command.flags)]
        guard = _guard(command, dialect, quoting)
        if guard and address:
            return [*address, (True, "{"), *guard, *body, (True, "}")]
        return [*address, *guard, *body]
    text = quoted(command.text, TEXT, quoting)
    return [*address, (True, command.letter), *([(True, "\\\n"), *text] if command.text else [])]


def _numbers(address: Sequence[Char]) -> list[Piece]:
    if any(not isinstance(c, str) for c in address):
        raise ShellError("an address with a parameter is not understood")
    return pieces_of(address)


def _guard(command: Command, dialect: str, quoting: Callable[[str, str], str]) -> list[Piece]:
    """``/already there/!`` for text put in front of a line or behind it."""
    plain = not any(isinstance(c, str) and c in "\\&" for c in command.new)
    if not at_edge(command) or not command.new or not plain:
        return []
    there: list[Piece] = []
    for c in command.new:
        there.append((True, _literal(c, dialect)) if isinstance(c, str) else (False, quoting(c[1], dialect)))
    return [(True, "/^"), *there, (True, "/!")] if command.pattern == ["^"] else [(True, "/"), *there, (True, "$/!")]


def at_edge(command: Command) -> bool:
    """The command puts text at the begin or the end of lines."""
    return command.letter == "s" and command.pattern in (["^"], ["$"])


def _literal(c: str, dialect: str) -> str:
    return "\\" + c if c in dialect else c


def insertion(command: Command) -> str:
    """``before`` or ``after`` for a command that puts lines in beside others that stay, ``""`` for any other."""
    ranged = "," in [c for c in command.address if isinstance(c, str)] or "!" in command.address
    if command.letter not in ("a", "i") or ranged or not command.address or command.address == ["$"]:
        return ""
    return "after" if command.letter == "a" else "before"


def unescaped(chars: Sequence[Char]) -> list[Char]:
    """The text of ``a`` and ``i`` as it is put in: ``\\n`` and ``\\t`` read, other backslashes dropped."""
    out: list[Char] = []
    k = 0
    while k < len(chars):
        c = chars[k]
        if c == "\\" and k + 1 < len(chars):
            k += 1
            after = chars[k]
            out.append({"n": "\n", "t": "\t"}.get(after, after) if isinstance(after, str) else after)
        else:
            out.append(c)
        k += 1
    return out


def quoting_call(helper: str) -> Callable[[str, str], str]:
    """How generated code quotes an expression."""
    return lambda expression, special: f"{helper}({expression}, {quote(special)})"

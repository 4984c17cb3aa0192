"""The typed tree of shell text: words and their parts, commands and their redirections. Data only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


class ShellError(ValueError):
    """Shell text that is not understood; the message says what, for the user."""


class TooDeep(ShellError):
    """Text that is nested deeper than anything that works on trees can go."""


CURSOR = "{}"
"""Name under which the path of ``find -exec`` and ``xargs -I`` is a variable."""


@dataclass(frozen=True, slots=True)
class Lit:
    text: str


@dataclass(frozen=True, slots=True)
class Glob:
    """An active ``*``, ``?`` or ``[…]``."""

    text: str


@dataclass(frozen=True, slots=True)
class Var:
    """``$name`` or ``${name<op><args>}``."""

    name: str
    op: str = ""
    """``%``, ``%%``, ``#``, ``##``, ``/``, ``//``, ``,,``, ``^^``, ``:-``; ``""`` = plain."""
    args: tuple[Word, ...] = ()
    """The pattern, and for ``/`` the replacement."""
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Sub:
    """``$(…)`` or backticks."""

    body: Seq
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Feed:
    """``<(…)``: a file that holds what the commands print."""

    body: Seq


@dataclass(frozen=True, slots=True)
class Arith:
    """``$((…))``: integers, variables and the usual signs."""

    text: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """``$`` with something that is not read here (``${x:0:7}``, ``${#x}``, other arithmetic): its text."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Hole:
    """A place that differs between traces: number of the parameter."""

    index: int


@dataclass(frozen=True, slots=True)
class Many:
    """A whole run of words whose number differs between traces: number of the parameter (a list)."""

    index: int


@dataclass(frozen=True, slots=True)
class Positional:
    """A positional parameter of a constant program (from 1): a parameter's value, written as the place needs it."""

    number: int


Part = Lit | Glob | Var | Sub | Feed | Arith | Verbatim | Hole | Many | Positional


@dataclass(frozen=True, slots=True)
class Word:
    parts: tuple[Part, ...]

    @property
    def literal(self) -> str | None:
        """The text of a constant word, None where anything is expanded."""
        if all(isinstance(p, Lit) for p in self.parts):
            return "".join(p.text for p in self.parts if isinstance(p, Lit))
        return None

    @property
    def has_glob(self) -> bool:
        return any(isinstance(p, Glob) for p in self.parts)


def spelled(word: Word) -> str:
    """A word's text without quotes, its variables as ``$name``: for those who only look at it."""
    return "".join(_spelled(p) for p in word.parts)


def _spelled(part: Part) -> str:
    if isinstance(part, Lit | Glob | Verbatim):
        return part.text
    return f"${part.name}" if isinstance(part, Var) else "$()"


def literal_word(text: str) -> Word:
    return Word((Lit(text),))


def tidy(parts: Sequence[Part]) -> list[Part]:
    """Neighbouring constants joined, empty ones dropped."""
    out: list[Part] = []
    for part in parts:
        last = out[-1] if out else None
        if isinstance(part, Lit) and isinstance(last, Lit):
            out[-1] = Lit(last.text + part.text)
        elif part != Lit(""):
            out.append(part)
    return out


@dataclass(frozen=True, slots=True)
class Redirect:
    fd: int
    op: str
    """``>``, ``>>``, ``<``, ``<<`` (here-document: ``target`` is its text), ``>&``, ``&>``."""
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assigns: tuple[tuple[str, Word], ...] = ()

    @property
    def name(self) -> str:
        """The command's name, ``""`` where it is not a constant."""
        return (self.words[0].literal or "") if self.words else ""


@dataclass(frozen=True, slots=True)
class Pipe:
    stages: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Seq:
    """Commands one after another. ``joins[i]`` stands between items i and i+1: ``;``, ``&``, ``&&`` or ``||``."""

    items: tuple[Command, ...]
    joins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    var: str
    words: tuple[Word, ...]
    body: Seq


@dataclass(frozen=True, slots=True)
class While:
    cond: Seq
    body: Seq
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    cond: Seq
    body: Seq
    orelse: Seq | None = None


@dataclass(frozen=True, slots=True)
class Group:
    body: Seq
    subshell: bool
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Test:
    """``[ … ]`` or ``[[ … ]]``: its words without the brackets."""

    words: tuple[Word, ...]
    double: bool = False


@dataclass(frozen=True, slots=True)
class Other:
    """A construct that is not read here (``case``, ``[[ a =~ b ]]``, ``((…))``): its text, with the words and commands in it."""

    pieces: tuple[str | Word | Seq, ...]


Command = Simple | Pipe | Seq | For | While | If | Group | Test | Other


def rebuilt(node: Any, change: Callable[[object], object]) -> Any:
    """The node with each of its fields changed, or a tuple with its items; texts and numbers as they are. Of the node's type."""
    if isinstance(node, tuple):
        return tuple(change(item) for item in node)
    changed = {name: change(getattr(node, name)) for name in _fields(node)}
    return type(node)(**changed) if changed else node


def parts_of(node: Any) -> Iterator[object]:
    """What a node, or a tuple, is made of; nothing for texts and numbers."""
    return iter(node) if isinstance(node, tuple) else (getattr(node, name) for name in _fields(node))


def _fields(node: object) -> Iterable[str]:
    return getattr(node, "__dataclass_fields__", ())

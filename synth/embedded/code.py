"""Python text under construction: lines, literals, imports, names."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Piece = tuple[bool, str]
"""(True, constant text) or (False, Python expression of type str, int or Path)."""

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def escaped(text: str) -> str:
    """The inside of a double-quoted literal."""
    out = []
    for c in text:
        if c in _ESCAPES:
            out.append(_ESCAPES[c])
        elif c.isprintable():
            out.append(c)
        else:
            out.append(c.encode("unicode_escape").decode("ascii"))
    return "".join(out)


def quote(text: str) -> str:
    """A Python string literal."""
    return f'"{escaped(text)}"'


def quote_bytes(text: str) -> str:
    """A Python bytes expression for the UTF-8 of ``text``."""
    if text.isascii():
        return "b" + quote(text)
    return f"{quote(text)}.encode()"


def merge(pieces: list[Piece]) -> list[Piece]:
    """Neighbouring constants joined, empty ones dropped."""
    out: list[Piece] = []
    for const, text in pieces:
        if const and not text:
            continue
        if const and out and out[-1][0]:
            out[-1] = (True, out[-1][1] + text)
        else:
            out.append((const, text))
    return out


def joined(pieces: list[Piece], is_text: bool = False) -> str:
    """A Python str expression. ``is_text``: a lone expression is known to be a str."""
    parts = merge(pieces)
    if not parts:
        return '""'
    if len(parts) == 1:
        const, text = parts[0]
        return quote(text) if const else (text if is_text else f"str({text})")
    runs = itertools.groupby(parts, key=lambda part: part[0] or part[1].isidentifier())
    return " + ".join(text for plain, run in runs for text in ([_literal(list(run))] if plain else [t for _, t in run]))


def _literal(parts: list[Piece]) -> str:
    """Constants and names as one literal."""
    if all(const for const, _ in parts):
        return quote("".join(text for _, text in parts))
    doubled = str.maketrans({"{": "{{", "}": "}}"})
    return f'f"{"".join(escaped(t).translate(doubled) if const else f"{{{t}}}" for const, t in parts)}"'


@dataclass
class Code:
    """Lines of a function body, with what they need above it."""

    lines: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    helpers: set[str] = field(default_factory=set)
    constants: list[str] = field(default_factory=list)
    """Lines for the module's top."""
    depth: int = 1
    taken: set[str] = field(default_factory=set)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines under ``head:``, indented."""
        self.line(head)
        self.depth += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1

    def fresh(self, name: str) -> str:
        """A variable name not used yet."""
        name = name if name.isidentifier() and not keyword.iskeyword(name) else "item"
        n, out = 1, name
        while out in self.taken:
            n += 1
            out = f"{name}{n}"
        self.taken.add(out)
        return out

    def assign(self, name: str, value: str) -> str:
        var = self.fresh(name)
        self.line(f"{var} = {value}")
        return var

    def need(self, *modules: str) -> None:
        self.imports.update(modules)

    def helper(self, name: str) -> str:
        self.helpers.add(name)
        return name

    def used(self) -> set[str]:
        """The helpers that the lines call: a form that was tried and given up leaves its own behind."""
        body = "\n".join(self.lines)
        return {h for h in self.helpers if re.search(rf"\b{h.partition(':')[0]}\b", body)}

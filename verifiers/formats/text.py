"""Text that a terminal, a browser or an XML reader can be shown without being driven by it."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping

from sandbox.interface import JsonValue

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that draw nothing, or draw something else elsewhere (bidirectional overrides)."""


def escape(text: str, keep: str = "") -> str:
    """Text with every control and formatting character written as ``\\x1b`` or ``\\u202e``; those in ``keep`` stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or unicodedata.category(c) not in _HIDDEN else _escape_one(c) for c in text)


_AT_LINE_START = re.compile(r"^(\s*)::", re.MULTILINE)
_BRACKET = {
    "json": "##\\u005b",
    "sarif": "##\\u005b",
    "gitlab": "##\\u005b",
    "junit": "##&#91;",
    "html": "##&#91;",
    "markdown": "##&#91;",
}


def no_commands(text: str, format: str = "plain") -> str:
    """Output in which GitHub's runner finds no command: it reads ``##[…]`` anywhere in a line, ``::`` behind leading blanks.

    What the format itself says is the same as before; ``github`` speaks ``::`` on purpose and escapes foreign text on its own.
    """
    if "##[" in text:
        text = text.replace("##[", _BRACKET.get(format, "##\\x5b"))
    return _AT_LINE_START.sub(r"\1\\x3a:", text) if format == "plain" and "::" in text else text


def clip(text: str, limit: int) -> str:
    """About ``limit`` characters, the cut marked with how much is missing: never less than the mark itself takes."""
    missing = len(text) - limit
    mark = f"… ({missing} more characters)"
    return text if missing <= len(mark) else text[:limit] + mark


def one_line(value: Mapping[str, JsonValue] | JsonValue) -> str:
    """A JSON value on one line, escaped."""
    return escape(json.dumps(value, ensure_ascii=False, sort_keys=True, default=dict))


def plural(count: int, noun: str) -> str:
    """``1 skill``, ``3 skills``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def seconds(value: float) -> str:
    """A duration for people: ``0.31 s``, ``3.1 s``, ``212 s``."""
    return f"{value:.2f} s" if value < 1 else f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def _escape_one(char: str) -> str:
    simple = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    if simple is not None:
        return simple
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def bound(score: float) -> str:
    """A score as it is shown everywhere: two digits, cut off, for a lower bound that is rounded up is none."""
    return f"{math.floor(score * 100 + 1e-9) / 100:.2f}"


def does(capability: str) -> str:
    """A measured capability in words that follow a skill's name: ``creates files``."""
    words = {"follows-outside-paths": "follows paths out of the workspace", "read-only": "changes no file"}
    return words.get(capability, f"{capability} files")

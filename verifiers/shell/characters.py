"""Shell text as a stream of characters that know their quoting, so that a value can be found in it and put back in its
context."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Context = Literal["bare", "single", "double", "verbatim", "expanding"]
"""How a character is quoted; the last two are the bodies of here-documents with and without a quoted delimiter."""

_ACTIVE_IN_DOUBLE = "$`"
_QUOTE = {"bare": "", "single": "'", "double": '"', "verbatim": "", "expanding": ""}
_HERE = re.compile(r"<<(?P<tabs>-?)[ \t]*(?P<word>(?:\\.|'[^'\n]*'|\"[^\"\n]*\"|[^\s;&|<>()'\"\\])+)")


@dataclass(frozen=True, slots=True)
class Char:
    """One character that a command means, and where in the text it stands."""

    value: str
    context: Context
    start: int
    end: int
    """Offsets of its raw form, quotes and backslashes included only if they belong to this character."""
    escaped: bool = False

    @property
    def meaning(self) -> tuple[str, bool]:
        """Equal for two characters that mean the same: ordinary ones whatever their quoting, special ones by whether they act."""
        if self.value.isalnum() or self.value in "_./-,:+=@%^" or ord(self.value) > 127:
            return self.value, False
        expands = self.context in ("double", "expanding") and self.value in _ACTIVE_IN_DOUBLE
        acts = not self.escaped and (self.context == "bare" or expands)
        return self.value, acts


@lru_cache(maxsize=2048)
def characters(text: str) -> tuple[Char, ...]:
    """The characters of a command without its quotes. Inside ``$( )`` the outer quoting is kept simply."""
    out: list[Char] = []
    context: Context = "bare"
    at = 0
    bodies: list[re.Match[str]] = []
    while at < len(text):
        c = text[at]
        if context == "bare" and c == "<" and (here := _HERE.match(text, at)) and text[at - 1 : at] != "<":
            bodies.append(here)
        if context == "bare" and c == "\n" and bodies:
            out.append(Char(c, "bare", at, at + 1))
            at += 1
            for here in bodies:
                at = _body(text, at, here, out)
            bodies.clear()
            continue
        if context == "single":
            if c == "'":
                context = "bare"
            else:
                out.append(Char(c, "single", at, at + 1))
        elif c == "\\" and at + 1 < len(text) and (context == "bare" or text[at + 1] in '$`"\\\n'):
            out.append(Char(text[at + 1], context, at, at + 2, escaped=True))
            at += 1
        elif c == '"':
            context = "bare" if context == "double" else "double"
        elif c == "'" and context == "bare":
            context = "single"
        else:
            out.append(Char(c, context, at, at + 1))
        at += 1
    return tuple(out)


def _body(text: str, start: int, here: re.Match[str], out: list[Char]) -> int:
    """Adds the characters of a here-document and its delimiter line; returns where it ends. Without its end it is none."""
    word = re.sub(r"[\\'\"]", "", here["word"])
    tabs = r"\t*" if here["tabs"] else ""
    end = re.compile(rf"^{tabs}{re.escape(word)}$", re.MULTILINE)
    last = end.search(text, start)
    if last is None:
        return start
    context: Context = "verbatim" if word != here["word"] else "expanding"
    at = start
    while at < last.end():
        escaped = context == "expanding" and text[at] == "\\" and text[at + 1 : at + 2] in ("$", "`", "\\")
        out.append(Char(text[at + escaped], context, at, at + 1 + escaped, escaped))
        at += 1 + escaped
    return last.end()


def in_context(value: str, context: Context) -> str:
    """A value written so that, spliced into text of that quoting, it means itself."""
    if context == "single":
        return value.replace("'", "'\\''")
    if context == "verbatim":
        return value
    if context == "expanding":
        return "".join("\\" + c if c in "$`\\" else c for c in value)
    if context == "double":
        return "".join("\\" + c if c in '"$`\\' else c for c in value)
    return shlex.quote(value) if value else "''"


def meaning(text: str) -> tuple[tuple[str, bool], ...]:
    """What a command means, quoting aside: equal for texts that differ only in how they quote."""
    return tuple(c.meaning for c in characters(text))


def splice(text: str, holes: Iterable[tuple[int, int, str]]) -> str:
    """``text`` with character ranges (indices into ``characters(text)``) replaced by values, re-quoted for their context."""
    chars = characters(text)
    out, at = [], 0
    for first, last, value in sorted(holes):
        out.append(text[at : chars[first].start])
        out.append(in_context(value, chars[first].context))
        if chars[first].context != chars[last - 1].context:
            out.append(_QUOTE[chars[first].context] + _QUOTE[chars[last - 1].context])
        at = chars[last - 1].end
    return "".join([*out, text[at:]])

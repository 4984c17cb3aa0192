"""POSIX and Perl patterns -> Python's ``re``, with parameters as literal text inside them."""

from __future__ import annotations

import re
from typing import Literal

from synth.embedded.code import Piece, merge, quote
from verifiers.shell.tree import ShellError

Dialect = Literal["basic", "extended", "perl"]

_CLASSES = {
    "alpha": "A-Za-z", "digit": "0-9", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f", "print": r"\x20-\x7e", "cntrl": r"\x00-\x1f\x7f",
}  # fmt: skip


def to_python(text: str, dialect: Dialect) -> str:
    """The same pattern for ``re`` (``$`` becomes the very end of the text or line).

    Raises:
        ShellError: a construct without a counterpart.
    """
    if dialect == "perl" and re.search(r"(?<!\\)[$@][A-Za-z_{]", text):
        raise ShellError("a variable in a pattern is not understood")
    out: list[str] = []
    i = 0
    while i < len(text):
        c = text[i]
        if c == "\\":
            out.append(_escape(text[i + 1 : i + 2], dialect))
            i += 2
        elif c == "[":
            piece, i = _bracket(text, i)
            out.append(piece)
        elif c == "$" and (dialect != "basic" or i == len(text) - 1):
            out.append("$")
            i += 1
        elif dialect == "basic" and _plain_in_basic(c, i):
            out.append("\\" + c)
            i += 1
        else:
            out.append(c)
            i += 1
    done = "".join(out)
    try:
        re.compile(done)
    except re.error as error:
        raise ShellError(f"pattern {text!r} is not understood: {error}") from None
    return done


def _plain_in_basic(c: str, at: int) -> bool:
    """A character that only the other dialects give a meaning at this place (a final ``$`` is handled before)."""
    return c in "+?{}()|$" or (c == "^" and at > 0) or (c == "*" and at == 0)


def _escape(c: str, dialect: Dialect) -> str:
    if not c:
        raise ShellError("a pattern ends in a backslash")
    if dialect == "basic" and c in "+?{}()|":
        return c
    if c in "sSwWbBdD" or c.isdecimal():
        return "\\" + c
    if c in "nrt":
        return "\\" + c
    if c in "<>":
        return r"\b"
    return re.escape(c)


def _bracket(text: str, i: int) -> tuple[str, int]:
    m = re.compile(r"\[(\^?)(\]?(?:\[:\w+:\]|[^\]])*)\]").match(text, i)
    if not m:
        raise ShellError(f"pattern {text!r} is not understood")
    inner = m[2].replace("\\", "\\\\") if "\\" in m[2] and not re.search(r"\\[nrtsdw]", m[2]) else m[2]
    named = re.sub(r"\[:(\w+):\]", lambda c: _CLASSES.get(c[1], ""), inner)
    if named.startswith("]"):
        named = "\\]" + named[1:]
    if "[:" not in inner:
        named = re.sub(r"(?<!\\)\[", r"\\[", named)
    return f"[{m[1]}{named}]", m.end()


def is_plain(text: str, dialect: Dialect = "basic") -> bool:
    """The pattern has no meaning beyond its characters (a dot is taken as a dot)."""
    specials = r"[]*^$\\" if dialect == "basic" else r"[]*^$\\+?{}()|"
    return not any(c in specials for c in text)


def pattern_code(pieces: list[Piece], dialect: Dialect) -> str:
    """A Python expression for the pattern; expressions among the pieces are taken literally (``re.escape``)."""
    parts = merge(pieces)
    out = []
    for const, text in parts:
        out.append(_raw(to_python(text, dialect)) if const else f"re.escape({text})")
    return " + ".join(out) or '""'


def _raw(text: str) -> str:
    if '"' not in text and "\n" not in text and not text.endswith("\\") and text.isprintable():
        return f'r"{text}"' if "\\" in text else f'"{text}"'
    return quote(text)


def replacement_code(pieces: list[Piece], dialect: Dialect) -> str:
    """A Python expression for the replacement template of ``re.sub``; expressions are taken literally.

    Raises:
        ShellError: case changes and the like.
    """
    out = []
    for const, text in merge(pieces):
        if not const:
            out.append(f'{text}.replace("\\\\", "\\\\\\\\")')
            continue
        done = text.replace("$&", "&") if dialect == "perl" else text
        if re.search(r"\\[ULEul]", done):
            raise ShellError("case changes in a replacement are not understood")
        if dialect == "perl" and re.search(r"(?<!\\)[$@][A-Za-z_{]", text):
            raise ShellError("a variable in a replacement is not understood")
        if dialect == "perl":
            done = re.sub(r"\$(\d)", r"\\\1", done)
        done = re.sub(r"(?<!\\)&", r"\\g<0>", done).replace("\\&", "&").replace("\\/", "/")
        out.append(_raw(done))
    return " + ".join(out) or '""'


def delimited(pieces: list[Piece]) -> tuple[str, list[list[Piece]], str]:
    """Takes ``s/a/b/flags`` or ``y/a/b/`` apart: (letter, [a, b], flags). Parameters never hold the delimiter.

    Raises:
        ShellError: it is something else.
    """
    parts = merge(pieces)
    if not parts or not parts[0][0] or len(parts[0][1]) < 2 or not re.match(r"(s|y|tr)[^\w\s\\]", parts[0][1]):
        raise ShellError("a script other than one substitution is not understood")
    letter = "s" if parts[0][1][0] == "s" else "y"
    skip = 2 if parts[0][1].startswith("tr") else 1
    mark = parts[0][1][skip]
    fields: list[list[Piece]] = [[]]
    for k, (const, text) in enumerate(parts):
        if not const:
            fields[-1].append((const, text))
            continue
        rest = text[skip + 1 :] if k == 0 else text
        chunks = re.split(rf"(?<!\\){re.escape(mark)}", rest)
        fields[-1].append((True, chunks[0]))
        fields.extend([[(True, c)] for c in chunks[1:]])
    if len(fields) != 3:
        raise ShellError("a script other than one substitution is not understood")
    flags = merge(fields[2])
    if any(not const for const, _ in flags):
        raise ShellError("flags of a substitution cannot be parameters")
    return letter, [merge(fields[0]), merge(fields[1])], flags[0][1] if flags else ""


def expand_ranges(text: str) -> str:
    """``a-c`` -> ``abc`` (for y/// and tr)."""
    return re.sub(r"(.)-(.)", lambda m: "".join(chr(c) for c in range(ord(m[1]), ord(m[2]) + 1)), text)

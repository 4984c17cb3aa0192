"""What quotes, escapes and braces mean, read character by character as bash reads them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from verifiers.shell.tree import ShellError

Kind = Literal["text", "glob", "expansion"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word."""

    kind: Kind
    text: str
    """Without its quotes; a glob and an expansion as they were written."""
    quoted: bool


# ---------------------------------------------------------------- words


_ACTIVE = re.compile(r"['\"\\$`]")


def unquote(text: str) -> str:
    """A shell word without its quotes and escapes; ``$`` expansions stay as written. An open quote goes on to the end."""
    return "".join(p.text for p in pieces(text, strict=False)) if _ACTIVE.search(text) else text


def pieces(text: str, strict: bool = True) -> Iterator[Piece]:
    """The parts of one word, each quoted text at least one (``''`` is an empty word, and no words is none).

    Raises:
        ShellError: a quote or an expansion is never closed (if ``strict``).
    """
    at = 0
    while at < len(text):
        if text[at] == '"':
            end = _until(text, at + 1, '"', strict=strict)
            at += 1
            yield Piece("text", "", True)
            while at < end:
                piece, at = _next(text, at, True, strict)
                yield piece
            at = end + 1
        elif text[at] == "'" or text.startswith("$'", at):
            escapes = text[at] == "$"
            start = at + 1 + escapes
            end = _until(text, start, "'", plain=True, escapes=escapes, strict=strict)
            yield Piece("text", c_decode(text[start:end]) if escapes else text[start:end], True)
            at = end + 1
        else:
            piece, at = _next(text, at, False, strict)
            yield piece


_SET = re.compile(r"\[[!^]?\]?(?:\[:\w+:\]|[^\]/])*\]")
_RUN = re.compile(r"[^'\"\\$`*?\[]+")
_QUOTED_RUN = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])")


def _next(text: str, at: int, quoted: bool, strict: bool) -> tuple[Piece, int]:
    """The piece that begins at a character which is no quote, and where the next one begins."""
    char = text[at]
    if char == "\\":
        after = text[at + 1 : at + 2]
        kept = after == "" or (quoted and after not in '$`"\\\n')
        return Piece("text", "\\" + after if kept else "" if after == "\n" else after, True), at + 2
    if char == "`" or text.startswith(("$(", "${"), at):
        end = _skip(text, at, strict)
        return Piece("expansion", text[at:end], quoted), end
    if name := _NAME.match(text, at):
        return Piece("expansion", name[0], quoted), name.end()
    if not quoted and char in "*?":
        return Piece("glob", char, False), at + 1
    if not quoted and char == "[" and (found := _SET.match(text, at)):
        return Piece("glob", found[0], False), found.end()
    run = (_QUOTED_RUN if quoted else _RUN).match(text, at)
    end = run.end() if run else at + 1
    return Piece("text", text[at:end], quoted), end


def _skip(text: str, at: int, strict: bool) -> int:
    """Index after the quoted or expanded piece that starts at a character."""
    char = text[at]
    if char == "\\":
        return at + 2
    if char in "'\"`":
        return _until(text, at + 1, char, plain=char == "'", escapes=char != "'", strict=strict) + 1
    for opening, closing in (("$'", "'"), ("$(", ")"), ("${", "}")):
        if text.startswith(opening, at):
            return _until(text, at + 2, closing, plain=closing == "'", strict=strict) + 1
    return at + 1


def cut_at(text: str, mark: str) -> int:
    """Index of the first such character outside of quotes and expansions; the text's length where there is none."""
    at = 0
    while at < len(text) and text[at] != mark:
        at = _skip(text, at, True)
    return at


def _until(text: str, at: int, close: str, *, plain: bool = False, escapes: bool = True, strict: bool = True) -> int:
    """Index of the closing character, quotes and nested expansions skipped; the text's end where it never comes.

    Raises:
        ShellError: it never comes (if ``strict``).
    """
    while at < len(text):
        char = text[at]
        if char == close:
            return at
        if char == "\\" and escapes:
            at += 2
        elif plain:
            at += 1
        elif close == '"':
            at = _skip(text, at, strict) if char in "`$" else at + 1
        elif char == "(" and close == ")":
            at = _until(text, at + 1, ")", strict=strict) + 1
        else:
            at = _skip(text, at, strict) if char in "'\"`$" else at + 1
    if strict:
        raise ShellError(f"no closing {close}")
    return len(text)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}


def c_decode(text: str) -> str:
    """Text with C escapes, as in ``$'…'``, ``printf`` and ``echo -e``, replaced by what they mean; others stay."""

    def one(match: re.Match[str]) -> str:
        octal, hexa, plain = match.groups()
        if octal:
            return chr(int(octal, 8) & 0xFF)
        if hexa:
            return chr(int(hexa, 16))
        return plain if plain in "\\'\"" else _ESCAPES.get(plain, "\\" + plain)

    return re.sub(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", one, text, flags=re.DOTALL)


# ---------------------------------------------------------------- braces

_MOST_WORDS, _MOST_NESTED = 10_000, 20
_NUMBERS = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])")


def expand_braces(text: str, limit: int = _MOST_WORDS) -> list[str]:
    """``a{b,c}`` -> ``ab``, ``ac``; ``{1..3}`` -> ``1``, ``2``, ``3``; quotes and ``${`` are left alone. The first so many words.

    Raises:
        ShellError: a quote or an expansion is never closed.
    """
    return list(itertools.islice(_expanded(text, limit, 0), limit)) if "{" in text else [text]


def _expanded(text: str, limit: int, depth: int) -> Iterator[str]:
    runs: list[list[str]] = []
    at = start = 0
    while at < len(text):
        end, items = _group(text, at, limit) if text[at] == "{" and depth < _MOST_NESTED else (at, [])
        if items:
            inner = (middle for item in items for middle in _expanded(item, limit, depth + 1))
            runs += [[text[start:at]], list(itertools.islice(inner, limit))]
            at = start = end
        else:
            at = _skip(text, at, True)
    return map("".join, itertools.product(*runs, [text[start:]]))


def _group(text: str, start: int, limit: int) -> tuple[int, list[str]]:
    """Where the brace that opens at ``start`` ends, and what it stands for; nothing where it is a plain character."""
    depth, at = 0, start
    edges = [start]
    while at < len(text):
        depth += (text[at] == "{") - (text[at] == "}")
        if text[at] == "," and depth == 1:
            edges.append(at)
        if depth == 0:
            items = [text[a + 1 : b] for a, b in itertools.pairwise([*edges, at])]
            return at + 1, items if len(items) > 1 else _series(items[0], limit)
        at = _skip(text, at, True)
    return start, []


def _series(inner: str, limit: int) -> list[str]:
    """The members of ``1..3``, ``01..10..2`` and ``a..e``."""
    if m := _NUMBERS.fullmatch(inner):
        first, last, step = int(m[1]), int(m[2]), abs(int(m[3] or 1)) or 1
        width = max(len(m[1]), len(m[2])) if re.match(r"-?0\d", m[1]) or re.match(r"-?0\d", m[2]) else 0
        numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
        picked = [*numbers[: limit - 1], numbers[-1]] if len(numbers) > limit else numbers
        return [f"{n:0{width}d}" for n in picked]
    if m := _LETTERS.fullmatch(inner):
        a, b = ord(m[1]), ord(m[2])
        return [chr(n) for n in (range(a, b + 1) if a <= b else range(a, b - 1, -1))]
    return []

"""Shell words: quotes, expansions, globs and braces, read character by character."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import TypeAlias

from synth.embedded.tree import Arith, Glob, Lit, Part, Seq, ShellError, Sub, Var, Verbatim, Word

Parse: TypeAlias = Callable[[str], Seq]
"""Reads the commands of a substitution: words and commands contain each other."""


def lex_words(text: str, parse: Parse) -> list[Word]:
    """The words of one argument (braces may make several).

    Raises:
        ShellError: an expansion that is not understood.
    """
    return [_Lexer(t, parse).word() for t in expand_braces(text)]


def expand_braces(text: str) -> list[str]:
    """``a{b,c}`` -> ``ab``, ``ac``; ``{1..3}`` -> ``1``, ``2``, ``3``; quotes and ``${`` are left alone."""
    i = 0
    while i < len(text):
        if text[i] in "'\"`\\$":
            i = _skip(text, i)
            continue
        if text[i] == "{":
            end, commas = _brace_end(text, i)
            options = _options(text, i, end, commas) if end is not None else []
            if options and end is not None:
                tails = expand_braces(text[end + 1 :])
                return [text[:i] + middle + tail for o in options for middle in expand_braces(o) for tail in tails]
        i += 1
    return [text]


def _options(text: str, start: int, end: int, commas: list[int]) -> list[str]:
    inner = text[start + 1 : end]
    if commas:
        edges = [start, *commas, end]
        return [text[a + 1 : b] for a, b in itertools.pairwise(edges)]
    if m := re.fullmatch(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?", inner):
        a, b, step = int(m[1]), int(m[2]), abs(int(m[3] or 1)) or 1
        width = max(len(m[1]), len(m[2])) if re.match(r"-?0\d", m[1]) or re.match(r"-?0\d", m[2]) else 0
        span = range(a, b + 1, step) if a <= b else range(a, b - 1, -step)
        return [f"{n:0{width}d}" for n in span][:10_000]
    if m := re.fullmatch(r"([A-Za-z])\.\.([A-Za-z])", inner):
        a, b = ord(m[1]), ord(m[2])
        return [chr(n) for n in (range(a, b + 1) if a <= b else range(a, b - 1, -1))]
    return []


def _brace_end(text: str, start: int) -> tuple[int | None, list[int]]:
    depth, i = 0, start
    commas: list[int] = []
    while i < len(text):
        if text[i] in "'\"`\\$":
            i = _skip(text, i)
            continue
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0:
                return i, commas
        elif text[i] == "," and depth == 1:
            commas.append(i)
        i += 1
    return None, []


def _skip(text: str, i: int) -> int:
    """Index after the quoted or expanded piece that starts at i."""
    c = text[i]
    if c == "\\":
        return i + 2
    if c == "'":
        end = text.find("'", i + 1)
        return len(text) if end < 0 else end + 1
    if c == "`":
        return _until(text, i + 1, "`") + 1
    if c == '"':
        return _until(text, i + 1, '"') + 1
    if text.startswith("$'", i):
        return _until(text, i + 2, "'", plain=True) + 1
    if text.startswith("$(", i):
        return _until(text, i + 2, ")") + 1
    if text.startswith("${", i):
        return _until(text, i + 2, "}") + 1
    return i + 1


def _until(text: str, i: int, close: str, plain: bool = False) -> int:
    """Index of the closing character, quotes and nested expansions skipped.

    Raises:
        ShellError: it never comes.
    """
    while i < len(text):
        c = text[i]
        if c == close:
            return i
        if c == "\\":
            i += 2
        elif plain:
            i += 1
        elif close == '"':
            i = _skip(text, i) if c in "`$" else i + 1
        elif c == "(" and close == ")":
            i = _until(text, i + 1, ")") + 1
        else:
            i = _skip(text, i) if c in "'\"`$" else i + 1
    raise ShellError(f"no closing {close}")


_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


def ansi_c(text: str) -> str:
    """Backslash escapes as ``$'…'``, ``printf`` and ``echo -e`` read them."""

    def one(m: re.Match[str]) -> str:
        body = m[1]
        if body[0] == "x" and len(body) > 1:
            return chr(int(body[1:], 16))
        if body[0] in "01234567":
            return chr(int(body, 8) & 255)
        return _ANSI.get(body, "\\" + body)

    return re.sub(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", one, text, flags=re.S)


_ARITHMETIC = re.compile(r"\$\(\(((?:[\w\s+*%/<>=!-]|\$\w)*)\)\)")
_OPS = ("%%", "%", "##", "#", "//", "/", ",,", "^^", ":-", ":")


class _Lexer:
    def __init__(self, text: str, parse: Parse) -> None:
        self.text = text
        self.parse = parse
        self.i = 0
        self.parts: list[Part] = []

    def word(self) -> Word:
        text = self.text
        if text.startswith("~"):
            raise ShellError("~ is not understood")
        while self.i < len(text):
            c = text[self.i]
            if c == '"':
                end = _until(text, self.i + 1, '"')
                self.i += 1
                self.lit("")
                while self.i < end:
                    self.step(quoted=True)
                self.i = end + 1
            elif c == "'":
                end = text.find("'", self.i + 1)
                if end < 0:
                    raise ShellError("no closing '")
                self.lit(text[self.i + 1 : end])
                self.i = end + 1
            elif text.startswith("$'", self.i):
                end = _until(text, self.i + 2, "'", plain=True)
                self.lit(ansi_c(text[self.i + 2 : end]))
                self.i = end + 1
            else:
                self.step(quoted=False)
        kept = [p for p in self.parts if p != Lit("")]
        return Word(tuple(kept or self.parts))

    def lit(self, text: str) -> None:
        if self.parts and isinstance(last := self.parts[-1], Lit):
            self.parts[-1] = Lit(last.text + text)
        else:
            self.parts.append(Lit(text))

    def step(self, quoted: bool) -> None:
        text, c = self.text, self.text[self.i]
        if c == "\\":
            self.backslash(quoted)
        elif c == "`":
            end = _until(text, self.i + 1, "`")
            self.parts.append(Sub(self.parse(re.sub(r"\\([`$\\])", r"\1", text[self.i + 1 : end])), quoted))
            self.i = end + 1
        elif c == "$":
            self.dollar(quoted)
        elif not quoted and c in "*?":
            self.parts.append(Glob(c))
            self.i += 1
        elif not quoted and c == "[" and (m := re.compile(r"\[[!^]?\]?(?:\[:\w+:\]|[^\]/])*\]").match(text, self.i)):
            self.parts.append(Glob(m[0].replace("[^", "[!", 1)))
            self.i = m.end()
        else:
            self.lit(c)
            self.i += 1

    def backslash(self, quoted: bool) -> None:
        nxt = self.text[self.i + 1 : self.i + 2]
        if nxt == "\n":
            pass
        elif quoted and nxt not in '$`"\\':
            self.lit("\\" + nxt)
        else:
            self.lit(nxt)
        self.i += 2

    def dollar(self, quoted: bool) -> None:
        text = self.text
        if m := _ARITHMETIC.match(text, self.i):
            self.parts.append(Arith(m[1].strip()))
            self.i = m.end()
            return
        if text.startswith("$((", self.i) and (end := _until(text, self.i + 2, ")")) and text[end - 1 : end] == ")":
            self.parts.append(Verbatim(text[self.i : end + 1], quoted))
            self.i = end + 1
        elif text.startswith("$(", self.i):
            end = _until(text, self.i + 2, ")")
            self.parts.append(Sub(self.parse(text[self.i + 2 : end]), quoted))
            self.i = end + 1
        elif text.startswith("${", self.i):
            end = _until(text, self.i + 2, "}")
            self.parts.append(self.expansion(text[self.i + 2 : end], quoted))
            self.i = end + 1
        elif m := re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])").match(text, self.i):
            self.parts.append(Var(m[1], quoted=quoted))
            self.i = m.end()
        else:
            self.lit("$")
            self.i += 1

    def expansion(self, inner: str, quoted: bool) -> Var | Verbatim:
        m = re.match(r"([A-Za-z_]\w*|[0-9@*])", inner)
        if not m:
            return Verbatim(f"${{{inner}}}", quoted)
        rest = inner[m.end() :]
        if not rest:
            return Var(m[1], quoted=quoted)
        op = next((o for o in _OPS if rest.startswith(o)), None)
        if op is None or op == ":":
            return Verbatim(f"${{{inner}}}", quoted)
        return Var(m[1], op, self.arguments(op, rest[len(op) :]), quoted)

    def arguments(self, op: str, text: str) -> tuple[Word, ...]:
        """Pattern (and replacement) words of an expansion."""
        if op in ("/", "//"):
            cut = 0
            while cut < len(text) and text[cut] != "/":
                cut = _skip(text, cut)
            return (_Lexer(text[:cut], self.parse).word(), _Lexer(text[cut + 1 :], self.parse).word())
        return (_Lexer(text, self.parse).word(),) if text else ()

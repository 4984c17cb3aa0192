"""Parameters inside programs of other languages: where one stands in a literal, it is escaped as that language's literals are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from synth.embedded.pythoncode import NAMES
from verifiers.shell.tree import Hole, Lit, Part, Positional, ShellError, Simple, Word

_MARK = 0xE000
"""Holes stand in the scanned text as characters from here on (private use, so no program has them)."""

_STRING = r'"(?:\\.|[^"\\])*"'
_SINGLE = r"'(?:\\.|[^'\\])*'"
_REGEX = r"(?:(?<=[({,;!~&|?:=\n])|(?<=[({,;!~&|?:=\n] )|\A)/(?:\\.|[^/\\\n])+/"
"""What stands before it can end no number that is divided."""
_AWK = rf"(?P<comment>\#[^\n]*)|(?P<string>{_STRING})|(?P<pattern>{_REGEX})"
_JQ = rf"(?P<comment>\#[^\n]*)|(?P<json>{_STRING})"
_SQL = (
    r"(?P<comment>--[^\n]*)|(?P<sql>'(?:''|[^'])*')|(?P<name>\"(?:\"\"|[^\"])*\")"
    r"|\b(?i:from|join|into|update|table)\s+(?P<table>[^\s\"'`;,.()\[\]-]+)"
)
_PERL = (
    r"(?P<single>" + _SINGLE + r")|(?P<perl>\b(?:s|m|qr|qq)?(?:\{(?:\\.|[^}\\])*\}\s*){1,2}[a-z]*"
    r"|\bs(?P<d>[^\w\s{])(?:\\.|(?!(?P=d)).)*(?P=d)(?:\\.|(?!(?P=d)).)*(?P=d)|" + _REGEX + "|" + _STRING + ")"
)
_SED = (
    r"s(?P<d>[^\w\s\\])(?P<old>(?:\\.|(?!(?P=d))[^\\])*)(?P=d)(?P<new>(?:\\.|(?!(?P=d))[^\\])*)(?P=d)"
    r"|/(?P<pattern>(?:\\.|[^/\\])*)/|\\(?P<e>[^\w\s\\])(?P<own>(?:\\.|(?!(?P=e))[^\\])*)(?P=e)"
    r"|(?<![A-Za-z_])[aic]\\?\s*(?P<text>[^\n]*)"
)
_DELIMITERS = ("d", "e")
_SYNTAX = {
    "awk": _AWK, "gawk": _AWK, "mawk": _AWK, "jq": _JQ, "sqlite3": _SQL, "sed": _SED,
    "perl": _PERL, "rename": _PERL, "prename": _PERL, "file-rename": _PERL,
}  # fmt: skip
_PYTHON = rf"(?P<comment>\#[^\n]*)|{_STRING}|{_SINGLE}"
_BASIC, _EXTENDED = r"\.*[]^$", r"\.*[]^$+?(){}|"
_PUNCTUATION = r"""!"#$%&'()*+,-./:;<=>?@[\]^`{|}~"""


def is_known(name: str) -> bool:
    """Whether values can be put into this language's literals."""
    return name in _SYNTAX


def literals(name: str, text: str) -> list[tuple[str, str]]:
    """The program cut into (kind, text): its literals, and what stands between them (kind ``""``)."""
    out: list[tuple[str, str]] = []
    end = 0
    for m in re.finditer(_SYNTAX[name], text, re.S):
        kinds = [k for k, v in m.groupdict().items() if v is not None and k not in _DELIMITERS]
        out += [("", text[end : m.start()]), (",".join(kinds), m[0])]
        end = m.end()
    return [*out, ("", text[end:])]


def in_literals(name: str, text: str, change: Callable[[str], str], code: Callable[[str], str]) -> str:
    """The program with its literals changed in one way and its code in another. In an unknown language all is literal."""
    form = _SYNTAX.get(name, _PYTHON if name in NAMES else "")
    if not form:
        return change(text)
    out, end = "", 0
    for m in re.finditer(form, text, re.S):
        out += code(text[end : m.start()]) + (m[0] if m.groupdict().get("comment") else change(m[0]))
        end = m.end()
    return out + code(text[end:])


@dataclass(frozen=True, slots=True)
class Escape:
    """How a parameter is written at one place: a call of ``helper``, or of a method, around its name."""

    before: str
    after: str
    helpers: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def of(self, expression: str) -> str:
        return f"{self.before}{expression}{self.after}"


def _backslashed(special: str) -> Escape:
    inner = special.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return Escape("_quoted(", f', "{inner}")', ("_quoted",))


def escapes(name: str, word: Word, extended: bool) -> list[Escape | None]:
    """For every hole of a program, how its value is written there; None where it stands among the code.

    Raises:
        ShellError: a literal that is built in another way.
    """
    text = "".join(p.text if isinstance(p, Lit) else chr(_MARK + k) for k, p in enumerate(word.parts))
    found: dict[int, Escape] = {}
    for m in re.finditer(_SYNTAX[name], text, re.S):
        for kind, value in m.groupdict().items():
            for c in value or "":
                if ord(c) >= _MARK and ord(c) < _MARK + len(word.parts) and kind not in _DELIMITERS:
                    delimiter = next((m[d] for d in _DELIMITERS if d in m.groupdict() and m[d]), "/")
                    found[ord(c) - _MARK] = _escape(name, kind, value, delimiter, extended, c)
    return [found.get(k) for k, p in enumerate(word.parts) if isinstance(p, Hole)]


def _escape(name: str, kind: str, text: str, delimiter: str, extended: bool, mark: str) -> Escape:
    if kind == "sql":
        return Escape("", """.replace("'", "''")""")
    if kind == "name":
        return Escape("", """.replace('"', '""')""")
    if kind == "table" and text == mark:
        return Escape("""'"' + """, """.replace('"', '""') + '"'""")
    if kind == "json" and "\\(" not in text:
        return Escape("json.dumps(", ")[1:-1]", modules=("json",))
    if kind == "string":
        return _backslashed('\\"')
    if kind == "single":
        return _backslashed("\\'")
    special = _EXTENDED if extended or name != "sed" else _BASIC
    if kind in ("pattern", "old", "own") and delimiter in special:
        raise ShellError("a mark around a pattern that means something in it is not understood")  # quoted, it is no text
    if kind in ("pattern", "old", "own"):
        return _backslashed(special + delimiter)
    if kind == "new":
        return _backslashed("\\&\n" + delimiter)
    if kind == "text":
        return _backslashed("\\\n")
    if kind == "perl":
        head = text[: text.index(mark)]
        return _quotemeta(head.rfind("\\Q") > head.rfind("\\E"))
    raise ShellError(f"a parameter inside a {name} program would run as code")


def _quotemeta(inside: bool) -> Escape:
    """Perl's own way: a backslash before every mark. Between ``\\Q`` and ``\\E`` that is interrupted for the value."""
    plain = _backslashed(_PUNCTUATION)
    return Escape(f'"\\\\E" + {plain.before}', f'{plain.after} + "\\\\Q"', plain.helpers) if inside else plain


def encoded(
    name: str, word: Word, extended: bool, given: list[str], names: Sequence[str], whole: frozenset[int]
) -> tuple[Word, list[Escape]]:
    """The word with each hole as a positional parameter of its own, whose value is appended to ``given``.

    Args:
        names: Python expressions of the parameters.
        whole: parameters that are whole numbers: they may stand among the code.
    """
    ways = iter(escapes(name, word, extended))
    parts: list[Part] = []
    used: list[Escape] = []
    for part in word.parts:
        if not isinstance(part, Hole):
            parts.append(part)
            continue
        way = next(ways)
        if part.index in whole:
            parts.append(part)
            continue
        if way is None:
            raise ShellError(f"a parameter inside a {name} program would run as code")
        used.append(way)
        value = way.of(names[part.index])
        if value not in given:
            given.append(value)
        parts.append(Positional(given.index(value) + 1))
    return Word(tuple(parts)), used


_SHELLS = frozenset({"bash", "sh"})
_RUNNERS = NAMES | _SHELLS | {"ruby", "node"}
_PLAIN_OPTIONS = frozenset({"-u", "-B", "-I", "-E"})
"""Of Python: they take no value."""
_PROGRAM_NEXT = frozenset({"-c", "-e"})
"""No ``-m``: there are modules whose arguments are code."""


def arguments(node: Simple) -> tuple[Word, ...]:
    """The words behind a constant program (``-c TEXT``, ``- <<TEXT``, a file), which only gets them as data; none elsewhere."""
    words = list(node.words[1:])
    while words and node.name in NAMES and words[0].literal in _PLAIN_OPTIONS:
        words.pop(0)
    if node.name not in _RUNNERS or not words:
        return ()
    first = words[0].literal or ""
    if first in _PROGRAM_NEXT:
        return tuple(words[2:]) if len(words) > 1 and words[1].literal is not None else ()
    # Behind - a shell takes a file's name for its program, and behind -s Python does.
    if first == ("-s" if node.name in _SHELLS else "-"):
        documents = [r.target.literal for r in node.redirects if r.op == "<<"]
        return tuple(words[1:]) if documents and documents[-1] is not None else ()
    return tuple(words[1:]) if first[:1] not in ("", "-") else ()

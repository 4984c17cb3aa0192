"""Filters that Python says as plainly: no program is started, and no locale has a say in what comes out.

Each takes what comes in as an expression, lines without their ends or bytes, and gives what goes out. None where an option or a
pattern means something else in Python: then the program itself runs.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable, Sequence

from synth.embedded.code import Piece, quote_bytes
from synth.embedded.regexes import Dialect, delimited, expand_ranges, is_plain, replacement_code, to_python
from synth.embedded.scope import Scope
from verifiers.shell.commands import Parsed
from verifiers.shell.quoting import c_decode
from verifiers.shell.tree import ShellError, Word

Filter = Callable[[Scope, Parsed, Sequence[Word], str], str | None]
"""``(scope, parsed, scripts, given)``: the expression for what goes out."""

_OTHERWISE = re.compile(r"\\[wWbBsSdD<>]|\[\[:(?!digit)|(?<!\\)\.(?!\*)|\[\^[^\]]+\](?![*+])|\{|\\[1-9]")
"""Where bytes are taken for signs otherwise: a sign may be several bytes, and letters are not those of ASCII alone."""
_CHOICE = re.compile(r"\||\)\\?[*+?]")
"""Where programs take the longest of several matches, and Python the first."""
_PLACE = re.compile(r"(\d*)(-?)(\d*)")
_CLASSES = {
    "lower": string.ascii_lowercase, "upper": string.ascii_uppercase, "digit": string.digits, "alpha": string.ascii_letters,
    "alnum": string.digits + string.ascii_letters, "blank": "\t ", "space": "\t\n\v\f\r ", "punct": string.punctuation,
}  # fmt: skip
LONGEST_SET = 40


def _sort(scope: Scope, parsed: Parsed, scripts: Sequence[Word], lines: str) -> str | None:
    flags = "".join(n[1:] for n in parsed.names)
    if not set(flags) <= set("urn") or {"u", "n"} <= set(flags):
        return None
    key = ""
    if "n" in flags:
        key = f", key=lambda line: ({scope.code.helper('_number')}(line), line)"
    inner = f"set({lines})" if "u" in flags else lines
    return f"sorted({inner}{key}{', reverse=True' if 'r' in flags else ''})"


def _uniq(scope: Scope, parsed: Parsed, scripts: Sequence[Word], lines: str) -> str | None:
    flags = "".join(n[1:] for n in parsed.names)
    if flags not in ("", "c", "d", "u"):
        return None
    scope.code.need("itertools")
    groups = f"itertools.groupby({lines})"
    if flags == "c":
        return f'[b"%7d %s" % (len(list(same)), line) for line, same in {groups}]'
    test = {"": "", "d": " if len(list(same)) > 1", "u": " if len(list(same)) == 1"}[flags]
    return f"[line for line, {'same' if test else '_'} in {groups}{test}]"


def _cut(scope: Scope, parsed: Parsed, scripts: Sequence[Word], lines: str) -> str | None:
    mark, listed, signs = parsed.value("-d"), parsed.value("-f"), parsed.value("-c", "-b")
    if parsed.names - {"-d", "-f", "-c", "-b", "-s"} or (listed is None) == (signs is None):
        return None
    places = _places((listed or signs or Word(())).literal)
    if places is None:
        return None
    if listed is None:
        return f"[line[{places[0]}] for line in {lines}]" if len(places) == 1 and not parsed.has("-d", "-s") else None
    sign = "\t" if mark is None else mark.literal
    if sign is None or len(sign) != 1 or not sign.isascii():
        return None
    slices = ", ".join(f"slice({p.replace(':', ', ')})" for p in places)
    test = f" if {quote_bytes(sign)} in line" if parsed.has("-s") else ""
    return f"[{scope.code.helper('_fields')}(line, {quote_bytes(sign)}, {slices}) for line in {lines}{test}]"


def _places(listed: str | None) -> list[str] | None:
    """``1,3-4,6-`` as bounds of slices: ``["0:1", "2:4", "5:None"]``."""
    out = []
    for part in (listed or "").split(","):
        m = _PLACE.fullmatch(part)
        if m is None or not (m[1] or m[3]) or m[1] == "0" or m[3] == "0":
            return None
        first = int(m[1] or 1) - 1
        last = int(m[3]) if m[3] else None if m[2] else first + 1
        if last is not None and last <= first:
            return None
        out.append(f"{first}:{last}")
    return out


def _grep(usual: Dialect | None) -> Filter:
    """``grep``, ``egrep`` and ``fgrep``: the last takes patterns as they stand (None)."""

    def kept(scope: Scope, parsed: Parsed, scripts: Sequence[Word], lines: str) -> str | None:
        if parsed.names - {"-v", "-c", "-F", "-E"} or len(scripts) != 1:
            return None
        dialect = None if parsed.has("-F") else "extended" if parsed.has("-E") else usual
        line = next(name for name in ("line", "row", "text") if all(p.name != name for p in scope.params))
        test = _test(scope, scope.pieces(scripts[0]), dialect, line, "not " * parsed.has("-v"))
        if test is None:
            return None
        found = f"[{line} for {line} in {lines} if {test}]"
        return f'[b"%d" % len({found})]' if parsed.has("-c") else found

    return kept


def _test(scope: Scope, pieces: list[Piece], dialect: Dialect | None, line: str, negated: str) -> str | None:
    """Whether a pattern is in what is called ``line``."""
    text = "".join(t for _, t in pieces)
    if not all(const for const, _ in pieces):
        scope.code.need("os")
        return f"os.fsencode({pieces[0][1]}) {negated}in {line}" if dialect is None and len(pieces) == 1 else None
    if text and "\n" not in text and (dialect is None or (is_plain(text, dialect) and "." not in text)):
        return f"{quote_bytes(text)} {negated}in {line}"
    pattern = _pattern(text, dialect or "basic")
    scope.code.need("re")
    return None if pattern is None else f"{negated}re.search({pattern}, {line})"


def _pattern(text: str, dialect: Dialect) -> str | None:
    """A pattern of which bytes and signs mean the same."""
    if not text or "\n" in text or not text.isascii() or _OTHERWISE.search(text):
        return None
    try:
        done = to_python(text, dialect)
    except ShellError:
        return None
    return f'rb"{done}"' if '"' not in done and done.isprintable() and not done.endswith("\\") else quote_bytes(done)


def _head(scope: Scope, parsed: Parsed, scripts: Sequence[Word], lines: str) -> str | None:
    count = _count(scope, parsed)
    return None if count is None else f"{lines}[:{count}]"


def _tail(scope: Scope, parsed: Parsed, scripts: Sequence[Word], lines: str) -> str | None:
    value = parsed.value("-n", "--lines")
    if value is not None and re.fullmatch(r"\+[1-9]\d*", value.literal or "") and len(parsed.options) == 1:
        return f"{lines}[{int(value.literal or 1) - 1}:]"
    count = _count(scope, parsed)
    return None if count in (None, "0") else f"{lines}[-{count}:]"


def _count(scope: Scope, parsed: Parsed) -> str | None:
    """How many lines ``head`` and ``tail`` give."""
    if not parsed.options:
        return "10"
    value = parsed.value("-n", "--lines")
    if value is None or len(parsed.options) != 1:
        return None
    return value.literal if value.literal is not None and value.literal.isdecimal() else None


def _tac(scope: Scope, parsed: Parsed, scripts: Sequence[Word], lines: str) -> str | None:
    return None if parsed.options else f"{lines}[::-1]"


def _tr(scope: Scope, parsed: Parsed, scripts: Sequence[Word], given: str) -> str | None:
    sets = [_members(w.literal) for w in scripts]
    flags = "".join(sorted(n[1:] for n in parsed.names))
    if not sets or any(s is None for s in sets):
        return None
    first, second = sets[0] or "", (sets[1] or "") if len(sets) == 2 else ""
    if flags == "d" and len(sets) == 1 and len(first) <= LONGEST_SET:
        return f"{given}.translate(None, {quote_bytes(first)})"
    if flags or len(sets) != 2 or not second:
        return None
    second = (second + second[-1] * len(first))[: len(first)]
    for one, other, method in (("lower", "upper", "upper"), ("upper", "lower", "lower")):
        if (first, second) == (_CLASSES[one], _CLASSES[other]):
            return f"{given}.{method}()"
    if len(first) == 1:
        return f"{given}.replace({quote_bytes(first)}, {quote_bytes(second)})"
    if len(first) > LONGEST_SET or len(set(first)) < len(first):
        return None
    return f"{given}.translate(bytes.maketrans({quote_bytes(first)}, {quote_bytes(second)}))"


def _members(text: str | None) -> str | None:
    """The signs of a set of ``tr``; None where it is none of ASCII, or one that repeats."""
    if text is None or not text.isascii() or re.search(r"\[[^:]*\*|\[=|\\[0-7]{4}", text):
        return None
    whole = re.sub(r"\[:(\w+):\]", lambda m: _CLASSES.get(m[1], "\0"), text)
    if "\0" in whole or (re.search(r"(.)-(.)", whole) and "\\" in whole):
        return None
    return expand_ranges(c_decode(whole))


def _wc(scope: Scope, parsed: Parsed, scripts: Sequence[Word], given: str) -> str | None:
    return f'b"%d\\n" % {given}.count(b"\\n")' if parsed.names == {"-l"} else None


def _sed(scope: Scope, parsed: Parsed, scripts: Sequence[Word], given: str) -> str | None:
    """One substitution, of what bytes and signs mean alike."""
    scripts = [*scripts, *(v for n, v in parsed.options if n == "-e" and v is not None)]
    if parsed.names - {"-e", "-E", "-r"} or len(scripts) != 1 or scripts[0].literal is None or not scripts[0].literal.isascii():
        return None
    try:
        letter, (old, new), flags = delimited(scope.pieces(scripts[0]))
        fresh = replacement_code(new, "basic")
    except ShellError:
        return None
    text = "".join(t for _, t in old)
    pattern = _pattern(text, "extended" if parsed.has("-E", "-r") else "basic")
    if letter != "s" or flags not in ("", "g") or pattern is None or _CHOICE.search(text):
        return None
    if flags and re.search(ast.literal_eval(pattern), b""):
        return None  # what matches nothing matches once more behind each match in Python
    scope.code.need("re", "io")
    old_text = pattern.replace('b"', '"', 1)
    return f"{scope.code.helper('_substituted')}({given}, {old_text}, {fresh}, {0 if flags else 1})"


OF_LINES: dict[str, Filter] = {
    "sort": _sort, "uniq": _uniq, "cut": _cut, "grep": _grep("basic"), "egrep": _grep("extended"), "fgrep": _grep(None),
}  # fmt: skip
"""Those that give the last line its end."""
AS_THEY_END: dict[str, Filter] = {"head": _head, "tail": _tail, "tac": _tac}
"""Those that leave the last line without one."""
OF_BYTES: dict[str, Filter] = {"tr": _tr, "wc": _wc, "sed": _sed}

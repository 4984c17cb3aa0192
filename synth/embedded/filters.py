"""Filters: programs that read standard input or files and print, run with argument lists and never through a shell."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from synth.embedded import native
from synth.embedded.code import Piece, escaped, joined, merge, quote, quote_bytes
from synth.embedded.literals import arguments
from synth.embedded.names import glob_items
from synth.embedded.scope import Content, Items, Scope, content
from verifiers.shell.commands import TABLE, Parsed, Spec, parse_args
from verifiers.shell.tree import Feed, Lit, Many, ShellError, Simple, Sub, Word


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes."""

    pieces: tuple[Content, ...]
    lines: str = ""
    """Where it is known, a ``list[bytes]`` expression for its lines; each of them then has its end."""

    @property
    def code(self) -> str:
        return content(self.pieces)


Stream = Data | Items


BY_OPERAND = frozenset(
    {"md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "sum", "diff", "cmp", "comm", "join", "paste", "wc", "file"}
)
"""Commands that print the names of their operands or need several at once: files stay operands."""


def data(*codes: str) -> Data:
    return Data(tuple(Content(c) for c in codes))


def as_bytes(scope: Scope, stream: Stream | None) -> str:
    """A bytes expression for a stream; a list of paths becomes lines."""
    if stream is None:
        return 'b""'
    if isinstance(stream, Data):
        return stream.code
    scope.code.need("os")
    return f"os.fsencode({stream.lines()})"


def named(scope: Scope, stream: Items, name: str = "found") -> Items:
    """The list under a name of its own."""
    if stream.code.isidentifier():
        return stream
    return replace(stream, code=scope.code.assign(name, stream.code), inner="", steps=0)


def encoded(scope: Scope, pieces: list[Piece]) -> str:
    """Text pieces as a bytes expression."""
    parts = merge(pieces)
    if all(const for const, _ in parts):
        return quote_bytes(parts[0][1] if parts else "")
    text = joined(parts, len(parts) == 1 and scope.is_text(parts[0][1]))
    scope.code.need("os")
    return f"os.fsencode({text})"


def read(scope: Scope, word: Word) -> list[Content]:
    """A file's content, from what is pending where it was written before, or from the commands of ``<(…)``."""
    if (fed := _fed(scope, word)) is not None:
        return [Content(fed)]
    if word in scope.pending:
        buffer = scope.pending[word]
        if not buffer.append:
            return list(buffer.pieces)
        scope.flush()
    return [Content(f"{receiver(scope.path(word))}.read_bytes()", word)]


def _fed(scope: Scope, word: Word) -> str | None:
    part = word.parts[0] if len(word.parts) == 1 else None
    return scope.fed(scope, part.body) if isinstance(part, Feed) and scope.fed is not None else None


def receiver(path: str) -> str:
    """A path expression that a method can be called on."""
    return f"({path})" if " / " in path else path


def expand(scope: Scope, words: Sequence[Word]) -> list[Word | Items]:
    """Operands with patterns and list parameters as lists of paths."""
    out: list[Word | Items] = []
    for word in words:
        if len(word.parts) == 1 and isinstance(part := word.parts[0], Many):
            scope.code.need("Path")
            out.append(Items(f"[Path(p) for p in {scope.params[part.index].name}]"))
        elif len(word.parts) == 1 and isinstance(part := word.parts[0], Sub) and not part.quoted:
            if scope.listed is None:
                raise ShellError("a command substitution is not understood here")
            out.append(scope.listed(scope, part.body))
        elif word.has_glob:
            out.append(glob_items(scope, word))
        else:
            out.append(word)
    return out


def numbers(scope: Scope, node: Simple) -> Items:
    """seq as a list of texts."""
    parsed = parse_args(TABLE["seq"], node.words[1:])
    bounds = [number(scope, w) for w in parsed.operands]
    if not 1 <= len(bounds) <= 3 or parsed.names - {"-f", "-w"}:
        raise ShellError("this seq is not understood")
    first, last = "1" if len(bounds) == 1 else bounds[0], bounds[-1]
    step = bounds[1] if len(bounds) == 3 else ""
    span = f"range({first}, {last} + 1{', ' + step if step else ''})"
    if parsed.has("-w"):
        return Items(f'[f"{{n:0{{len(str({last}))}}d}}" for n in {span}]', "text", "str")
    form = parsed.value("-f")
    if form is None:
        return Items(f"[str(n) for n in {span}]", "text", "str")
    return Items(f"[{formatted(scope, form)} for n in {span}]", "text", "str")


def number(scope: Scope, word: Word) -> str:
    if word.literal is not None and word.literal.isdecimal():
        return word.literal
    holes = scope.holes(word)
    if len(word.parts) == 1 and holes and holes[0].kind == "int":
        return holes[0].name
    raise ShellError("a number that is computed is not understood")


def formatted(scope: Scope, word: Word) -> str:
    """A format such as ``dir/x%03g`` for the variable n, as an f-string."""
    source = "".join(text if const else f"\0{text}\0" for const, text in scope.pieces(word))
    m = re.fullmatch(r"(.*)%(?:(0?)(\d+|\0\w+\0))?[gd](.*)", source, re.S)
    if not m or "%" in m[1] + m[4]:
        raise ShellError("this format is not understood")
    width = (m[3] or "").replace("\0", "{", 1).replace("\0", "}", 1)
    spec = f"{{n:{m[2] or ''}{width}d}}" if m[3] else "{n}"
    head, tail = ("".join(f"{{{t}}}" if k % 2 else escaped(t) for k, t in enumerate(side.split("\0"))) for side in (m[1], m[4]))
    return f'f"{head}{spec}{tail}"'


def run_filter(
    scope: Scope, name: str, spec: Spec, words: Sequence[Word], given: Stream | None, extra: Items | None = None
) -> Data:
    """Runs a filter as a program with an argument list; its files are read here where that is the same."""
    parsed = parse_args(spec, words)
    operands = list(parsed.operands)
    first_is_script = len(spec.operands) > 1 and not any(parsed.has(o) for o in spec.script_option)
    scripts = [operands.pop(0)] if first_is_script and operands else []
    if spec.operands[0] in ("script", "text", "number") and len(spec.operands) == 1:
        scripts, operands = operands, []
    files: list[Word | Items] = [*expand(scope, operands), *([extra] if extra is not None else [])]
    check_scripts(scope, name, [*scripts, *(v for _, v in parsed.options if v is not None)])
    argv = [quote(name), *option_codes(scope, parsed), *script_codes(scope, scripts)]
    if not files:
        return in_python(scope, name, parsed, scripts, given) or data(run_code(scope, spec, argv, as_bytes(scope, given)))
    if stays_operand(name, spec, parsed, files):
        return data(run_operands(scope, spec, argv, files, given))
    pieces: list[Content] = []
    for f in files:
        pieces += read_all(scope, f)
    got = Data(tuple(pieces))
    return in_python(scope, name, parsed, scripts, got) or data(run_code(scope, spec, argv, got.code))


def in_python(scope: Scope, name: str, parsed: Parsed, scripts: Sequence[Word], given: Stream | None) -> Data | None:
    """The filter without a program; None where there is no such form."""
    if given is None:
        return None
    known = given.lines if isinstance(given, Data) else ""
    if name in native.OF_BYTES:
        out = native.OF_BYTES[name](scope, parsed, scripts, as_bytes(scope, given))
        return None if out is None else data(out)
    if name in native.OF_LINES or (name in native.AS_THEY_END and known):
        lines = known or f"{scope.code.helper('_lines')}({as_bytes(scope, given)})"
        made = {**native.OF_LINES, **native.AS_THEY_END}[name](scope, parsed, scripts, lines)
        return None if made is None else with_ends(scope, made)
    if name in native.AS_THEY_END:
        made = native.AS_THEY_END[name](scope, parsed, scripts, f"io.BytesIO({as_bytes(scope, given)}).readlines()")
        scope.code.need("io")
        return None if made is None else data(f'b"".join({made})')
    return None


def with_ends(scope: Scope, lines: str) -> Data:
    return Data((Content(f"{scope.code.helper('_text')}({lines})"),), lines)


_RUNS_CODE = ("-c", "-e", "--eval", "--command", "-E")


def run_plain(scope: Scope, name: str, spec: Spec | None, words: Sequence[Word], given: Stream | None) -> Data:
    """A command that only prints, run as a program with the words as they are."""
    argv, before = [quote(name)], ""
    harmless = arguments(Simple((Word((Lit(name),)), *words)))
    for word in words:
        holes = word not in harmless and [p for p in word.parts if not isinstance(p, Lit)]
        if holes and (before in _RUNS_CODE or len(word.parts) > 1) and spec is None and not word.has_glob:
            raise ShellError(f"a parameter inside a {name} program would run as code")
        for got in expand(scope, [word]):
            if isinstance(got, Items):
                argv.append(got.texts())
            else:
                argv.append(scope.text(got))
        before = word.literal or ""
    scope.flush()
    folder = ""
    if scope.cwd is not None:
        scope.code.helper("_run:in")
        folder = f", folder={scope.text(scope.cwd)}"
    source = f", {as_bytes(scope, given)}" if given is not None else ""
    return data(f"{scope.code.helper('_run')}([{', '.join(argv)}]{source}{folder})")


def read_all(scope: Scope, operand: Word | Items) -> list[Content]:
    if isinstance(operand, Items):
        return [Content(f'b"".join(p.read_bytes() for p in {operand.each})')]
    return read(scope, operand)


def stays_operand(name: str, spec: Spec, parsed: Parsed, files: Sequence[Word | Items]) -> bool:
    if name in BY_OPERAND or (name == "grep" and parsed.has("-l", "-L", "-H", "-r", "-R", "--files-with-matches")):
        return True
    many = len(files) > 1 or isinstance(files[0], Items)
    return many and not spec.joins


def run_operands(scope: Scope, spec: Spec, argv: list[str], files: Sequence[Word | Items], given: Stream | None) -> str:
    inputs: list[str] = []
    words: list[str] = []
    for f in files:
        if isinstance(f, Items):
            if scope.cwd is not None and f.shown == "dotted":
                raise ShellError("names below another working directory are not understood here")
            words.append(f.texts())
        elif f.literal == "-":
            inputs.append(as_bytes(scope, given))
            words.append(quote("-"))
        elif (fed := _fed(scope, f)) is not None:
            inputs.append(fed)
            words.append(quote("-" if len(inputs) == 1 else "/dev/fd/3"))
        elif f in scope.pending and not scope.pending[f].append:
            inputs.append(content(scope.pending[f].pieces))
            words.append(quote("-" if len(inputs) == 1 else "/dev/fd/3"))
        else:
            words.append(scope.text(f) if scope.cwd is None else f"str({scope.path(f)})")
    end = [] if quote("--") in argv else [quote("--")]
    full = f"[{', '.join([*argv, *end, *words])}]"
    accepted = f", accepted={spec.no_match}" if spec.no_match else ""
    if scope.cwd is not None and any("p.name" in w for w in words):
        accepted += f", folder={scope.text(scope.cwd)}"
        scope.code.helper("_run:in")
    if len(inputs) == 2 and spec.helper == "_run":
        return f"{scope.code.helper('_run_with')}({full}, {inputs[0]}, {inputs[1]}{accepted})"
    if len(inputs) == 2 or (accepted and spec.helper != "_run"):
        raise ShellError("a condition about several inputs, or in another folder, is not understood")
    given_code = inputs[0] if inputs else (as_bytes(scope, given) if given is not None else "")
    return f"{scope.code.helper(spec.helper)}({full}{', ' + given_code if given_code else ''}{accepted})"


def run_code(scope: Scope, spec: Spec, argv: list[str], given: str) -> str:
    accepted = f", accepted={spec.no_match}" if spec.no_match else ""
    given_part = f", {given}" if given != 'b""' else ""
    return f"{scope.code.helper(spec.helper)}([{', '.join(argv)}]{given_part}{accepted})"


def option_codes(scope: Scope, parsed: Parsed) -> list[str]:
    out: list[str] = []
    pairs = {n for (n, _), (after, _) in itertools.pairwise(parsed.options) if after == ""}
    for name, value in parsed.options:
        if value is None or name in pairs:
            out.append(quote(name))
        if value is not None:
            glue = "" if name in pairs else name + ("=" if name.startswith("--") else "")
            out.append(joined([(True, glue), *scope.pieces(value)]))
    return out


def script_codes(scope: Scope, scripts: Sequence[Word]) -> list[str]:
    """Patterns, programs and texts, behind ``--`` where one could be taken for an option."""
    codes = [scope.text(w) for w in scripts]
    if any((w.literal is None or w.literal.startswith("-")) for w in scripts):
        return [quote("--"), *codes]
    return codes


def check_scripts(scope: Scope, name: str, words: Sequence[Word]) -> None:
    """Refuses to put a text parameter into a program that another language would run.

    Raises:
        ShellError: always in that case; the caller has another way or gives up.
    """
    if name not in ("sed", "awk", "gawk", "perl", "jq"):
        return
    for word in words:
        for const, text in scope.pieces(word):
            if not const and not any(p.name == text and p.kind == "int" for p in scope.params):
                raise ShellError(f"a parameter inside a {name} program would run as code")

"""Pipelines as Python: what a command prints, as a bytes expression, or as a list of paths while that lasts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from synth.embedded.code import Piece, escaped, joined, merge, quote, quote_bytes
from synth.embedded.finding import FindReader, Items, found_items, glob_items
from synth.embedded.meanings import TABLE, Parsed, Spec, parse_args, xargs_command
from synth.embedded.regexes import pattern_code
from synth.embedded.scope import Content, Scope, content
from synth.embedded.tree import (
    CURSOR,
    Command,
    For,
    Group,
    Hole,
    Lit,
    Many,
    Pipe,
    Redirect,
    Seq,
    ShellError,
    Simple,
    Sub,
    Var,
    While,
    Word,
)
from synth.embedded.words import ansi_c


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes."""

    pieces: tuple[Content, ...]

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
    shown = stream.show("p")
    body = f'f"{{{shown}}}\\n"' if shown.isidentifier() else f"{shown} + {quote(chr(10))}"
    if shown == "str(p)":
        body = 'f"{p}\\n"'
    elif shown.startswith('f"'):
        body = shown[:-1] + '\\n"'
    return f'os.fsencode("".join({body} for p in {stream.code}))'


def named(scope: Scope, stream: Items, name: str = "found") -> Items:
    """The list under a name of its own."""
    if stream.code.isidentifier():
        return stream
    return replace(stream, code=scope.code.assign(name, stream.code))


def stream(scope: Scope, node: Command, given: Stream | None = None) -> Stream:
    """What a command prints, redirections to files excluded.

    Raises:
        ShellError: a command without a meaning as a stream.
    """
    if isinstance(node, Pipe):
        current = given
        for stage in node.stages:
            current = stream(scope, stage, current)
            if isinstance(current, Items) and current.code.count("[p for p in ") + current.code.count("sorted(") > 1:
                current = named(scope, current)
        return current if current is not None else data()
    if isinstance(node, Group) and not node.redirects:
        return stream(scope, node.body, given)
    if isinstance(node, For | While) and scope.printed is not None:
        return data(scope.printed(scope, node, given))
    if isinstance(node, Seq):
        parts: list[Content] = []
        for item in node.items:
            if scope.acts is not None and scope.acts(scope, item):
                continue
            got = stream(scope, item, given)
            parts += got.pieces if isinstance(got, Data) else [Content(as_bytes(scope, got))]
        return Data(tuple(parts)) if len(node.items) != 1 or not parts else stream_of(parts, got)
    if isinstance(node, Simple):
        return simple(scope, node, given)
    raise ShellError(f"a {type(node).__name__.lower()} inside a pipeline is not understood")


def stream_of(parts: list[Content], got: Stream) -> Stream:
    return got if isinstance(got, Items) else Data(tuple(parts))


def simple(scope: Scope, node: Simple, given: Stream | None) -> Stream:
    for redirect in node.redirects:
        given = _input(scope, redirect, given)
    name = node.name
    if not name:
        raise ShellError("a command whose name is not a constant is not understood")
    special = SPECIAL.get(name)
    if special is not None:
        out = special(scope, node.words[1:], given)
        if out is not None:
            return out
    spec = TABLE.get(name)
    if spec is None or spec.kind == "show":
        return run_plain(scope, name, spec, node.words[1:], given)
    if spec.kind != "filter":
        raise ShellError(f"{name} is not understood")
    return run_filter(scope, name, spec, node.words[1:], given)


def _input(scope: Scope, redirect: Redirect, given: Stream | None) -> Stream | None:
    if redirect.op == "<":
        return Data(tuple(read(scope, redirect.target)))
    if redirect.op == "<<":
        return data(encoded(scope, scope.pieces(redirect.target)))
    if redirect.fd == 2 or redirect.op in (">&",):
        return given
    raise ShellError("a redirection inside a pipeline is not understood")


def encoded(scope: Scope, pieces: list[Piece]) -> str:
    """Text pieces as a bytes expression."""
    parts = merge(pieces)
    if all(const for const, _ in parts):
        return quote_bytes(parts[0][1] if parts else "")
    text = joined(parts, len(parts) == 1 and scope.is_text(parts[0][1]))
    scope.code.need("os")
    return f"os.fsencode({text})"


def read(scope: Scope, word: Word) -> list[Content]:
    """A file's content, from what is pending where it was written before."""
    if word in scope.pending:
        buffer = scope.pending[word]
        if not buffer.append:
            return list(buffer.pieces)
        scope.flush()
    return [Content(f"{receiver(scope.path(word))}.read_bytes()", word)]


def receiver(path: str) -> str:
    """A path expression that a method can be called on."""
    return f"({path})" if " / " in path else path


# ---------------------------------------------------------------- operands


def expand(scope: Scope, words: Sequence[Word]) -> list[Word | Items]:
    """Operands with patterns and list parameters as lists of paths."""
    out: list[Word | Items] = []
    for word in words:
        if len(word.parts) == 1 and isinstance(part := word.parts[0], Many):
            scope.code.need("Path")
            out.append(Items(f"[Path(p) for p in {scope.params[part.index].name}]"))
        elif len(word.parts) == 1 and isinstance(part := word.parts[0], Sub) and not part.quoted:
            out.append(substituted(scope, part.body))
        elif word.has_glob:
            out.append(glob_items(scope, word))
        else:
            out.append(word)
    return out


def substituted(scope: Scope, body: Seq) -> Items:
    """The words of an unquoted command substitution; paths stay whole."""
    only = body.items[0] if len(body.items) == 1 else None
    if isinstance(only, Simple) and only.name == "seq":
        return numbers(scope, only)
    got = stream(scope, body)
    scope.code.need("os")
    return got if isinstance(got, Items) else Items(f"os.fsdecode({got.code}).split()", "{p}", "str")


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
        return Items(f'[f"{{n:0{{len(str({last}))}}d}}" for n in {span}]', "{p}", "str")
    form = parsed.value("-f")
    if form is None:
        return Items(f"[str(n) for n in {span}]", "{p}", "str")
    return Items(f"[{formatted(scope, form)} for n in {span}]", "{p}", "str")


def number(scope: Scope, word: Word) -> str:
    if word.literal is not None and word.literal.isdigit():
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
        return data(run_code(scope, spec, argv, as_bytes(scope, given)))
    if stays_operand(name, spec, parsed, files):
        return data(run_operands(scope, spec, argv, files, given))
    pieces: list[Content] = []
    for f in files:
        pieces += read_all(scope, f)
    return data(run_code(scope, spec, argv, content(pieces)))


_RUNS_CODE = ("-c", "-e", "--eval", "--command", "-E")


def run_plain(scope: Scope, name: str, spec: Spec | None, words: Sequence[Word], given: Stream | None) -> Data:
    """A command that only prints, run as a program with the words as they are."""
    argv, before = [quote(name)], ""
    for word in words:
        holes = [p for p in word.parts if not isinstance(p, Lit)]
        if holes and (before in _RUNS_CODE or len(word.parts) > 1) and spec is None and not word.has_glob:
            raise ShellError(f"a parameter inside a {name} program would run as code")
        for got in expand(scope, [word]):
            if isinstance(got, Items):
                argv.append(f"*({got.show('p')} for p in {got.code})" if got.shown != "str({p})" else f"*map(str, {got.code})")
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
        return [Content(f'b"".join(p.read_bytes() for p in {operand.code})')]
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
            words.append(f"*({f.show('p')} for p in {f.code})" if f.shown != "str({p})" else f"*map(str, {f.code})")
        elif f.literal == "-":
            inputs.append(as_bytes(scope, given))
            words.append(quote("-"))
        elif f in scope.pending and not scope.pending[f].append:
            inputs.append(content(scope.pending[f].pieces))
            words.append(quote("-" if len(inputs) == 1 else "/dev/fd/3"))
        else:
            words.append(scope.text(f) if scope.cwd is None else f"str({scope.path(f)})")
    full = f"[{', '.join([*argv, quote('--'), *words])}]"
    accepted = f", accepted={spec.no_match}" if spec.no_match else ""
    if scope.cwd is not None and any("p.name" in w for w in words):
        accepted += f", folder={scope.text(scope.cwd)}"
        scope.code.helper("_run:in")
    if len(inputs) == 2:
        return f"{scope.code.helper('_run_with')}({full}, {inputs[0]}, {inputs[1]}{accepted})"
    given_code = inputs[0] if inputs else (as_bytes(scope, given) if given is not None else "")
    return f"{scope.code.helper('_run')}({full}{', ' + given_code if given_code else ''}{accepted})"


def run_code(scope: Scope, spec: Spec, argv: list[str], given: str) -> str:
    accepted = f", accepted={spec.no_match}" if spec.no_match else ""
    given_part = f", {given}" if given != 'b""' else ""
    return f"{scope.code.helper('_run')}([{', '.join(argv)}]{given_part}{accepted})"


def option_codes(scope: Scope, parsed: Parsed) -> list[str]:
    out: list[str] = []
    for name, value in parsed.options:
        if value is None:
            out.append(quote(name))
        else:
            glue = name + ("=" if name.startswith("--") else "")
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


# ---------------------------------------------------------------- commands with a meaning of their own

Special = Callable[[Scope, Sequence[Word], "Stream | None"], "Stream | None"]


def _echo(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    rest, newline, escapes = list(words), True, False
    while rest and rest[0].literal is not None and rest[0].literal in ("-n", "-e", "-ne", "-en", "-E"):
        flag = rest.pop(0).literal or ""
        newline, escapes = newline and "n" not in flag, escapes or "e" in flag
    pieces: list[Piece] = []
    for k, word in enumerate(rest):
        got = scope.pieces(word)
        if word.has_glob:
            raise ShellError("echo of a pattern is not understood")
        pieces += [(True, " ")] if k else []
        pieces += [(c, ansi_c(t)) if c and escapes else (c, t) for c, t in got]
    return data(encoded(scope, [*pieces, (True, "\n" if newline else "")]))


def _printf(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    head = words[0].literal if words else None
    if head is None:
        raise ShellError("printf with a computed format is not understood")
    rest = [list(scope.pieces(w)) for w in words[1:]]
    bits = ansi_c(head).replace("%%", "\0").split("%s")
    if any("%" in b for b in bits) or any(w.has_glob for w in words):
        if rest:
            raise ShellError(f"printf {head!r} is not understood")
        return data(quote_bytes("".join(bits).replace("\0", "%")))
    slots = len(bits) - 1
    rounds = [rest[i : i + slots] for i in range(0, len(rest), slots)] if slots and rest else [[]]
    pieces: list[Piece] = []
    for values in rounds:
        for k, bit in enumerate(bits):
            pieces.append((True, bit.replace("\0", "%")))
            pieces += values[k] if k < len(values) else []
    return data(encoded(scope, pieces))


def _cat(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    if not words or words[0].literal == "-":
        return given if given is not None else data()
    if any((w.literal or "").startswith("-") for w in words):
        return None
    pieces: list[Content] = []
    for operand in expand(scope, words):
        pieces += read_all(scope, operand)
    return Data(tuple(pieces))


def _find(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    found = FindReader(scope, words).read()
    if len(found.branches) != 1:
        raise ShellError("find with several printing branches is not understood")
    branch = found.branches[0]
    items = found_items(scope, found, branch, writes=False)
    runs = [a for a in branch.actions if a.kind == "exec"]
    if not runs:
        return items
    if len(runs) != 1 or len(branch.actions) != 1:
        raise ShellError("find with several actions in a pipeline is not understood")
    return apply(scope, list(runs[0].words), items, one_by_one=not runs[0].batch)


def _xargs(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    start = xargs_command(words)
    if not isinstance(given, Items):
        raise ShellError("xargs over something else than paths is not understood")
    inner = [*words[start:]] or [Word(())]
    options = [w.literal or "" for w in words[:start]]
    if any(o.startswith(("-n", "-L", "-I")) for o in options):
        return apply(scope, inner, given, one_by_one=True)
    return apply(scope, inner, given, one_by_one=False)


def apply(scope: Scope, words: list[Word], items: Items, one_by_one: bool) -> Stream:
    """A command run on a list of paths, for what it prints."""
    plain = [w for w in words if w.literal != "{}" and not is_cursor(w)]
    name = plain[0].literal or ""
    spec = TABLE.get(name)
    if spec is None or (spec.kind != "filter") or any(isinstance(p, Var) and p.name == CURSOR for w in plain for p in w.parts):
        raise ShellError(f"{name} on a list of paths is not understood")
    if name == "cat" and len(plain) == 1:
        return data(f'b"".join(p.read_bytes() for p in {items.code})')
    if one_by_one and name not in ("md5sum", "sha256sum", "sha1sum"):
        raise ShellError(f"{name} on one path after another is not understood")
    return run_filter(scope, name, spec, plain[1:], None, items)


def is_cursor(word: Word) -> bool:
    return len(word.parts) == 1 and isinstance(part := word.parts[0], Var) and part.name == CURSOR


def _sort(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    flags = {w.literal for w in words}
    if isinstance(given, Items) and flags <= {"-z", "-u", "-r"}:
        shown = given.show("p")
        key = "str" if given.shown == "str({p})" else f"lambda p: {shown}"
        return replace(given, code=f"sorted({given.code}, key={key}{', reverse=True' if '-r' in flags else ''})")
    return None


def _wc(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    if isinstance(given, Items) and [w.literal for w in words] == ["-l"]:
        return data(f'b"%d\\n" % len({given.code})')
    return None


def _grep(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    spec = TABLE["grep"]
    parsed = parse_args(spec, words)
    if not isinstance(given, Items) or parsed.names - {"-v", "-i", "-E"} or len(parsed.operands) != 1:
        return None
    scope.code.need("re")
    dialect = "extended" if parsed.has("-E") else "basic"
    pattern = pattern_code(scope.pieces(parsed.operands[0]), "extended" if dialect == "extended" else "basic")
    flags = ", re.IGNORECASE" if parsed.has("-i") else ""
    test = f"{'not ' if parsed.has('-v') else ''}re.search({pattern}, {given.show('p')}{flags})"
    return replace(given, code=f"[p for p in {given.code} if {test}]")


def _head(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    parsed = parse_args(TABLE["head"], words)
    value = parsed.value("-n", "--lines")
    if isinstance(given, Items) and not parsed.operands and (value is None or (value.literal or "x").isdigit()):
        return replace(given, code=f"{given.code}[:{value.literal if value else 10}]")
    return None


def _ls(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    parsed = parse_args(TABLE["ls"], words)
    if parsed.names - {"-1"} or len(parsed.operands) > 1:
        return None
    if parsed.operands and parsed.operands[0].has_glob:
        return glob_items(scope, parsed.operands[0])
    where = scope.path(parsed.operands[0]) if parsed.operands else "Path()"
    scope.code.need("Path")
    return Items(f'sorted(p for p in {receiver(where)}.iterdir() if not p.name.startswith("."))', "{p}.name")


def _jq(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    """A parameter inside a jq program becomes one of its variables."""
    spec = TABLE["jq"]
    parsed = parse_args(spec, words)
    if not parsed.operands or not scope.holes(parsed.operands[0]):
        return None
    program, names = "", []
    for part in parsed.operands[0].parts:
        if isinstance(part, Hole):
            names.append(scope.params[part.index].name)
            program += f"\0{names[-1]}\0"
        elif isinstance(part, Lit):
            program += part.text
    program = re.sub(r'\."\0(\w+)\0"|\.\0(\w+)\0|\["\0(\w+)\0"\]', lambda m: f".[${m[1] or m[2] or m[3]}]", program)
    program = re.sub(r'"\0(\w+)\0"', lambda m: f"${m[1]}", program)
    if "\0" in program:
        raise ShellError("this jq program with a parameter is not understood")
    argv = [quote("jq"), *option_codes(scope, parsed)]
    for name in dict.fromkeys(names):
        argv += [quote("--arg"), quote(name), name]
    argv.append(quote(program))
    pieces = [p for f in expand(scope, parsed.operands[1:]) for p in read_all(scope, f)]
    return data(run_code(scope, spec, argv, content(pieces) if pieces else as_bytes(scope, given)))


def _tr(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    if isinstance(given, Items) and [w.literal for w in words] in (["\\n", "\\0"], ["\\0", "\\n"]):
        return given
    return None


def _name_of(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    raise ShellError("basename or dirname in a pipeline is not understood")


SPECIAL: dict[str, Special] = {
    "echo": _echo, "printf": _printf, "cat": _cat, "find": _find, "xargs": _xargs, "sort": _sort, "wc": _wc,
    "grep": _grep, "egrep": _grep, "head": _head, "ls": _ls, "jq": _jq, "tr": _tr, "basename": _name_of, "dirname": _name_of,
}  # fmt: skip

"""Commands that edit files in place: each becomes new content, put in place only where it differs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from synth.embedded.code import Piece, joined, merge, quote
from synth.embedded.filters import encoded, expand, option_codes, receiver, script_codes
from synth.embedded.regexes import delimited, is_plain, pattern_code, replacement_code
from synth.embedded.scope import Items, Scope
from synth.embedded.sedscript import (
    BASIC,
    EXTENDED,
    Command,
    at_edge,
    commands,
    insertion,
    pieces_of,
    quoting_call,
    script,
    unescaped,
)
from verifiers.shell.commands import TABLE, Parsed, Spec, parse_args
from verifiers.shell.tree import Hole, Lit, ShellError, Word, literal_word

_BACKUP = re.compile(r"(?:-i|--in-place=)(\.[\w.\-]+)")
"""``-i.bak``: what is behind the name of the copy that keeps the old content."""
_SED = Spec("change", {"-e": "script", "-i": "syntax"}, ("script", "operand"), ("-e",))


def in_place(scope: Scope, files: Sequence[Word], new: Callable[[str], str]) -> None:
    """``_put(path, new(old content))`` for every operand."""
    for operand in expand(scope, files):
        if isinstance(operand, Items):
            var = scope.code.fresh("path")
            with scope.code.block(f"for {var} in {operand.code}:"):
                _edit(scope, var, new)
        else:
            _edit(scope, scope.path(operand), new, operand)


def _edit(scope: Scope, path: str, new: Callable[[str], str], word: Word | None = None) -> None:
    put = scope.code.helper("_put")
    if not scope.backup:
        scope.give(path, new(f"{receiver(path)}.read_bytes()"), word)
        return
    # The copy keeps what was there before the first run: it is made once, and again only where there is something to change.
    old = scope.code.assign("old", f"{receiver(path)}.read_bytes()")
    fresh = scope.code.assign("new", new(old))
    copy = scope.code.assign("copy", f"Path(str({path}) + {quote(scope.backup)})")
    with scope.code.block(f"if {fresh} != {old} or not {copy}.exists():"):
        scope.count(f"{scope.code.helper('_copy')}({path}, {copy})")
        scope.count(f"{put}({path}, {fresh})")


def sed(scope: Scope, words: Sequence[Word]) -> None:
    """sed -i: literal substitutions with parameters in Python, constant scripts through sed itself."""
    suffix = next((m[1] for w in words if (m := _BACKUP.fullmatch(w.literal or ""))), "")
    plain = [w for w in words if not (w.literal in ("-i", "--in-place") or _BACKUP.fullmatch(w.literal or ""))]
    plain = [_without_i(w) for w in plain]
    if len(plain) == len(words) and all(_without_i(w) == w for w in words):
        raise ShellError("sed without -i changes nothing")
    if suffix:
        scope.backup = suffix
        try:
            sed(scope, [literal_word("-i"), *plain])
        finally:
            scope.backup = ""
        return
    parsed = parse_args(TABLE["sed"], plain)
    files = list(parsed.operands)
    if len(files) + parsed.has("-e") < 2:
        raise ShellError("sed -i without a file is not understood")
    scripts = [v for n, v in parsed.options if n == "-e" and v is not None] or [files.pop(0)]
    has_parameter = any(w.literal is None for w in scripts)
    dialect = EXTENDED if parsed.has("-E", "-r") else BASIC
    line = _whole_line(scripts[0]) if len(scripts) == 1 else None
    if line is not None:
        _with_line(scope, files, *line)
        return
    only = _one_command(scope, scripts)
    if only is not None and insertion(only):
        _must_have(scope, files, _place(only, dialect))
        in_place(scope, files, _inserting(scope, only, dialect))
        return
    edit = _literal_edit(scope, scripts[0], parsed) if len(scripts) == 1 else None
    if edit is not None:
        in_place(scope, files, edit)
    elif has_parameter and all(p.kind == "int" for w in scripts for p in scope.holes(w)):
        in_place(scope, files, _by_sed(scope, parsed, [scope.text(w) for w in scripts]))
    elif has_parameter and only is not None and at_edge(only):
        in_place(scope, files, _by_sed(scope, parsed, quoted_scripts(scope, scripts, dialect)))
    elif has_parameter:
        with suppress(ShellError):
            _must_have(scope, files, _replaced(scope, scripts, dialect))
        try:
            edit = _line_edit(scope, scripts, parsed)
        except ShellError:
            edit = _by_sed(scope, parsed, quoted_scripts(scope, scripts, dialect))
        in_place(scope, files, edit)
    else:
        in_place(scope, files, _by_sed(scope, parsed, _guarded(scope, scripts, dialect)))


def _must_have(scope: Scope, files: Sequence[Word], pattern: str) -> None:
    """A change of one file goes by a line that stays in every recording: where there is none, to say that all is well would be no
    help."""
    named = len(files) == 1 and all(isinstance(part, Lit | Hole) for part in files[0].parts)
    if pattern and named and scope.facts.keeps(files[0], scope.cwd, pattern):
        scope.code.line(f"{scope.code.helper('_need')}({scope.path(files[0])}, {pattern})")


def _place(command: Command, dialect: str) -> str:
    """The pattern by whose lines others are put in; "" for a line's number."""
    if command.address[:1] != ["/"] or command.address[-1:] != ["/"]:
        return ""
    inner = [(c, t.replace("\\/", "/") if c else t) for c, t in pieces_of(command.address[1:-1])]
    return pattern_code(inner, "extended" if dialect == EXTENDED else "basic")


def _replaced(scope: Scope, scripts: Sequence[Word], dialect: str) -> str:
    """The pattern of a substitution; "" for other scripts."""
    letter, (old, _), flags = delimited(scope.pieces(scripts[0]))
    return pattern_code(old, "extended" if dialect == EXTENDED else "basic") if letter == "s" and "I" not in flags else ""


def _by_sed(scope: Scope, parsed: Parsed, scripts: Sequence[str]) -> Callable[[str], str]:
    """sed itself, with scripts as Python expressions."""
    rest = Parsed(tuple((n, v) for n, v in parsed.options if n not in ("-e", "-s")), ())
    codes = ", ".join([quote("sed"), *option_codes(scope, rest), *(c for code in scripts for c in (quote("-e"), code))])
    run = scope.code.helper("_run")
    return lambda old: f"{run}([{codes}], {old})"


def _one_command(scope: Scope, scripts: Sequence[Word]) -> Command | None:
    """The script's command, where it is just one that can be read."""
    try:
        found = commands(scope.pieces(scripts[0])) if len(scripts) == 1 else []
    except ShellError:
        return None
    return found[0] if len(found) == 1 else None


def _inserting(scope: Scope, command: Command, dialect: str) -> Callable[[str], str]:
    """Lines put in beside other lines, each only where it is not there yet."""
    block = joined([*pieces_of(unescaped(command.text)), (True, "\n")])
    after = insertion(command) == "after"
    helper = scope.code.helper("_inserted")
    pieces = pieces_of(command.address)
    only = pieces[0][1] if len(pieces) == 1 and pieces[0][0] else ""
    if only.isdecimal():
        return lambda old: f"{helper}({old}, lambda number, _: number == {only}, {block}, {after})"
    if len(pieces) == 1 and not pieces[0][0] and any(p.name == pieces[0][1] and p.kind == "int" for p in scope.params):
        return lambda old: f"{helper}({old}, lambda number, _: number == {pieces[0][1]}, {block}, {after})"
    if command.address[0] != "/" or command.address[-1] != "/":
        raise ShellError("this sed script is not understood")
    scope.code.need("re")
    inner = [(c, t.replace("\\/", "/") if c else t) for c, t in pieces_of(command.address[1:-1])]
    pattern = pattern_code(inner, "extended" if dialect == EXTENDED else "basic")
    return lambda old: f"{helper}({old}, lambda _, line: re.search({pattern}, line) is not None, {block}, {after})"


def quoted_scripts(scope: Scope, scripts: Sequence[Word], dialect: str) -> list[str]:
    """Scripts as expressions in which every parameter is quoted for its place."""
    quoting = quoting_call(scope.code.helper("_quoted"))
    out = []
    for word in scripts:
        parts = [script(c, dialect, quoting) for c in commands(scope.pieces(word))]
        out.append(joined([piece for k, part in enumerate(parts) for piece in ([(True, "\n")] if k else []) + part]))
    return out


def _guarded(scope: Scope, scripts: Sequence[Word], dialect: str) -> list[str]:
    """Constant scripts, in the form that a second run finds done where one is known."""
    found = _one_command(scope, scripts)
    if found is not None and at_edge(found):
        return [joined(script(found, dialect, quoting_call("")))]
    return [quote(w.literal or "") for w in scripts]


def _whole_line(script: Word) -> tuple[str, Word] | None:
    """``1i TEXT`` and ``$a TEXT``: a helper and the line, for scripts that put one line at a file's begin or end."""
    first = script.parts[0] if script.parts else None
    m = re.match(r"(1\s*i|\$\s*a)\s*(?:\\\n?)?\s*", first.text) if isinstance(first, Lit) else None
    if m is None or not isinstance(first, Lit):
        return None
    rest = first.text[m.end() :]
    line = Word((*([Lit(rest)] if rest else []), *script.parts[1:]))
    if any(isinstance(p, Lit) and set(p.text) & set("\\\n") for p in line.parts):
        return None
    return ("_prepend" if m[1].startswith("1") else "_append", line)


def _with_line(scope: Scope, files: Sequence[Word], helper: str, line: Word) -> None:
    if scope.backup:
        raise ShellError("sed with a backup is not understood here")
    block = encoded(scope, [*scope.pieces(line), (True, "\n")])
    for operand in expand(scope, files):
        if isinstance(operand, Items):
            var = scope.code.fresh("path")
            with scope.code.block(f"for {var} in {operand.code}:"):
                scope.count(f"{scope.code.helper(helper)}({var}, {block})")
        else:
            scope.count(f"{scope.code.helper(helper)}({scope.path(operand)}, {block})")


def _without_i(word: Word) -> Word:
    text = word.literal
    if text is not None and re.fullmatch(r"-[nErs]*i[nErs]*", text):
        rest = text.replace("i", "", 1)
        return literal_word(rest if rest != "-" else "-s")
    return word


def _literal_edit(scope: Scope, script: Word, parsed: Parsed) -> Callable[[str], str] | None:
    """A substitution of plain text everywhere: ``bytes.replace``, kept from replacing twice where new holds old."""
    try:
        letter, (old, new), flags = delimited(scope.pieces(script))
    except ShellError:
        return None
    dialect_ok = all(is_plain(t, "extended" if parsed.has("-E", "-r") else "basic") for c, t in old if c)
    values_ok = all(is_plain(str(v)) and not set(str(v)) & set("&\\\n") for p in scope.holes(script) for v in p.values)
    plain_new = not any(c and set(t) & set("&\\") for c, t in new)
    if letter != "s" or flags != "g" or not (dialect_ok and values_ok and plain_new and old):
        return None
    if any(c and "." in t for c, t in old) and all(c for c, _ in old):
        return None
    a, b = _bytes(scope, old), _bytes(scope, new)
    if not _holds(scope, script, old, new):
        return lambda content: f"{content}.replace({a}, {b})"
    helper = scope.code.helper("_replaced")
    return lambda content: f"{helper}({content}, {a}, {b})"


def _bytes(scope: Scope, pieces: list[Piece]) -> str:
    return encoded(scope, pieces)


def _holds(scope: Scope, script: Word, old: list[Piece], new: list[Piece]) -> bool:
    """The new text holds the old one in some trace, so that a second run would replace again."""
    count = max((len(p.values) for p in scope.holes(script)), default=1)
    for k in range(count):
        values = {p.name: str(p.values[k]) for p in scope.holes(script)}
        texts = ["".join(t if c else values.get(t, "") for c, t in side) for side in (old, new)]
        if texts[0] in texts[1]:
            return True
    return False


def _line_edit(scope: Scope, scripts: Sequence[Word], parsed: Parsed) -> Callable[[str], str]:
    """Substitutions and deletions with parameters, line by line, with ``re``."""
    dialect = "extended" if parsed.has("-E", "-r") else "basic"
    if len(scripts) != 1 or parsed.has("-n"):
        raise ShellError("this sed script with a parameter is not understood")
    pieces = scope.pieces(scripts[0])
    scope.code.need("re", "io")
    address = _deleted(pieces)
    if address is not None:
        pattern = pattern_code(address, "extended" if dialect == "extended" else "basic")
        test = f'not re.search(({pattern}).encode(), line.rstrip(b"\\n"))'
        return lambda content: f'b"".join(line for line in io.BytesIO({content}) if {test})'
    letter, (old, new), flags = delimited(pieces)
    if letter != "s" or set(flags) - set("gI"):
        raise ShellError("this sed script with a parameter is not understood")
    helper = scope.code.helper("_substituted")
    pattern = pattern_code(old, "extended" if dialect == "extended" else "basic")
    fresh = replacement_code(new, "basic")
    if "I" in flags:
        pattern = f'"(?i)" + {pattern}'
    return lambda content: f"{helper}({content}, {pattern}, {fresh}, {0 if 'g' in flags else 1})"


def _deleted(pieces: list[Piece]) -> list[Piece] | None:
    """The address of a ``/…/d`` script."""
    parts = merge(pieces)
    if not parts or not parts[0][0] or not parts[-1][0]:
        return None
    if not parts[0][1].startswith("/") or not parts[-1][1].endswith("/d"):
        return None
    out = [(c, t.replace("\\/", "/")) for c, t in parts]
    out[0] = (True, out[0][1][1:])
    out[-1] = (True, out[-1][1][:-2])
    return merge(out)


def _perl(scope: Scope, words: Sequence[Word]) -> None:
    """perl -pi -e with one substitution."""
    flags = "".join((w.literal or "")[1:] for w in words if re.fullmatch(r"-[pie]+", w.literal or ""))
    rest = [w for w in words if not re.fullmatch(r"-[pie]+", w.literal or "")]
    if sorted(flags) != ["e", "i", "p"] or len(rest) < 2:
        raise ShellError("perl other than with -pi -e is not understood")
    letter, (old, new), marks = delimited(scope.pieces(rest[0]))
    if letter != "s" or set(marks) - set("gi"):
        raise ShellError("a perl program other than one substitution is not understood")
    scope.code.need("re", "io")
    pattern, fresh = pattern_code(old, "perl"), replacement_code(new, "perl")
    pattern = f'"(?i)" + {pattern}' if "i" in marks else pattern
    helper = scope.code.helper("_substituted")
    in_place(scope, rest[1:], lambda content: f"{helper}({content}, {pattern}, {fresh}, {0 if 'g' in marks else 1})")


def _dos2unix(scope: Scope, words: Sequence[Word]) -> None:
    files = [w for w in words if not (w.literal or "").startswith("-")]
    in_place(scope, files, lambda old: f'{old}.replace(b"\\r\\n", b"\\n")')


def _unix2dos(scope: Scope, words: Sequence[Word]) -> None:
    files = [w for w in words if not (w.literal or "").startswith("-")]
    in_place(scope, files, lambda old: f'{old}.replace(b"\\r\\n", b"\\n").replace(b"\\n", b"\\r\\n")')


def _truncate(scope: Scope, words: Sequence[Word]) -> None:
    parsed = parse_args(TABLE["truncate"], words)
    size = parsed.value("-s", "--size")
    if size is None or size.literal != "0":
        raise ShellError("truncate other than to 0 is not understood")
    in_place(scope, parsed.operands, lambda old: f"{old}[:0]")


def _sort_in_place(scope: Scope, words: Sequence[Word]) -> None:
    """sort -o FILE FILE."""
    parsed = parse_args(TABLE["sort"], words)
    out = parsed.value("-o")
    if out is None or len(parsed.operands) != 1:
        raise ShellError("this sort is not understood")
    kept = Parsed(tuple((n, v) for n, v in parsed.options if n != "-o"), ())
    argv = ", ".join([quote("sort"), *option_codes(scope, kept), *script_codes(scope, [])])
    source = scope.path(parsed.operands[0])
    run, put = scope.code.helper("_run"), scope.code.helper("_put")
    scope.count(f"{put}({scope.path(out)}, {run}([{argv}], {receiver(source)}.read_bytes()))")


EDITS: dict[str, Callable[[Scope, Sequence[Word]], None]] = {
    "sed": sed,
    "perl": _perl,
    "dos2unix": _dos2unix,
    "unix2dos": _unix2dos,
    "truncate": _truncate,
    "sort": _sort_in_place,
}

"""Commands that edit files in place: each becomes new content, put in place only where it differs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from synth.embedded.code import Piece, merge, quote
from synth.embedded.filters import encoded, expand, option_codes, receiver, script_codes
from synth.embedded.meanings import TABLE, Parsed, Spec, parse_args
from synth.embedded.names import Items
from synth.embedded.regexes import delimited, is_plain, pattern_code, replacement_code
from synth.embedded.scope import Scope
from synth.embedded.tree import Lit, ShellError, Word, literal_word

_SED = Spec("change", {"-e": "script", "-i": "syntax"}, ("script", "operand"), ("-e",))


def in_place(scope: Scope, files: Sequence[Word], new: Callable[[str], str]) -> None:
    """``_put(path, new(old content))`` for every operand."""
    put = scope.code.helper("_put")
    for operand in expand(scope, files):
        if isinstance(operand, Items):
            var = scope.code.fresh("path")
            with scope.code.block(f"for {var} in {operand.code}:"):
                scope.count(f"{put}({var}, {new(f'{var}.read_bytes()')})")
        else:
            path = scope.path(operand)
            scope.count(f"{put}({path}, {new(f'{receiver(path)}.read_bytes()')})")


def sed(scope: Scope, words: Sequence[Word]) -> None:
    """sed -i: literal substitutions with parameters in Python, constant scripts through sed itself."""
    plain = [w for w in words if (w.literal or "") not in ("-i", "--in-place")]
    plain = [_without_i(w) for w in plain]
    if len(plain) == len(words) and all(_without_i(w) == w for w in words):
        raise ShellError("sed without -i changes nothing")
    parsed = parse_args(TABLE["sed"], plain)
    files = list(parsed.operands)
    if len(files) + parsed.has("-e") < 2:
        raise ShellError("sed -i without a file is not understood")
    scripts = [v for n, v in parsed.options if n == "-e" and v is not None] or [files.pop(0)]
    has_parameter = any(w.literal is None for w in scripts)
    line = _whole_line(scripts[0]) if len(scripts) == 1 else None
    if line is not None:
        _with_line(scope, files, *line)
        return
    edit = _literal_edit(scope, scripts[0], parsed) if len(scripts) == 1 else None
    if edit is not None:
        in_place(scope, files, edit)
    elif has_parameter and all(p.kind == "int" for w in scripts for p in scope.holes(w)):
        rest = Parsed(tuple((n, v) for n, v in parsed.options if n not in ("-e", "-s")), ())
        codes = ", ".join([quote("sed"), *option_codes(scope, rest), *(c for w in scripts for c in (quote("-e"), scope.text(w)))])
        run = scope.code.helper("_run")
        in_place(scope, files, lambda old: f"{run}([{codes}], {old})")
    elif has_parameter:
        in_place(scope, files, _line_edit(scope, scripts, parsed))
    else:
        given = [w for w in plain if w in scripts or (w.literal or "").startswith("-")]
        argv = ["sed", *(w.literal or "" for w in given)]
        run = scope.code.helper("_run")
        listed = ", ".join(quote(a) for a in argv)
        in_place(scope, files, lambda old: f"{run}([{listed}], {old})")


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
    "dos2unix": _dos2unix,
    "unix2dos": _unix2dos,
    "truncate": _truncate,
    "sort": _sort_in_place,
}


"""Commands with a meaning of their own at some place of a pipeline: echo, cat, find, xargs, sort, jq …"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from synth.embedded.code import Piece, joined, merge, quote, quote_bytes
from synth.embedded.edits import quoted_scripts
from synth.embedded.filters import (
    Data,
    Stream,
    as_bytes,
    data,
    encoded,
    expand,
    option_codes,
    read_all,
    receiver,
    run_code,
    run_filter,
    run_operands,
)
from synth.embedded.finding import FindReader, found_items
from synth.embedded.names import glob_items
from synth.embedded.regexes import pattern_code
from synth.embedded.scope import Content, Items, Scope, content, picked, show
from synth.embedded.sedscript import BASIC, EXTENDED
from verifiers.shell.commands import TABLE, Parsed, parse_args, xargs_command
from verifiers.shell.quoting import c_decode
from verifiers.shell.tree import CURSOR, Hole, Lit, ShellError, Var, Word

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
        pieces += [(c, c_decode(t)) if c and escapes else (c, t) for c, t in got]
    return data(encoded(scope, [*pieces, (True, "\n" if newline else "")]))


def _printf(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    head = words[0].literal if words else None
    if head is None:
        raise ShellError("printf with a computed format is not understood")
    rest = [list(scope.pieces(w)) for w in words[1:]]
    bits = c_decode(head).replace("%%", "\0").split("%s")
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
    if not words or [w.literal for w in words] == ["-"]:
        return given if given is not None else data()
    if any((w.literal or "").startswith("-") and w.literal != "-" for w in words):
        return None
    pieces: list[Content] = []
    for operand in expand(scope, words):
        if isinstance(operand, Word) and operand.literal == "-":
            pieces += given.pieces if isinstance(given, Data) else [Content(as_bytes(scope, given))]
        else:
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
    given = given if isinstance(given, Items) else split_items(scope, given)
    inner = [*words[start:]] or [Word(())]
    options = [w.literal or "" for w in words[:start]]
    if any(o.startswith(("-n", "-L", "-I")) for o in options):
        return apply(scope, inner, given, one_by_one=True)
    return apply(scope, inner, given, one_by_one=False)


def split_items(scope: Scope, given: Stream | None) -> Items:
    """The names that a stream prints, one a line: xargs would take those with blanks apart, which nobody means."""
    scope.code.need("Path", "os")
    return Items(f'[Path(os.fsdecode(p)) for p in {as_bytes(scope, given)}.split(b"\\n") if p]')


def apply(scope: Scope, words: list[Word], items: Items, one_by_one: bool) -> Stream:
    """A command run on a list of paths, for what it prints."""
    plain = [w for w in words if w.literal != "{}" and not is_cursor(w)]
    name = plain[0].literal or "" if plain else ""
    spec = TABLE.get(name)
    if spec is None or (spec.kind != "filter") or any(isinstance(p, Var) and p.name == CURSOR for w in plain for p in w.parts):
        raise ShellError(f"{name} on a list of paths is not understood")
    if name == "cat" and len(plain) == 1:
        return data(f'b"".join(p.read_bytes() for p in {items.each})')
    if one_by_one and name not in ("md5sum", "sha256sum", "sha1sum"):
        raise ShellError(f"{name} on one path after another is not understood")
    return run_filter(scope, name, spec, plain[1:], None, items)


def is_cursor(word: Word) -> bool:
    return len(word.parts) == 1 and isinstance(part := word.parts[0], Var) and part.name == CURSOR


def _sort(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    flags = {w.literal for w in words}
    if isinstance(given, Items) and flags <= {"-z", "-u", "-r"}:
        key = "str" if given.shown == "path" else f"lambda p: {show(given.shown, 'p')}"
        code = f"sorted({given.code}, key={key}{', reverse=True' if '-r' in flags else ''})"
        return replace(given, code=code, inner="", steps=given.steps + 1)
    return None


def _wc(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    if isinstance(given, Items) and [w.literal for w in words] == ["-l"]:
        return data(f'b"%d\\n" % len({given.code})')
    return None


def _grep(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    parsed = parse_args(TABLE["grep"], words)
    if isinstance(given, Items) and not parsed.names - {"-v", "-i", "-E"} and len(parsed.operands) == 1:
        return _filtered(scope, parsed, given)
    if parsed.has("-r", "-R", "--recursive") and 1 <= len(parsed.operands) <= 2:
        return _grep_tree(scope, parsed)
    return None


def _filtered(scope: Scope, parsed: Parsed, given: Items) -> Items:
    """grep over names of paths."""
    scope.code.need("re")
    pattern = pattern_code(scope.pieces(parsed.operands[0]), "extended" if parsed.has("-E") else "basic")
    flags = ", re.IGNORECASE" if parsed.has("-i") else ""
    test = f"{'not ' if parsed.has('-v') else ''}re.search({pattern}, {show(given.shown, 'p')}{flags})"
    return picked(f"{given.code} if {test}", given.shown, given.steps)


def _grep_tree(scope: Scope, parsed: Parsed) -> Stream:
    """grep -r over the files below a folder, in the order of their names."""
    spec = TABLE["grep"]
    patterns = [] if parsed.has("-e", "-f") else list(parsed.operands[:1])
    roots = parsed.operands[len(patterns) :]
    root = roots[0] if roots else Word((Lit("."),))
    reader = FindReader(scope, [root, *(Word((Lit(t),)) for t in ("-type", "f"))])
    for name, value in parsed.options:
        if name in ("--include", "--exclude") and value is not None:
            negated = [Word((Lit("!"),))] if name == "--exclude" else []
            reader.words += [*negated, Word((Lit("-name"),)), value]
    found = reader.read()
    items = found_items(scope, found, found.branches[0], writes=False)
    if not roots:
        items = replace(items, shown="path")
    dropped = ("-r", "-R", "--recursive", "--include", "--exclude", "-H")
    kept = Parsed(tuple((n, v) for n, v in parsed.options if n not in dropped), ())
    listing = parsed.has("-l", "-L", "--files-with-matches")
    extra = [] if listing or parsed.has("-h") else [quote("-H")]
    argv = [quote("grep"), *option_codes(scope, kept), *extra, *([quote("-Z")] if listing else []), quote("--")]
    argv += map(scope.text, patterns)
    call = f"{scope.code.helper('_run')}([{', '.join([*argv, items.texts()])}], accepted={spec.no_match})"
    if not listing:
        return data(call)
    scope.code.need("Path", "os")
    return Items(f'[Path(os.fsdecode(p)) for p in {call}.split(b"\\0")[:-1]]', items.shown, steps=items.steps)


def _head(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    parsed = parse_args(TABLE["head"], words)
    value = parsed.value("-n", "--lines")
    if isinstance(given, Items) and not parsed.operands and (value is None or (value.literal or "x").isdecimal()):
        return replace(given, code=f"{given.code}[:{value.literal if value else 10}]", inner="")
    return None


def _ls(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    parsed = parse_args(TABLE["ls"], words)
    if parsed.names - {"-1"} or len(parsed.operands) > 1:
        return None
    if parsed.operands and parsed.operands[0].has_glob:
        return glob_items(scope, parsed.operands[0])
    where = scope.path(parsed.operands[0]) if parsed.operands else "Path()"
    scope.code.need("Path")
    return Items(f'sorted(p for p in {receiver(where)}.iterdir() if not p.name.startswith("."))', "name", steps=1)


def _jq(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    """A parameter inside a jq program becomes one of its variables."""
    spec = TABLE["jq"]
    given_values, words = _jq_values(scope, words)
    parsed = parse_args(spec, words)
    if given_values and parsed.operands and not scope.holes(parsed.operands[0]):
        argv = [quote("jq"), *option_codes(scope, parsed), *given_values, scope.text(parsed.operands[0])]
        pieces = [p for f in expand(scope, parsed.operands[1:]) for p in read_all(scope, f)]
        return data(run_code(scope, spec, argv, content(pieces) if pieces else as_bytes(scope, given)))
    if given_values or not parsed.operands or not scope.holes(parsed.operands[0]):
        return None
    program, names = "", []
    for part in parsed.operands[0].parts:
        if isinstance(part, Hole):
            names.append(scope.params[part.index].name)
            program += f"\0{names[-1]}\0"
        elif isinstance(part, Lit):
            program += part.text
    program = re.sub(r'(?<=[\w\]\0])\.(?:"\0(\w+)\0"|\0(\w+)\0)', lambda m: f"[${m[1] or m[2]}]", program)
    program = re.sub(r'\."\0(\w+)\0"|\.\0(\w+)\0', lambda m: f".[${m[1] or m[2]}]", program)
    program = re.sub(r'"\0(\w+)\0"', lambda m: f"${m[1]}", program)
    literal = [p.name for p in scope.holes(parsed.operands[0]) if all(_is_json(str(v)) for v in p.values)]
    program = re.sub(r"\0(\w+)\0", lambda m: f"${m[1]}" if m[1] in literal else m[0], program)
    if "\0" in program:
        raise ShellError("this jq program with a parameter is not understood")
    argv = [quote("jq"), *option_codes(scope, parsed)]
    for name in dict.fromkeys(names):
        as_text = any(p.name == name and p.kind == "str" for p in scope.params)
        argv += [quote("--argjson" if name in literal else "--arg"), quote(name), name if as_text else f"str({name})"]
    argv.append(quote(program))
    pieces = [p for f in expand(scope, parsed.operands[1:]) for p in read_all(scope, f)]
    return data(run_code(scope, spec, argv, content(pieces) if pieces else as_bytes(scope, given)))


def _jq_values(scope: Scope, words: Sequence[Word]) -> tuple[list[str], list[Word]]:
    """``--arg NAME VALUE`` as arguments of the program, and the other words."""
    codes: list[str] = []
    rest: list[Word] = []
    k = 0
    while k < len(words):
        if words[k].literal in ("--arg", "--argjson") and k + 2 < len(words):
            codes += [scope.text(w) for w in words[k : k + 3]]
            k += 3
        else:
            rest.append(words[k])
            k += 1
    return codes, rest


def _is_json(text: str) -> bool:
    """A number or a name that JSON knows: written without quotes in a program."""
    return re.fullmatch(r"-?\d+(\.\d+)?|true|false|null", text) is not None


def _sed(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    """A parameter inside a sed script is quoted for its place."""
    spec = TABLE["sed"]
    parsed = parse_args(spec, words)
    files = list(parsed.operands)
    scripts = [v for n, v in parsed.options if n == "-e" and v is not None] or files[:1]
    files = files if parsed.has("-e") else files[1:]
    if parsed.has("-f") or all(p.kind == "int" for w in scripts for p in scope.holes(w)):
        return None
    rest = Parsed(tuple((n, v) for n, v in parsed.options if n != "-e"), ())
    codes = quoted_scripts(scope, scripts, EXTENDED if parsed.has("-E", "-r") else BASIC)
    argv = [quote("sed"), *option_codes(scope, rest), *(c for code in codes for c in (quote("-e"), code))]
    pieces = [p for f in expand(scope, files) for p in read_all(scope, f)]
    return data(run_code(scope, spec, argv, content(pieces) if pieces else as_bytes(scope, given)))


def _awk(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    """A parameter that is a whole text or pattern of an awk program becomes one of its variables. What is joined to it keeps it a
    text: awk would take ``0100`` for 100."""
    spec = TABLE["awk"]
    parsed = parse_args(spec, words)
    if not parsed.operands or parsed.has("-f") or all(p.kind == "int" for p in scope.holes(parsed.operands[0])):
        return None
    source = "".join(text if const else f"\0{text}\0" for const, text in scope.pieces(parsed.operands[0]))
    number = {p.name for p in scope.params if p.kind == "int"}
    texts = [n for n in dict.fromkeys(re.findall(r"\0(\w+)\0", source)) if n not in number]
    source = re.sub(r'"\0(\w+)\0"', lambda m: f'(v_{m[1]} "")' if m[1] in texts else m[0], source)
    source = re.sub(r"(?<![\w$)\]~/ ])\s*/\0(\w+)\0/|(?<=^)/\0(\w+)\0/", lambda m: f"index($0, v_{m[1] or m[2]})", source)
    if any(f"\0{n}\0" in source for n in texts):
        raise ShellError("this awk program with a parameter is not understood")
    program = [(k % 2 == 0, part) for k, part in enumerate(source.split("\0"))]
    values = [c for n in texts for c in (quote("-v"), f'"v_{n}=" + {n}.replace("\\\\", "\\\\\\\\")')]
    argv = [quote("awk"), *option_codes(scope, parsed), *values, joined(merge(program))]
    files = expand(scope, parsed.operands[1:])
    if len(files) > 1 or any(isinstance(f, Items) for f in files):
        return data(run_operands(scope, spec, argv, files, given))
    pieces = [p for f in files for p in read_all(scope, f)]
    return data(run_code(scope, spec, argv, content(pieces) if pieces else as_bytes(scope, given)))


def _tr(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    if isinstance(given, Items) and [w.literal for w in words] in (["\\n", "\\0"], ["\\0", "\\n"]):
        return given
    return None


def _name_of(scope: Scope, words: Sequence[Word], given: Stream | None) -> Stream | None:
    raise ShellError("basename or dirname in a pipeline is not understood")


SPECIAL: dict[str, Special] = {
    "echo": _echo, "printf": _printf, "cat": _cat, "find": _find, "xargs": _xargs, "sort": _sort, "wc": _wc,
    "grep": _grep, "egrep": _grep, "head": _head, "ls": _ls, "jq": _jq, "tr": _tr, "sed": _sed, "awk": _awk, "gawk": _awk,
    "basename": _name_of, "dirname": _name_of,
}  # fmt: skip

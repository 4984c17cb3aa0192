"""Commands that change files, each as Python that a second run finds already done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from synth.embedded.archives import ARCHIVES
from synth.embedded.code import Piece, joined, merge, quote
from synth.embedded.edits import EDITS
from synth.embedded.filters import expand, named, receiver
from synth.embedded.regexes import delimited, expand_ranges, pattern_code, replacement_code
from synth.embedded.scope import Items, Scope
from verifiers.shell.commands import TABLE, Parsed, parse_args
from verifiers.shell.tree import Lit, ShellError, Var, Word


def change(scope: Scope, name: str, words: Sequence[Word]) -> None:
    """Writes the lines for one changing command.

    Raises:
        ShellError: a command or option without a meaning here.
    """
    if name in EDITS:
        EDITS[name](scope, words)
    elif name in ARCHIVES:
        ARCHIVES[name](scope, words)
    elif name in ACTIONS and name in TABLE:
        parsed = parse_args(TABLE[name], words)
        if len(parsed.operands) < (2 if name == "chmod" else 1):
            raise ShellError(f"{name} without a path is not understood")
        ACTIONS[name](scope, parsed)
    else:
        raise ShellError(f"{name} is not understood")


def only(parsed: Parsed, name: str, *allowed: str) -> None:
    extra = parsed.names - set(allowed)
    if extra:
        raise ShellError(f"{name} {' '.join(sorted(extra))} is not understood")


def for_each(scope: Scope, words: Sequence[Word], body: Callable[[str, bool], None]) -> None:
    """``body(path, listed)`` for every operand; ``listed`` paths come from a listing, so they are there."""
    for operand in expand(scope, words):
        if isinstance(operand, Items):
            var = scope.code.fresh("path")
            with scope.code.block(f"for {var} in {operand.code}:"):
                body(var if operand.kind == "Path" else f"Path({var})", operand.kind == "Path")
        else:
            body(scope.path(operand), is_listed(scope, operand))


def is_listed(scope: Scope, word: Word) -> bool:
    part = word.parts[0] if len(word.parts) == 1 else None
    return isinstance(part, Var) and not part.op and scope.vars.get(part.name, ("", ""))[1] == "Path"


def one_more(scope: Scope, line: str) -> None:
    scope.changes = True
    scope.code.line(line)
    scope.code.line("changed += 1")


# ---------------------------------------------------------------- one function a command


def _mkdir(scope: Scope, parsed: Parsed) -> None:
    only(parsed, "mkdir", "-p", "--parents", "-v")
    parents = parsed.has("-p", "--parents")
    other = "_mkdir" in scope.code.helpers and "_mkdir:plain" not in scope.code.helpers
    scope.code.helper("_mkdir")
    if parents:
        scope.code.helpers.discard("_mkdir:plain")
    elif not other:
        scope.code.helper("_mkdir:plain")
    for_each(scope, parsed.operands, lambda path, listed: scope.count(f"_mkdir({path})"))
    scope.made_dirs.update(bare(w) for w in parsed.operands)


def bare(word: Word) -> Word:
    """A path word without ``./`` in front and ``/`` behind."""
    parts = list(word.parts)
    if parts and isinstance(parts[-1], Lit):
        parts[-1] = Lit(parts[-1].text.rstrip("/") or parts[-1].text)
    if parts and isinstance(parts[0], Lit) and parts[0].text.startswith("./") and len(parts[0].text) + len(parts) > 3:
        parts[0] = Lit(parts[0].text[2:])
    return Word(tuple(p for p in parts if p not in (Lit(""), Lit("/")) or len(parts) == 1))


def is_folder(scope: Scope, word: Word) -> bool:
    last = word.parts[-1] if word.parts else None
    slash = isinstance(last, Lit) and last.text.endswith("/")
    return slash or word.literal in (".", "..") or bare(word) in scope.made_dirs or scope.facts.is_dir(word, scope.cwd)


def _touch(scope: Scope, parsed: Parsed) -> None:
    only(parsed, "touch")
    scope.code.helper("_touch")
    for_each(scope, parsed.operands, lambda path, listed: scope.count(f"_touch({path})"))


def _rm(scope: Scope, parsed: Parsed) -> None:
    only(parsed, "rm", "-f", "-r", "-R", "-v", "-i", "--force", "--recursive", "-d")
    deep = parsed.has("-r", "-R", "--recursive")

    def one(path: str, listed: bool) -> None:
        if listed and not deep:
            one_more(scope, f"{receiver(path)}.unlink()")
        else:
            helper = "_rmtree" if deep and tree else "_unlink"
            scope.count(f"{scope.code.helper(helper)}({path})")

    for word in parsed.operands:
        tree = deep and (scope.facts.is_dir(word, scope.cwd) or word.has_glob or bare(word) in scope.made_dirs)
        for_each(scope, [word], one)


def _rmdir(scope: Scope, parsed: Parsed) -> None:
    only(parsed, "rmdir", "-v", "--ignore-fail-on-non-empty")
    for_each(scope, parsed.operands, lambda path, listed: scope.count(f"{scope.code.helper('_rmdir')}({path})"))


def _sources(parsed: Parsed, name: str) -> tuple[list[Word], Word, bool]:
    given = parsed.value("-t", "--target-directory")
    if given is not None:
        return list(parsed.operands), given, True
    if len(parsed.operands) < 2:
        raise ShellError(f"{name} needs a source and a target")
    return list(parsed.operands[:-1]), parsed.operands[-1], len(parsed.operands) > 2


def _mv(scope: Scope, parsed: Parsed) -> None:
    only(parsed, "mv", "-t", "--target-directory", "-v", "-n", "-f", "-i")
    sources, dest, many = _sources(parsed, "mv")
    into = many or is_folder(scope, dest) or any(w.has_glob for w in sources)

    move = "_move:new" if parsed.has("-n") else "_move"

    def one(path: str, listed: bool) -> None:
        if into:
            folder = scope.path(dest)
            target = f"{folder} / {receiver(path)}.name"
            if listed:
                with scope.code.block(f"if {path}.parent != {folder}:"):
                    scope.count(f"{scope.code.helper('_rename')}({path}, {target})")
            else:
                scope.code.helper(move)
                scope.count(f"_move({path}, {target})")
        elif listed:
            _rename_listed(scope, path, dest)
        else:
            scope.code.helper(move)
            scope.count(f"_move({path}, {scope.path(dest)})")

    for_each(scope, sources, one)


def _rename_listed(scope: Scope, path: str, dest: Word) -> None:
    """Renames what a listing found; names that have the new shape already are left, or a second run would add to them."""
    call = f"{scope.code.helper('_rename')}({path}, {scope.path(dest)})"
    pieces = scope.pieces(dest)
    at = next((k for k, (const, text) in enumerate(pieces) if not const and text == path), None)
    fixed_start, fixed_end = scope.fixed.get(path, (False, False))
    tests: list[str] = []
    if at is not None and len([p for p in pieces if p == (False, path)]) == 1:
        before, after = merge(pieces[:at]), merge(pieces[at + 1 :])
        if before and not fixed_start and "/" not in "".join(t for c, t in before if c):
            tests.append(f"{path}.name.startswith({_text_of(before)})")
        if after and not fixed_end:
            tests.append(f"{path}.name.endswith({_text_of(after)})")
    if tests:
        joined_tests = " and ".join(tests)
        with scope.code.block(f"if not {joined_tests if len(tests) == 1 else f'({joined_tests})'}:"):
            scope.count(call)
    else:
        scope.count(call)


def _text_of(pieces: list[tuple[bool, str]]) -> str:
    return joined(pieces, len(pieces) == 1)


def _cp(scope: Scope, parsed: Parsed) -> None:
    only(parsed, "cp", "-r", "-R", "-a", "-t", "--target-directory", "-v", "-f", "-T", "--recursive")
    deep = parsed.has("-r", "-R", "-a", "--recursive")
    sources, dest, many = _sources(parsed, "cp")
    into = (many or is_folder(scope, dest) or any(w.has_glob for w in sources)) and not parsed.has("-T")

    def one(path: str, listed: bool) -> None:
        target = f"{scope.path(dest)} / {receiver(path)}.name" if into else scope.path(dest)
        helper = "_copy"
        if deep and not listed and scope.facts.is_dir(word, scope.cwd):
            helper = "_copy_tree"
            links, folders = scope.facts.has_links(word, scope.cwd), scope.facts.has_folders(word, scope.cwd)
            scope.code.helper("_copy_tree:links" if links else ("_copy_tree" if folders else "_copy_tree:flat"))
        elif deep and listed:
            raise ShellError("cp -r of a list is not understood")
        else:
            scope.code.helper("_copy")
        scope.count(f"{helper}({path}, {target})")

    for word in sources:
        for_each(scope, [word], one)


def _ln(scope: Scope, parsed: Parsed) -> None:
    only(parsed, "ln", "-s", "--symbolic", "-v", "-n", "-f")
    if not parsed.has("-s", "--symbolic") or len(parsed.operands) != 2:
        raise ShellError("ln other than ln -s TARGET NAME is not understood")
    target, link = parsed.operands
    where = scope.path(link)
    if is_folder(scope, link) and not parsed.has("-n"):
        where = f"{where} / Path({scope.text(target)}).name"
    helper = "_relink" if parsed.has("-f") else "_link"
    scope.count(f"{scope.code.helper(helper)}({scope.text(target)}, {where})")


def mode_code(scope: Scope, word: Word) -> str | None:
    """An int expression for an octal mode, None for a symbolic one."""
    if word.literal is not None:
        return f"0o{word.literal.lstrip('0') or '0'}" if word.literal.isdecimal() else None
    holes = scope.holes(word)
    if len(holes) == 1 and all(str(v).isdecimal() and len(word.parts) == 1 for v in holes[0].values):
        return f"int({holes[0].name}, 8)"
    return None


def _chmod(scope: Scope, parsed: Parsed) -> None:
    words = list(parsed.operands)
    symbolic = next((n for n in parsed.names if n not in ("-R", "-v", "-f", "-c", "--recursive")), None)
    if symbolic is not None:
        raise ShellError(f"chmod {symbolic} is not understood")
    mode_word, rest = words[0], words[1:]
    mode = mode_code(scope, mode_word)

    def one(path: str, listed: bool) -> None:
        if mode is None:
            scope.code.line(f'{scope.code.helper("_run")}(["chmod", "--", {scope.text(mode_word)}, str({path})])')
        else:
            scope.count(f"{scope.code.helper('_chmod')}({path}, {mode})")

    if parsed.has("-R", "--recursive"):
        for word in rest:
            scope.code.helper("_walk")
            var = scope.code.fresh("path")
            with scope.code.block(f"for {var} in [p for p in _walk({scope.path(word)}) if not p.is_symlink()]:"):
                one(var, True)
    else:
        for_each(scope, rest, one)


def _rename_perl(scope: Scope, parsed: Parsed) -> None:
    only(parsed, "rename", "-v", "-f")
    letter, (old, new), flags = delimited(scope.pieces(parsed.operands[0]))
    for operand in expand(scope, parsed.operands[1:]):
        if not isinstance(operand, Items):
            var = scope.path(operand)
            _rename_one(scope, var, letter, old, new, flags)
            continue
        listing = named(scope, operand)
        var = scope.code.fresh("path")
        with scope.code.block(f"for {var} in {listing.code}:"):
            _rename_one(scope, var, letter, old, new, flags)


def _rename_one(scope: Scope, path: str, letter: str, old: list[Piece], new: list[Piece], flags: str) -> None:
    if letter == "y":
        if any(not c for c, _ in [*old, *new]) or flags:
            raise ShellError("y/// with a parameter is not understood")
        a, b = (expand_ranges(p[0][1]) if p else "" for p in (old, new))
        if len(a) != len(b):
            raise ShellError("y/// of another length is not understood")
        value = f"str({path}).translate(str.maketrans({quote(a)}, {quote(b)}))"
    else:
        scope.code.need("re")
        ignore = ", flags=re.IGNORECASE" if "i" in flags else ""
        count = "" if "g" in flags else ", count=1"
        value = f"re.sub({pattern_code(old, 'perl')}, {replacement_code(new, 'perl')}, str({path}){count}{ignore})"
    scope.code.need("Path")
    target = scope.code.assign("target", f"Path({value})")
    with scope.code.block(f"if {target} != {path}:"):
        scope.count(f"{scope.code.helper('_rename')}({path}, {target})")


ACTIONS: dict[str, Callable[[Scope, Parsed], None]] = {
    "mkdir": _mkdir, "touch": _touch, "rm": _rm, "unlink": _rm, "rmdir": _rmdir, "mv": _mv, "cp": _cp, "ln": _ln,
    "chmod": _chmod, "rename": _rename_perl, "prename": _rename_perl, "file-rename": _rename_perl,
}  # fmt: skip

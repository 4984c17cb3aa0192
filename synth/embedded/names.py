"""Names against shell patterns, and lists of paths from globs."""

from __future__ import annotations

from synth.embedded.code import Piece, joined
from synth.embedded.scope import DOT as DOT
from synth.embedded.scope import Items as Items
from synth.embedded.scope import Scope
from verifiers.shell.tree import Glob, Hole, Lit, ShellError, Word

UNFINISHED = "not _unfinished(p.name)"
"""Leaves out what a killed run may have left; taken out again where the skill writes no content."""


def name_test(scope: Scope, subject: str, word: Word, fold: bool = False) -> str:
    """A Python condition: ``subject`` (a str expression) matches the glob in ``word``; ``""`` where all do."""
    pieces = pattern_pieces(scope, word)
    if fold:
        subject = f"{subject}.lower()"
        pieces = [(const, text.lower() if const else _lowered(scope, text)) for const, text in pieces]
    shape = "".join(text if const else "x" for const, text in pieces)
    inner = shape.strip("*")
    if not inner:
        return ""
    if any(c in inner for c in "*?[\\"):
        scope.code.need("fnmatch")
        escaped = [(const, text if const else f"glob.escape({text})") for const, text in pieces]
        if any(not const for const, _ in pieces):
            scope.code.need("glob")
        return f"fnmatch.fnmatchcase({subject}, {joined(escaped, True)})"
    plain = joined(_stripped(pieces), _one_text(scope, _stripped(pieces)))
    if shape.startswith("*") and shape.endswith("*"):
        return f"{plain} in {subject}"
    if shape.startswith("*"):
        return f"{subject}.endswith({plain})"
    return f"{subject}.startswith({plain})" if shape.endswith("*") else f"{subject} == {plain}"


def whole_pattern(scope: Scope, word: Word) -> str | None:
    """The parameter's name where the word is one parameter that holds a pattern itself."""
    if len(word.parts) == 1 and isinstance(part := word.parts[0], Hole):
        param = scope.params[part.index]
        if any(c in str(v) for v in param.values for c in "*?["):
            return param.name
    return None


def pattern_pieces(scope: Scope, word: Word) -> list[Piece]:
    return scope.pieces(word)


def _one_text(scope: Scope, pieces: list[Piece]) -> bool:
    return len(pieces) == 1 and scope.is_text(pieces[0][1])


def _lowered(scope: Scope, text: str) -> str:
    return f"{text}.lower()" if scope.is_text(text) else f"str({text}).lower()"


def _stripped(pieces: list[Piece]) -> list[Piece]:
    out = list(pieces)
    if out and out[0][0]:
        out[0] = (True, out[0][1].lstrip("*"))
    if out and out[-1][0]:
        out[-1] = (True, out[-1][1].rstrip("*"))
    return [p for p in out if p != (True, "")]


def match(scope: Scope, subject: str, word: Word, fold: bool = False) -> str:
    """As ``name_test``, but a parameter that is a whole pattern is used as one."""
    param = whole_pattern(scope, word)
    if param is None:
        return name_test(scope, subject, word, fold)
    scope.code.need("fnmatch")
    tail = ".lower()" if fold else ""
    return f"fnmatch.fnmatchcase({subject}{tail}, {param}{tail})"


def glob_items(scope: Scope, word: Word) -> Items:
    """The paths that a shell pattern names, as bash would list them; none where nothing matches.

    Raises:
        ShellError: a pattern in a directory part.
    """
    folder, name = split_path(word)
    if folder is not None and folder.has_glob:
        raise ShellError("a pattern in the middle of a path is not understood")
    if name.parts and isinstance(name.parts[0], Glob) and name.parts[0].text == "*" and len(name.parts) == 1:
        condition = ""
    else:
        condition = name_test(scope, "p.name", name)
    here = scope.path_in_root(scope.cwd) if scope.cwd is not None else "Path()"
    where = scope.path(folder) if folder is not None else here
    where = f"({where})" if " / " in where else where
    scope.code.need("Path")
    first = name.parts[0] if name.parts else None
    hidden = isinstance(first, Lit) and first.text.startswith(".")
    tests = ([condition] if condition else []) + ([] if hidden else ['not p.name.startswith(".")'])
    for written in scope.writing:
        if split_path(written)[0] == folder and not written.has_glob:
            tests.append(f"p.name != {scope.text(split_path(written)[1])}")
    code = f"sorted(p for p in {where}.iterdir() if {' and '.join(tests)})" if tests else f"sorted({where}.iterdir())"
    return Items(code, "{p}.name" if folder is None and scope.cwd is not None else "str({p})")


def split_path(word: Word) -> tuple[Word | None, Word]:
    """A word's folder part (None where it has none) and its name part."""
    for k in range(len(word.parts) - 1, -1, -1):
        part = word.parts[k]
        if isinstance(part, Lit) and "/" in part.text:
            head, _, tail = part.text.rpartition("/")
            folder = Word((*word.parts[:k], *((Lit(head),) if head else ())))
            return folder, Word((*((Lit(tail),) if tail else ()), *word.parts[k + 1 :]))
    return None, word

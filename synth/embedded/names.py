"""Names against shell patterns, and lists of paths from globs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from synth.embedded.code import Piece, joined
from synth.embedded.scope import Items, Scope
from verifiers.shell.tree import Glob, Hole, Lit, ShellError, Word

Way = Literal["equals", "begins", "ends", "holds", "fits"]


@dataclass(frozen=True, slots=True)
class Match:
    """A test of a name or path: how it compares with a text (a str expression), or that it fits a pattern."""

    way: Way
    code: str
    fold: bool = False
    """Whatever its case."""

    def of(self, subject: str, negated: bool = False) -> str:
        """The condition on a str expression."""
        text = f"{subject}.lower()" if self.fold else subject
        if self.way == "equals":
            return f"{text} {'!=' if negated else '=='} {self.code}"
        calls = {"begins": f"{text}.startswith({self.code})", "ends": f"{text}.endswith({self.code})"}
        calls |= {"holds": f"{self.code} in {text}", "fits": f"fnmatch.fnmatchcase({text}, {self.code})"}
        return f"not {calls[self.way]}" if negated else calls[self.way]


def name_match(scope: Scope, word: Word, fold: bool = False) -> Match | None:
    """What a glob says of a name; None where all names fit."""
    pieces = scope.pieces(word)
    if fold:
        pieces = [(const, text.lower() if const else _lowered(scope, text)) for const, text in pieces]
    shape = "".join(text if const else "x" for const, text in pieces)
    inner = shape.strip("*")
    if not inner:
        return None
    if any(c in inner for c in "*?[\\"):
        scope.code.need("fnmatch")
        escaped = [(const, text if const else f"glob.escape({text})") for const, text in pieces]
        if any(not const for const, _ in pieces):
            scope.code.need("glob")
        return Match("fits", joined(escaped, True), fold)
    plain = joined(_stripped(pieces), _one_text(scope, _stripped(pieces)))
    ways: dict[tuple[bool, bool], Way] = {(True, True): "holds", (True, False): "ends", (False, True): "begins"}
    return Match(ways.get((shape.startswith("*"), shape.endswith("*")), "equals"), plain, fold)


def whole_pattern(scope: Scope, word: Word) -> str | None:
    """The parameter's name where the word is one parameter that holds a pattern itself."""
    if len(word.parts) == 1 and isinstance(part := word.parts[0], Hole):
        param = scope.params[part.index]
        if any(c in str(v) for v in param.values for c in "*?["):
            return param.name
    return None


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


def match(scope: Scope, word: Word, fold: bool = False) -> Match | None:
    """As ``name_match``, but a parameter that is a whole pattern is used as one."""
    param = whole_pattern(scope, word)
    if param is None:
        return name_match(scope, word, fold)
    scope.code.need("fnmatch")
    return Match("fits", f"{param}.lower()" if fold else param, fold)


def glob_items(scope: Scope, word: Word) -> Items:
    """The paths that a shell pattern names, as bash would list them; none where nothing matches.

    Raises:
        ShellError: a pattern in a directory part.
    """
    folder, name = split_path(word)
    if folder is not None and folder.has_glob:
        raise ShellError("a pattern in the middle of a path is not understood")
    named = None if name.parts == (Glob("*"),) else name_match(scope, name)
    here = scope.path_in_root(scope.cwd) if scope.cwd is not None else "Path()"
    where = scope.path(folder) if folder is not None else here
    where = f"({where})" if " / " in where else where
    scope.code.need("Path")
    first = name.parts[0] if name.parts else None
    hidden = isinstance(first, Lit) and first.text.startswith(".")
    tests = ([named.of("p.name")] if named else []) + ([] if hidden else ['not p.name.startswith(".")'])
    for written in scope.writing:
        if split_path(written)[0] == folder and not written.has_glob:
            tests.append(f"p.name != {scope.text(split_path(written)[1])}")
    code = f"sorted(p for p in {where}.iterdir() if {' and '.join(tests)})" if tests else f"sorted({where}.iterdir())"
    return Items(code, "name" if folder is None and scope.cwd is not None else "path", steps=1)


def split_path(word: Word) -> tuple[Word | None, Word]:
    """A word's folder part (None where it has none) and its name part."""
    for k in range(len(word.parts) - 1, -1, -1):
        part = word.parts[k]
        if isinstance(part, Lit) and "/" in part.text:
            head, _, tail = part.text.rpartition("/")
            folder = Word((*word.parts[:k], *((Lit(head),) if head else ())))
            return folder, Word((*((Lit(tail),) if tail else ()), *word.parts[k + 1 :]))
    return None, word

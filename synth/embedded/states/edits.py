"""Edits: the statements of an edit program, each of which can be run on the texts of an env and written as Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from synth.embedded.code import Code, quote
from synth.embedded.states import texts
from synth.embedded.states.patterns import Pattern, raw
from synth.embedded.states.values import Env, Expr

Files = dict[str, str]


class Edit(Protocol):
    """One statement."""

    @property
    def cost(self) -> int:
        """Its description length, about."""
        ...

    def reads(self, code: Code) -> list[str]:
        """Python expressions for the lists of paths that the skill has to read for it."""
        ...

    def apply(self, env: Env, files: Files) -> None:
        """Edits the files of an example.

        Raises:
            ValueError: there is nothing that it could be applied to.
        """
        ...

    def emit(self, code: Code) -> None: ...


@dataclass(frozen=True, slots=True)
class Where:
    """A file, or all files of a folder that are of one kind."""

    path: str
    many: bool = False
    """``path`` is a pattern."""
    made: Expr | None = None
    """The path of a file that the skill makes, in place of ``path``."""

    @property
    def files(self) -> str:
        """The variable that holds the files."""
        return "files" if self.made is None else "made"

    def names(self, files: Files, env: Env) -> list[str]:
        if self.made is not None:
            return [self.made.at(env, 0, None)]
        return texts._names(files, self.path) if self.many else [self.path]

    def code(self, code: Code) -> str:
        if self.made is not None:
            return "[path]"
        return f"{code.helper('_names')}(files, {raw(self.path)})" if self.many else f"[{quote(self.path)}]"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Every match of a pattern becomes a text."""

    where: Where
    pattern: Pattern
    new: Expr
    done: Pattern | None
    """What says that it is done, where the pattern does not match what it makes."""
    first: bool = False
    """Only the first match of each file."""
    listed: str = ""
    """The parameter with a value for each place, where there is one."""
    keyed: bool = False
    """The pattern has a value of the list in it: one match for each."""

    @property
    def cost(self) -> int:
        return self.pattern.cost + self.new.cost + 2 * self.where.many + 3 * self.first + 3 * bool(self.listed)

    def reads(self, code: Code) -> list[str]:
        return [listed(code, self.where.path)] if self.where.many else [f"[{quote(self.where.path)}]"]

    def apply(self, env: Env, files: Files) -> None:
        names = self.where.names(files, env)
        if not self.where.many and names[0] not in files:
            raise ValueError(f"{names[0]} does not exist")
        if self.keyed:
            for k in range(len(env[self.listed])):
                self._rewrite(env, k, files, names)
        elif self.listed:
            new = self.new
            texts._rewrite_each(files, names, self.pattern.at(env, 0), lambda m, k: new.at(env, k, m), len(env[self.listed]))
        else:
            self._rewrite(env, 0, files, names)

    def _rewrite(self, env: Env, k: int, files: Files, names: Sequence[str]) -> None:
        pattern = self.pattern.at(env, k)
        if self.done is None:
            texts._rewrite(files, list(names), pattern, lambda m: self.new.at(env, k, m))
        else:
            texts._rewrite_once(files, list(names), pattern, lambda m: self.new.at(env, k, m), self.done.at(env, k))

    def emit(self, code: Code) -> None:
        names = self.where.code(code)
        if self.listed and not self.keyed:
            call = f"lambda m, k: {self.new.code}"
            amount = f"len({self.listed})"
            code.line(f"{code.helper('_rewrite_each')}({self.where.files}, {names}, {self.pattern.code}, {call}, {amount})")
            return
        new = f"{code.helper('_always')}({self.new.code})" if self.keyed else f"lambda m: {self.new.code}"
        given = [self.where.files, names, self.pattern.code, new]
        if self.done is None:
            line = f"{code.helper('_rewrite')}({', '.join(given)})"
        else:
            line = f"{code.helper('_rewrite_once')}({', '.join([*given, self.done.code])})"
        if self.keyed:
            with code.block(f"for k in range(len({self.listed})):"):
                code.line(line)
        else:
            code.line(line)


@dataclass(frozen=True, slots=True)
class Insert:
    """A block behind the first match of a pattern."""

    path: str
    anchor: Pattern
    block: Expr

    @property
    def cost(self) -> int:
        return self.anchor.cost + self.block.cost + 3

    def reads(self, code: Code) -> list[str]:
        return [f"[{quote(self.path)}]"]

    def apply(self, env: Env, files: Files) -> None:
        if self.path not in files:
            raise ValueError(f"{self.path} does not exist")
        texts._insert(files, self.path, self.anchor.at(env, 0), self.block.at(env, 0, None))

    def emit(self, code: Code) -> None:
        code.line(f"{code.helper('_insert')}(files, {quote(self.path)}, {self.anchor.code}, {self.block.code})")


@dataclass(frozen=True, slots=True)
class InsertSorted:
    """A line where it sorts among lines like it."""

    path: str
    pattern: Pattern
    line: Expr
    key: str

    @property
    def cost(self) -> int:
        return self.pattern.cost + self.line.cost + 4

    def reads(self, code: Code) -> list[str]:
        return [f"[{quote(self.path)}]"]

    def apply(self, env: Env, files: Files) -> None:
        if self.path not in files:
            raise ValueError(f"{self.path} does not exist")
        line = self.line.at(env, 0, None)
        texts._insert_sorted(files, self.path, self.pattern.at(env, 0), line, KEYS[self.key])

    def emit(self, code: Code) -> None:
        code.line(
            f"{code.helper('_insert_sorted')}(files, {quote(self.path)}, {self.pattern.code}, {self.line.code}, {self.key})"
        )


KEYS: Mapping[str, Callable[[str], str]] = {"str": str, "str.lower": str.lower}
"""What lines may be sorted by."""


@dataclass(frozen=True, slots=True)
class Create:
    """A new file with a text."""

    path: Expr
    text: Expr

    @property
    def cost(self) -> int:
        # What a template says itself has to be described; what a sibling says has not.
        return self.path.cost + self.text.cost + 4 + len(self.text.code) // 8

    def reads(self, code: Code) -> list[str]:
        return [f"{code.helper('_there')}({self.path.code})"]

    def apply(self, env: Env, files: Files) -> None:
        texts._create(files, self.path.at(env, 0, None), self.text.at(env, 0, None))

    def emit(self, code: Code) -> None:
        code.line(f"{code.helper('_create')}(files, {self.path.code}, {self.text.code})")


@dataclass(frozen=True, slots=True)
class CopySibling:
    """A new file from the newest one of its kind before it, with the name in it replaced."""

    path: Expr
    """Of the new file: constants around the value."""
    siblings: str
    """A pattern for the paths of its kind; its group is the value."""
    value: Expr
    changes: tuple[Rewrite, ...] = ()
    """To the copied text."""

    @property
    def cost(self) -> int:
        return self.path.cost + self.value.cost + 8 + sum(c.cost for c in self.changes)

    def reads(self, code: Code) -> list[str]:
        return [listed(code, self.siblings), f"{code.helper('_there')}({self.path.code})"]

    def apply(self, env: Env, files: Files) -> None:
        value, path = self.value.at(env, 0, None), self.path.at(env, 0, None)
        old = texts._sibling(files, self.siblings, value)
        made = {path: texts._renamed(files[texts._named(files, self.siblings, old)], old, value)}
        for change in self.changes:
            change.apply(env, made)
        texts._create(files, path, made[path])

    def emit(self, code: Code) -> None:
        sibling, named, renamed, create = map(code.helper, ("_sibling", "_named", "_renamed", "_create"))
        kind, value = raw(self.siblings), self.value.code
        code.line(f"path = {self.path.code}")
        code.line(f"old = {sibling}(files, {kind}, {value})")
        code.line(f"made = {{path: {renamed}(files[{named}(files, {kind}, old)], old, {value})}}")
        for change in self.changes:
            change.emit(code)
        code.line(f"{create}(files, path, made[path])")


def listed(code: Code, pattern: str) -> str:
    """The files of one folder that a pattern of paths takes."""
    folder = re.sub(r"\\(.)", r"\1", pattern.rpartition("/")[0])
    return f"{code.helper('_listed')}({quote(folder or '.')}, {raw(pattern)})"

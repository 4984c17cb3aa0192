"""Python programs inside shell text (``python3 -c``, here-documents): constants that differ between traces become arguments.

The program itself stays constant, so a value is never read as code.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from typing import Any

from verifiers.shell.tree import Simple, literal_word
from verifiers.source.parsing import expression, parsed

NAMES = frozenset({"python", "python3"})


def with_arguments(xs: Sequence[Simple]) -> list[Simple]:
    """The commands with one program, each with its own constants as arguments; as they are where that cannot be done."""
    found = [_program(x) for x in xs]
    codes = [f[0] for f in found if f is not None]
    if len(codes) != len(xs) or len(set(codes)) == 1:
        return list(xs)
    lifted = lift(codes)
    if lifted is None:
        return list(xs)
    source, rows = lifted
    out = []
    for x, f, row in zip(xs, found, rows, strict=True):
        assert f is not None
        words = (x.words[0], literal_word("-c"), literal_word(source), *(literal_word(value) for value in row))
        out.append(dataclasses.replace(x, words=words, redirects=tuple(r for r in x.redirects if r.op != "<<")))
    return out


def _program(node: Simple) -> tuple[str] | None:
    """The constant program of a command that has no arguments of its own."""
    texts = [w.literal for w in node.words[1:]]
    if len(texts) == 2 and texts[0] == "-c" and texts[1] is not None:
        return (texts[1],)
    documents = [r.target.literal for r in node.redirects if r.op == "<<"]
    if texts in ([], ["-"]) and len(documents) == 1 and documents[0] is not None:
        return (documents[0],)
    return None


def lift(codes: Sequence[str]) -> tuple[str, list[tuple[str, ...]]] | None:
    """One program for several, and each one's values; None where they differ in more than constants."""
    try:
        trees = [parsed(code) for code in codes]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if any("argv" in code for code in codes):
        return None
    lifter = _Lifter()
    try:
        tree = lifter.node(list(trees))
        source = ast.unparse(ast.fix_missing_locations(tree))
    except (_Different, RecursionError):
        return None
    return f"import sys\n{source}", [tuple(column[k] for column in lifter.columns) for k in range(len(codes))]


class _Different(Exception):
    """The programs differ in more than constants."""


class _Lifter:
    def __init__(self) -> None:
        self.columns: list[tuple[str, ...]] = []

    def argument(self, values: tuple[str, ...]) -> ast.expr:
        if values not in self.columns:
            self.columns.append(values)
        return expression(f"sys.argv[{self.columns.index(values) + 1}]")

    def node(self, xs: Sequence[ast.AST]) -> Any:
        first = xs[0]
        if all(ast.dump(x) == ast.dump(first) for x in xs[1:]):
            return first
        if any(type(x) is not type(first) for x in xs):
            raise _Different
        if isinstance(first, ast.Constant):
            return self.constant([x.value for x in xs if isinstance(x, ast.Constant)])
        if isinstance(first, ast.JoinedStr):
            return self.joined([x.values for x in xs if isinstance(x, ast.JoinedStr)])
        changes = {name: self.field([getattr(x, name, None) for x in xs]) for name in first._fields}
        return type(first)(**changes)

    def constant(self, values: Sequence[object]) -> ast.expr:
        texts = tuple(str(v) for v in values)
        if all(isinstance(v, str) for v in values):
            return self.argument(texts)
        if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            return ast.Call(ast.Name("int"), [self.argument(texts)], [])
        raise _Different

    def joined(self, rows: Sequence[Sequence[ast.expr]]) -> ast.JoinedStr:
        if len({len(row) for row in rows}) != 1:
            raise _Different
        parts: list[ast.expr] = []
        for column in zip(*rows, strict=True):
            part = self.node(column)
            parts.append(part if isinstance(part, ast.Constant | ast.FormattedValue) else ast.FormattedValue(part, -1))
        return ast.JoinedStr(parts)

    def field(self, values: Sequence[object]) -> Any:
        first = values[0]
        if isinstance(first, ast.AST):
            if not all(isinstance(v, ast.AST) for v in values):
                raise _Different
            return self.node([v for v in values if isinstance(v, ast.AST)])
        if isinstance(first, list):
            rows = [v for v in values if isinstance(v, list)]
            if len(rows) != len(values) or len({len(row) for row in rows}) != 1:
                raise _Different
            return [self.field(column) for column in zip(*rows, strict=True)]
        if any(v != first for v in values):
            raise _Different
        return first

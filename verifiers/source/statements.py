"""The executable statements of a skill, for the question whether every one of them ran (check ``exercised``).

Lines are those that ``sys.settrace`` reports. Two statements on one line cannot be told apart by line events, and a
branch hidden that way is just what the question is about: ``spread`` gives a copy with one statement a line.
"""

from __future__ import annotations

import ast
import dis
from dataclasses import dataclass, replace
from types import CodeType

from verifiers.source.kinds import Kind, kinds
from verifiers.source.places import Condition, extent, placed
from verifiers.subject import ParseProblem, parse_module, quiet, source_lines


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement inside a function. It ran if any line from ``first_line`` to ``last_line`` was reported."""

    first_line: int
    last_line: int
    """Of a compound statement: the end of its header."""
    text: str
    """Its first line, stripped."""
    kind: Kind = "acts"
    line: int = 0
    """Where it stands in the file as written (differs from ``first_line`` in a spread copy)."""
    conditions: tuple[Condition, ...] = ()
    """What has to hold for it to run, from the outside in."""
    gives_nothing: bool = False
    """Whether it returns a value that stands for none, or is an expression's branch of such a value."""

    def ran(self, lines: frozenset[int]) -> bool:
        """Whether any of its lines is among those that ran."""
        return any(n in lines for n in range(self.first_line, self.last_line + 1))


@dataclass(frozen=True, slots=True)
class Spread:
    """A copy of a skill that behaves the same and has one statement a line."""

    source: str
    statements: tuple[Statement, ...]


def statements(source: str) -> tuple[Statement, ...]:
    """Every statement inside the functions of ``source``, in order; none for a text that does not parse.

    Left out: what never gives a line event (``pass``, docstrings, ``global``, bare annotations, code the compiler
    drops) and headers that run exactly when their body does (``try``, ``while True``).
    """
    tree = parse_module(source)
    if isinstance(tree, ParseProblem):
        return ()
    lines = source_lines(source)
    live = _live_lines(source)
    found = []
    judge = kinds(tree)
    for place in placed(tree):
        first, last = extent(place.node)
        if _counts(place.node) and any(n in live for n in range(first, last + 1)):
            text = lines[first - 1].strip() if first <= len(lines) else ""
            kind = judge.of(place.node, place.function, place.suite)
            nothing = isinstance(place.node, ast.Return) and stands_for_none(place.node.value)
            found.append(Statement(first, last, text, kind, first, place.conditions, nothing))
    return tuple(sorted(found, key=lambda s: (s.first_line, s.last_line)))


def spread(source: str) -> Spread:
    """The copy to run when statements are to be told apart. A text that does not parse comes back as it is."""
    tree = parse_module(source)
    if isinstance(tree, ParseProblem):
        return Spread(source, ())
    try:
        copy = ast.unparse(tree) + "\n"
    except (RecursionError, ValueError):  # ValueError: f-strings that this Python's grammar has no spelling for
        copy = ""
    again = parse_module(copy)
    if isinstance(again, ParseProblem) or not copy or ast.dump(again) != ast.dump(tree):  # unparsing did not keep it
        return Spread(source, statements(source))
    # Unparsing keeps the order of the statements, so both trees are walked side by side.
    origin = {extent(new)[0]: extent(old)[0] for new, old in zip(_all_statements(again), _all_statements(tree), strict=True)}
    return Spread(copy, tuple(replace(s, line=origin.get(s.first_line, s.first_line)) for s in statements(copy)))


def stands_for_none(value: ast.expr | None) -> bool:
    """Whether a value stands for none: a constant that is false, -1, the length of something, what holds nothing."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "len" and isinstance(value.args[0], ast.Name)
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return not value.elts
    minus = isinstance(value, ast.UnaryOp) and ast.unparse(value) == "-1"
    empty = isinstance(value, ast.Dict) and not value.keys
    return value is None or minus or empty or (isinstance(value, ast.Constant) and not value.value)


def _all_statements(tree: ast.AST) -> list[ast.stmt]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def _live_lines(source: str) -> set[int]:
    """Lines that some instruction of the compiled file carries."""
    with quiet():
        todo = [compile(source, "<skill>", "exec", dont_inherit=True)]
    live: set[int] = set()
    while todo:
        code = todo.pop()
        live.update(line for _, line in dis.findlinestarts(code) if line)
        todo.extend(c for c in code.co_consts if isinstance(c, CodeType))
    return live


def _counts(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass | ast.Global | ast.Nonlocal | ast.Try | ast.TryStar):
        return False
    if isinstance(node, ast.While):
        return not isinstance(node.test, ast.Constant)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return not (isinstance(node, ast.AnnAssign) and node.value is None)


def code_lines(source: str) -> frozenset[int]:
    """The lines of a file that can run."""
    found: set[int] = set()
    todo = [compile(source, "skill.py", "exec", dont_inherit=True)]
    while todo:
        code = todo.pop()
        found.update(line for _, _, line in code.co_lines() if line is not None)
        found.add(code.co_firstlineno)
        todo += [c for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(found)

"""Where each statement of a skill's functions stands: its function, its suite, and what has to hold for it to run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from verifiers.subject import FunctionNode

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Condition:
    """One test on the way to a statement."""

    text: str
    first_line: int
    """Of the suite's first statement: the condition held in a run that reached it."""
    last_line: int


@dataclass(frozen=True, slots=True)
class Place:
    node: ast.stmt
    function: FunctionNode
    suite: list[ast.stmt]
    conditions: tuple[Condition, ...]


def placed(tree: ast.Module) -> Iterator[Place]:
    """Every statement of every function, nested ones too."""
    for node in _outer_functions(tree):
        yield from _of_suite(node.body, node, ())


def _outer_functions(node: ast.AST) -> Iterator[FunctionNode]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            yield child
        else:
            yield from _outer_functions(child)


def _of_suite(suite: list[ast.stmt], function: FunctionNode, conditions: tuple[Condition, ...]) -> Iterator[Place]:
    for node in suite:
        yield Place(node, function, suite, conditions)
        inside = node if isinstance(node, _FUNCTIONS) else function
        for inner, text in suites(node):
            more = (Condition(text, *extent(inner[0])),) if text and inner else ()
            yield from _of_suite(inner, inside, (*conditions, *more))


def suites(node: ast.stmt) -> Iterator[tuple[list[ast.stmt], str]]:
    """The suites of a statement, each with what has to hold for it to run; "" where it runs with the statement."""
    body: list[ast.stmt] | None = getattr(node, "body", None)
    if body is not None:
        yield body, _body(node)
    for handler in getattr(node, "handlers", ()):
        yield handler.body, f"except {ast.unparse(handler.type)}" if handler.type else "except"
    for name in ("orelse", "finalbody"):
        inner: list[ast.stmt] | None = getattr(node, name, None)
        if inner:
            yield inner, _otherwise(node) if name == "orelse" else ""
    for case in getattr(node, "cases", ()):
        guard = f" if {ast.unparse(case.guard)}" if case.guard else ""
        yield case.body, f"case {ast.unparse(case.pattern)}{guard}"


def _body(node: ast.stmt) -> str:
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    if isinstance(node, ast.While):
        return f"while {ast.unparse(node.test)}"
    if isinstance(node, ast.For | ast.AsyncFor):
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
    return f"{node.name} is called" if isinstance(node, _FUNCTIONS) else ""


def _otherwise(node: ast.stmt) -> str:
    if isinstance(node, ast.If):
        return f"if not ({ast.unparse(node.test)})"
    return "nothing is raised" if isinstance(node, ast.Try | ast.TryStar) else "the loop ends without break"


def extent(node: ast.stmt) -> tuple[int, int]:
    """First and last line of the statement itself, without its suites."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    if not any(True for _ in suites(node)):
        return first, node.end_lineno or node.lineno
    inner = {id(s) for suite, _ in suites(node) for s in suite}
    skip = (ast.stmt, ast.excepthandler, ast.match_case)
    heads = [c for c in ast.iter_child_nodes(node) if id(c) not in inner and not isinstance(c, skip)]
    ends = [n.end_lineno or 0 for head in heads for n in ast.walk(head) if isinstance(n, ast.expr | ast.arg)]
    return first, max([node.lineno, *ends])

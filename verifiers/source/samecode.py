"""Whether two texts of a skill do the same, as far as their functions' code says it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verifiers.subject import ParseProblem, parse_module


def same_code(before: str, after: str) -> bool:
    """Whether every function of both texts has the same body, docstrings and layout apart."""
    old, new = parse_module(before), parse_module(after)
    if isinstance(old, ParseProblem) or isinstance(new, ParseProblem):
        return False
    return list(_bodies(old)) == list(_bodies(new))


def _bodies(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            yield node.name + "".join(ast.dump(statement) for statement in body)

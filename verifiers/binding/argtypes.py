"""Does a JSON value fit a parameter's annotation?"""

from __future__ import annotations

import ast

from sandbox.interface import JsonValue
from verifiers.source.parsing import expression

_SEQUENCES = frozenset({"list", "List", "Sequence", "tuple", "Tuple", "set", "frozenset", "Iterable"})


def fits(annotation: str, value: JsonValue) -> bool:
    """Whether a JSON value is of a parameter's type (a boolean is not a number). Unknown annotations accept anything."""
    try:
        node = expression(annotation or "object")
    except SyntaxError:
        return True
    return _fits(node, value)


def _fits(node: ast.expr, value: JsonValue) -> bool:
    match node:
        case ast.Constant(value=None):
            return value is None
        case ast.Constant(value=str() as quoted):
            return fits(quoted, value)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _fits(left, value) or _fits(right, value)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _fits_name(name, value)
        case ast.Subscript(value=base, slice=index):
            return _fits_generic(_last_name(base), index, value)
    return True


def _fits_name(name: str, value: JsonValue) -> bool:
    if name in _SEQUENCES:
        return isinstance(value, list)
    match name:
        case "str" | "Path" | "PurePath" | "PurePosixPath":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "dict" | "Dict" | "Mapping":
            return isinstance(value, dict)
    return True


def _fits_generic(name: str, index: ast.expr, value: JsonValue) -> bool:
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    match name:
        case "Optional":
            return value is None or _fits(index, value)
        case "Union":
            return any(_fits(i, value) for i in items)
        case "Annotated":
            return _fits(items[0], value)
        case "Literal":
            return any(isinstance(i, ast.Constant) and i.value == value and type(i.value) is type(value) for i in items)
        case "dict" | "Dict" | "Mapping":
            return isinstance(value, dict) and all(_fits(items[-1], v) for v in value.values())
    if name in _SEQUENCES:
        return isinstance(value, list) and all(_fits(items[0], v) for v in value)
    return True


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""

"""Whether an expression is made of constants of the program alone, and what it is made of otherwise."""

from __future__ import annotations

import libcst as cst

from verifiers.conventions.model import SkillModule, literal_text

_TEXT_METHODS = frozenset(
    {"strip", "lstrip", "rstrip", "lower", "upper", "dedent", "join", "format", "replace", "removeprefix", "removesuffix"}
)


def is_constant(module: SkillModule, node: cst.BaseExpression, depth: int = 0) -> bool:
    """Whether no value of a parameter, a file or a call can be part of it. Says no when in doubt."""
    if depth > 20:
        return False

    def same(inner: cst.BaseExpression) -> bool:
        return is_constant(module, inner, depth + 1)

    if isinstance(node, cst.SimpleString | cst.Integer | cst.Float):
        return True
    if isinstance(node, cst.ConcatenatedString):
        return same(node.left) and same(node.right)
    if isinstance(node, cst.FormattedString):
        return all(same(p.expression) for p in node.parts if isinstance(p, cst.FormattedStringExpression))
    if isinstance(node, cst.BinaryOperation):
        return same(node.left) and same(node.right)
    if isinstance(node, cst.IfExp):
        return same(node.body) and same(node.orelse)
    if isinstance(node, cst.Name):
        values = module.bindings.get(node.value, [])
        return bool(values) and all(v is not None and same(v) for v in values)
    if isinstance(node, cst.List | cst.Tuple):
        return all(same(e.value) for e in node.elements)
    if isinstance(node, cst.Dict):
        return all(isinstance(e, cst.DictElement) and same(e.value) for e in node.elements)
    if isinstance(node, cst.Subscript):
        return isinstance(node.value, cst.Name) and same(node.value)
    if isinstance(node, cst.Call):
        return _constant_call(module, node, depth)
    return False


def _constant_call(module: SkillModule, node: cst.Call, depth: int) -> bool:
    if module.dotted(node.func) == "textwrap.dedent":
        return all(is_constant(module, a.value, depth + 1) for a in node.args)
    if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in _TEXT_METHODS:
        return False
    parts = [node.func.value, *(a.value for a in node.args)]
    return all(is_constant(module, p, depth + 1) for p in parts)


def how_built(module: SkillModule, node: cst.BaseExpression, depth: int = 0) -> str:
    """In words, how values get into the text."""
    if isinstance(node, cst.FormattedString):
        return "an f-string"
    if isinstance(node, cst.ConcatenatedString):
        return "an f-string"
    if isinstance(node, cst.BinaryOperation):
        return "%" if isinstance(node.operator, cst.Modulo) else "+"
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _TEXT_METHODS:
        return f".{node.func.attr.value}()"
    if isinstance(node, cst.Name) and depth < 5:
        values = [v for v in module.bindings.get(node.value, []) if v is not None and not is_constant(module, v)]
        return how_built(module, values[0], depth + 1) if values else "a value"
    return "a value"


def resolve(module: SkillModule, node: cst.BaseExpression, depth: int = 0) -> cst.BaseExpression:
    """The expression behind a name that is assigned exactly once; the node itself otherwise."""
    if isinstance(node, cst.Name) and depth < 5:
        values = module.bindings.get(node.value, [])
        if len(values) == 1 and values[0] is not None:
            return resolve(module, values[0], depth + 1)
    return node


def constant_text(module: SkillModule, node: cst.BaseExpression) -> str | None:
    """The string that a literal, or a name for one, spells out."""
    return literal_text(resolve(module, node))

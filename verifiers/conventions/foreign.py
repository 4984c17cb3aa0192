"""What comes from outside in a host's skills: its own packages, the project's, others'. Its runtime knows them, nobody here."""

from __future__ import annotations

import sys

import libcst as cst

from verifiers.conventions.model import SkillModule


def foreign(module: SkillModule, node: cst.CSTNode, depth: int = 0) -> bool:
    """Whether a name, or what a chain of attributes and calls begins with, comes from outside the standard library.

    In the seed profile nothing does: there what is not known is not allowed either.
    """
    if module.profile != "omni" or depth > 8:
        return False
    root = node
    while isinstance(root, cst.Attribute | cst.Call | cst.Subscript):
        root = root.func if isinstance(root, cst.Call) else root.value
    if not isinstance(root, cst.Name):
        return False
    origin = module.imports.get(root.value)
    if origin is not None:
        return origin.startswith(".") or origin.partition(".")[0] not in sys.stdlib_module_names
    made = _made(module, root)
    return bool(made) and all(isinstance(value, cst.Call) and foreign(module, value.func, depth + 1) for value in made)


def _made(module: SkillModule, name: cst.Name) -> list[cst.BaseExpression | None]:
    """What gives a name its values: the assignments of its own function, else those of the file."""
    inside = module.function_of(name)
    found = [
        node.value
        for node in (module.nodes if inside is not None else ())
        if isinstance(node, cst.Assign | cst.AnnAssign | cst.NamedExpr) and module.function_of(node) is inside
        and any(isinstance(t, cst.Name) and t.value == name.value for t in _targets(node))
    ]  # fmt: skip
    return found or list(module.bindings.get(name.value, []))


def _targets(node: cst.Assign | cst.AnnAssign | cst.NamedExpr) -> list[cst.BaseExpression]:
    return [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]

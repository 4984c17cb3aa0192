"""Parameters and return value have types, and they are types that JSON has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.flow import always_leaves
from verifiers.conventions.model import SkillModule, literal, parameters
from verifiers.conventions.rule import Rule, Violation, skill
from verifiers.interface import Profile

JSON_NAMES = frozenset({"str", "int", "float", "bool", "None", "object", "Any", "JsonValue"})
JSON_GENERIC = frozenset({
    "list", "dict", "tuple", "List", "Dict", "Tuple", "Optional", "Union", "Sequence", "Mapping", "Annotated", "Iterable",
    "Collection",
})  # fmt: skip
_BODY = 'Path(file).touch()\nreturn {"ok": True, "changed": 1}'
_FILE = 'file: str = Query(..., description="Path of the file")'
_NOTES = "file: Path of the file.\n        depth: How deep."


class Typed(Rule):
    id = "conventions-typed"
    title = "Does every parameter have a type that JSON has?"
    why = (
        "Arguments arrive as JSON; a parameter without a type is dropped from the index's schema, and one of type `Path` would "
        "be promised something that never arrives. Text, numbers, booleans, lists, objects, literals and unions of these are "
        "what can be sent. The type of a parameter with a literal default is filled in by the fix."
    )
    fix_title = "annotate parameters with the type of their literal default"
    good = (
        skill("typed", _BODY, params=f'{_FILE},\n    depth: int = Query(3, description="How deep")', notes=_NOTES),
        skill(
            "unions and literals",
            _BODY,
            params=f'{_FILE},\n    depth: Literal["a", "b"] | None = Query(None, description="How deep")',
            imports="from pathlib import Path\nfrom typing import Literal\n\n",
            notes=_NOTES,
        ),
    )
    bad = (
        skill("no type", _BODY, params=f'{_FILE},\n    depth=Query(3, description="How deep")', notes=_NOTES),
        skill("no type, no default", _BODY, params='file=Query(..., description="Path of the file")'),
        skill("a type that JSON lacks", _BODY, params='file: Path = Query(..., description="Path of the file")'),
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for param in parameters(module.function) if module.function is not None else ():
            name = param.name.value
            if param.annotation is None:
                yield Violation(param, f"parameter {name} has no type", fixable=_default_type(param) != "")
            elif module.profile == "seed" and (odd := not_json(module, param.annotation.annotation)):
                yield Violation(param, f"parameter {name}: {odd} is not a type that JSON has")

    def fix(self, module: SkillModule) -> cst.Module | None:
        tree = module.tree
        for param in parameters(module.function) if module.function is not None else ():
            kind = _default_type(param)
            if param.annotation is None and kind:
                annotation = cst.Annotation(cst.Name(kind))
                equal = cst.AssignEqual()
                new = param.with_changes(annotation=annotation, equal=equal)
                tree = cst.ensure_type(tree.deep_replace(param, new), cst.Module)
        return None if tree is module.tree else tree


class ReturnType(Rule):
    id = "conventions-return-type"
    title = "Is the return type annotated, with a type that JSON has?"
    why = (
        "The returned value leaves the process as JSON: `Path`, `set`, `bytes` and dates raise there, after the work was done. "
        "`dict[str, object]` is the usual annotation; the fix adds it where every return is a dict with text keys."
    )
    fix_title = "annotate the return type as dict[str, object]"
    good = (skill("a dict", _BODY),)
    bad = tuple(
        type(e)(title, e.source.replace(" -> dict[str, object]:", text))
        for e in good
        for title, text in [("no return type", ":"), ("a set", " -> set[str]:"), ("paths", " -> dict[str, Path]:")]
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        function = module.function
        if function is None:
            return
        if function.returns is None:
            yield Violation(function, "the return type is not annotated", fixable=returns_dicts(module, function))
        elif odd := not_json(module, function.returns.annotation):
            yield Violation(function.returns, f"the return type {odd} cannot be sent as JSON")

    def fix(self, module: SkillModule) -> cst.Module | None:
        function = module.function
        if function is None or function.returns is not None or not returns_dicts(module, function):
            return None
        returns = cst.Annotation(cst.parse_expression("dict[str, object]"))
        return cst.ensure_type(module.tree.deep_replace(function, function.with_changes(returns=returns)), cst.Module)


def returns_dicts(module: SkillModule, function: cst.FunctionDef) -> bool:
    """Whether every way out of the function is a ``return`` of a dict display with text keys, or a raise."""
    returns = [n for n in module.own_nodes(function) if isinstance(n, cst.Return)]
    if not returns or any(isinstance(n, cst.Yield) for n in module.own_nodes(function)):
        return False
    return always_leaves(function.body) and all(_is_text_dict(n.value) for n in returns)


def _is_text_dict(node: cst.CSTNode | None) -> bool:
    if not isinstance(node, cst.Dict):
        return False
    texts = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
    return all(isinstance(e, cst.DictElement) and isinstance(e.key, texts) for e in node.elements)


def not_json(module: SkillModule, annotation: cst.BaseExpression) -> str:
    """The part of an annotation that JSON has no value for; "" where all is fine or unknown names are involved."""
    if isinstance(annotation, cst.SimpleString):
        try:
            annotation = cst.parse_expression(str(literal(annotation)))
        except (ValueError, cst.ParserSyntaxError):
            return module.code(annotation)
    if isinstance(annotation, cst.BinaryOperation):
        return not_json(module, annotation.left) or not_json(module, annotation.right)
    if isinstance(annotation, cst.Subscript):
        return _subscript(module, annotation)
    name = module.dotted(annotation).rpartition(".")[2]
    if name in JSON_NAMES or name in JSON_GENERIC or name in _local_types(module):
        return ""
    return cst.Module([]).code_for_node(annotation).strip()


def _subscript(module: SkillModule, node: cst.Subscript) -> str:
    name = module.dotted(node.value).rpartition(".")[2]
    if name == "Literal":
        return ""
    if name not in JSON_GENERIC:
        return cst.Module([]).code_for_node(node).strip()
    for i, element in enumerate(node.slice):
        if not isinstance(element.slice, cst.Index) or (name == "Annotated" and i > 0):
            continue
        inner = element.slice.value
        if not isinstance(inner, cst.Ellipsis) and (odd := not_json(module, inner)):
            return odd
    return ""


def _local_types(module: SkillModule) -> set[str]:
    """Type aliases and TypedDicts of the file itself."""
    names = {
        n.name.value
        for n in module.nodes
        if isinstance(n, cst.ClassDef) and "TypedDict" in [module.dotted(b.value).rpartition(".")[2] for b in n.bases]
    }
    return names | {
        n.target.value
        for n in module.nodes
        if isinstance(n, cst.AnnAssign)
        and isinstance(n.target, cst.Name)
        and module.dotted(n.annotation.annotation).endswith("TypeAlias")
    }


def _default_type(param: cst.Param) -> str:
    default = param.default
    if isinstance(default, cst.Call) and default.args and default.args[0].keyword is None:  # Query(3, description=…)
        default = default.args[0].value
    try:
        value = literal(default)
    except ValueError:
        return ""
    return type(value).__name__ if isinstance(value, bool | int | float | str) else ""

"""Which annotations JSON has values for."""

from __future__ import annotations

import libcst as cst

from verifiers.conventions.model import SkillModule, literal

JSON_NAMES = frozenset({"str", "int", "float", "bool", "None", "object", "Any", "JsonValue"})
JSON_GENERIC = frozenset({
    "list", "dict", "tuple", "List", "Dict", "Tuple", "Optional", "Union", "Sequence", "Mapping", "Annotated", "Iterable",
    "Collection",
})  # fmt: skip


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
    whole = module.dotted(annotation)
    name = whole.rpartition(".")[2]
    if module.of_host(whole):
        return ""  # its decorator knows how to send it
    if name in JSON_NAMES or name in JSON_GENERIC or name in _local_types(module):
        return ""
    return cst.Module([]).code_for_node(annotation).strip()


def _subscript(module: SkillModule, node: cst.Subscript) -> str:
    whole = module.dotted(node.value)
    name = whole.rpartition(".")[2]
    if name == "Literal":
        return ""
    if name not in JSON_GENERIC and not module.of_host(whole):
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

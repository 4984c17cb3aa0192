"""Operators on conditions, comparisons, constants, arithmetic and slices."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from verifiers.conventions.model import literal
from verifiers.mutation.site import Edit, Site

_COMPARE: dict[type[cst.BaseCompOp], tuple[str, ...]] = {
    cst.Equal: ("!=",), cst.NotEqual: ("==",), cst.LessThan: ("<=", ">="), cst.LessThanEqual: ("<", ">"),
    cst.GreaterThan: (">=", "<="), cst.GreaterThanEqual: (">", "<"), cst.In: ("not in",), cst.NotIn: ("in",),
    cst.Is: ("is not",), cst.IsNot: ("is",),
}  # fmt: skip
_ARITHMETIC: dict[type[cst.BaseBinaryOp], str] = {
    cst.Add: "-", cst.Subtract: "+", cst.Multiply: "//", cst.Divide: "*", cst.FloorDivide: "*", cst.Modulo: "//",
    cst.BitAnd: "|", cst.BitOr: "&", cst.LeftShift: ">>", cst.RightShift: "<<",
}  # fmt: skip


def conditions(site: Site) -> Iterator[Edit]:
    """Tests negated, forced, and thinned out."""
    for node in site.nodes:
        if isinstance(node, cst.If | cst.While | cst.IfExp | cst.CompIf):
            test, shown = node.test, site.short(node.test)
            yield site.edit("condition-negated", test, f"not ({site.text(test)})", f"`{shown}` negated")
            yield site.edit("condition-forced", test, "False", f"`{shown}` taken for False")
            if not isinstance(node, cst.While):
                yield site.edit("condition-forced", test, "True", f"`{shown}` taken for True")
        elif isinstance(node, cst.BooleanOperation):
            left, right = site.text(node.left), site.text(node.right)
            other = "or" if isinstance(node.operator, cst.And) else "and"
            yield site.edit("boolean-operator", node, f"({left}) {other} ({right})", f"`{site.short(node)}` joined by `{other}`")
            yield site.edit("operand-dropped", node, f"({left})", f"`{site.short(node.right)}` dropped from a condition")
            yield site.edit("operand-dropped", node, f"({right})", f"`{site.short(node.left)}` dropped from a condition")
        elif isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            yield site.edit("not-dropped", node, f"({site.text(node.expression)})", f"`not` dropped from `{site.short(node)}`")


def comparisons(site: Site) -> Iterator[Edit]:
    for node in site.nodes:
        if isinstance(node, cst.Comparison):
            for target in node.comparisons:
                for other in _COMPARE.get(type(target.operator), ()):
                    old = site.text(target.operator).strip()
                    yield site.edit("comparison", target.operator, other, f"`{old}` became `{other}` in `{site.short(node)}`")


def constants(site: Site) -> Iterator[Edit]:
    """Numbers off by one, booleans flipped, texts emptied and altered, permission bits changed."""
    for node in site.nodes:
        if isinstance(node, cst.Integer):
            yield from _integer(site, node)
        elif isinstance(node, cst.Float):
            yield site.edit("number", node, f"({node.value} + 1)", f"{node.value} became {node.value} + 1")
        elif isinstance(node, cst.SimpleString):
            yield from _text(site, node)
        elif isinstance(node, cst.FormattedStringText) and node.value.strip("{}"):
            yield site.edit("text", node, "", f"{node.value!r} dropped from an f-string")
        elif isinstance(node, cst.FormattedStringExpression) and node.format_spec:
            text = "{" + site.text(node.expression) + "}"
            yield site.edit("format-dropped", node, text, f"format of `{site.short(node)}` dropped")
        elif (
            isinstance(node, cst.Name)
            and node.value in ("True", "False")
            and not isinstance(site.module.parents.get(node), cst.Arg)
        ):
            other = "False" if node.value == "True" else "True"
            yield site.edit("boolean", node, other, f"{node.value} became {other}")


def _integer(site: Site, node: cst.Integer) -> Iterator[Edit]:
    value = literal(node)
    if not isinstance(value, int):
        return
    if node.value.lower().startswith("0o"):
        for bits in (0o111, 0o022, 0o200):
            yield site.edit("mode-bits", node, f"0o{value ^ bits:o}", f"mode {node.value} became 0o{value ^ bits:o}")
        return
    yield site.edit("number", node, f"{value + 1}", f"{value} became {value + 1}")
    yield site.edit("number", node, f"({value - 1})", f"{value} became {value - 1}")


def _text(site: Site, node: cst.SimpleString) -> Iterator[Edit]:
    value = literal(node)
    if isinstance(value, bytes) and value:
        yield site.edit("text", node, 'b""', f"{site.short(node)} emptied")
        yield site.edit("text", node, repr(value + b"~"), f"{site.short(node)} altered")
    elif isinstance(value, str) and value:
        yield site.edit("text", node, '""', f"{site.short(node)} emptied")
        yield site.edit("text", node, repr(value + "~"), f"{site.short(node)} altered")


def arithmetic(site: Site) -> Iterator[Edit]:
    """Operators swapped and operands dropped."""
    for node in site.nodes:
        if isinstance(node, cst.BinaryOperation):
            left, right, shown = site.text(node.left), site.text(node.right), site.short(node)
            other = _ARITHMETIC.get(type(node.operator))
            if other is not None and _computes(node):
                yield site.edit("arithmetic", node, f"({left}) {other} ({right})", f"`{shown}` computed with `{other}`")
            if isinstance(node.operator, cst.Add | cst.Divide | cst.BitAnd):
                yield site.edit("operand-dropped", node, f"({left})", f"`{site.short(node.right)}` dropped from `{shown}`")
                yield site.edit("operand-dropped", node, f"({right})", f"`{site.short(node.left)}` dropped from `{shown}`")
        elif isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign | cst.SubtractAssign | cst.BitOrAssign):
            if site.is_counter(node.target):
                continue  # only the count would differ
            yield site.edit("update-replaced", node.operator, "=", f"`{site.short(node)}` sets instead of updating")
        elif isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
            yield site.edit("arithmetic", node, f"({site.text(node.expression)})", f"sign of `{site.short(node)}` dropped")


def _computes(node: cst.BinaryOperation) -> bool:
    """Whether it is arithmetic: of texts and paths another operator would raise at once, which says nothing about evidence."""
    if isinstance(node.operator, cst.Divide):
        return False
    if not isinstance(node.operator, cst.Add | cst.Modulo):
        return True
    todo: list[cst.CSTNode] = [node]
    while todo:
        child = todo.pop()
        if isinstance(child, cst.Integer | cst.Float):
            return True
        if isinstance(child, cst.Call) and isinstance(child.func, cst.Name) and child.func.value in ("len", "int", "sum", "abs"):
            return True
        if isinstance(child, cst.BinaryOperation):
            todo += [child.left, child.right]
    return False


def slices(site: Site) -> Iterator[Edit]:
    """Slice bounds dropped, a slice or an index taken away."""
    for node in site.nodes:
        if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
            continue
        part, shown, value = node.slice[0].slice, site.short(node), site.text(node.value)
        if isinstance(part, cst.Slice):
            yield site.edit("slice", node, value, f"slice dropped from `{shown}`")
            if part.lower is not None and part.upper is not None:
                yield site.edit("slice", node, f"{value}[{site.text(part.lower)}:]", f"upper bound dropped from `{shown}`")
                yield site.edit("slice", node, f"{value}[:{site.text(part.upper)}]", f"lower bound dropped from `{shown}`")
        elif isinstance(part, cst.Index) and isinstance(part.value, cst.Integer | cst.UnaryOperation):
            other = "0" if site.text(part.value) != "0" else "-1"
            yield site.edit("index", node, f"{value}[{other}]", f"`{shown}` takes item {other}")

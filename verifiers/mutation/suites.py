"""Operators on statements: removed, guarded away, swallowed, looped once; and a parameter replaced by one trace's literal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from sandbox.interface import JsonValue
from verifiers.conventions.model import parameters
from verifiers.mutation.site import Edit, Site


def statements(site: Site) -> Iterator[Edit]:
    """Statements removed, and errors of single statements swallowed."""
    for node in site.nodes:
        if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
            yield from _simple(site, node, node.body[0])
        elif isinstance(node, cst.If) and not isinstance(site.module.parents.get(node), cst.If):
            if node.orelse is None and _is_guard(node.body):
                yield site.edit("guard-removed", node, "pass", f"guard `if {site.short(node.test)}` removed")
        elif isinstance(node, cst.Break):
            yield site.edit("break-continue", node, "continue", "break became continue")
        elif isinstance(node, cst.Continue):
            yield site.edit("break-continue", node, "break", "continue became break")


def _simple(site: Site, line: cst.SimpleStatementLine, node: cst.BaseSmallStatement) -> Iterator[Edit]:
    shown, indent = site.short(node), site.indent(line)
    if isinstance(node, cst.Raise):
        yield site.edit("raise-removed", node, "pass", f"`{shown}` removed")
    if isinstance(node, cst.Expr) or (isinstance(node, cst.AugAssign | cst.Del | cst.Assign) and _is_second(site, node)):
        yield site.edit("statement-removed", node, "pass", f"`{shown}` removed")
    if isinstance(node, cst.Expr) and "\n" not in site.text(node):
        text = f"try:\n{indent}    {site.text(node)}\n{indent}except Exception:\n{indent}    pass"
        yield site.edit("error-swallowed", node, text, f"errors of `{shown}` swallowed")
        yield site.edit("statement-doubled", node, f"{site.text(node)}; {site.text(node)}", f"`{shown}` done twice")


def _is_second(site: Site, node: cst.AugAssign | cst.Del | cst.Assign) -> bool:
    """An assignment without which the name still has a value; else the mutant only raises NameError."""
    if not isinstance(node, cst.Assign):
        return True
    target = node.targets[0].target
    if not isinstance(target, cst.Name):
        return True
    return len(site.module.bindings.get(target.value, ())) > 1


def _is_guard(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Return | cst.Raise | cst.Continue | cst.Break)


def loops(site: Site) -> Iterator[Edit]:
    """Loops that stop after the first item, or leave the first one out; comprehensions likewise."""
    for node in site.nodes:
        if isinstance(node, cst.For | cst.CompFor) and node.asynchronous is None:
            items, shown = site.text(node.iter), site.short(node.iter)
            yield site.edit("loop-first-only", node.iter, f"list({items})[:1]", f"only the first of `{shown}` is done")
            yield site.edit("loop-first-skipped", node.iter, f"list({items})[1:]", f"the first of `{shown}` is skipped")


def handlers(site: Site) -> Iterator[Edit]:
    """A handler that catches everything; one that does nothing."""
    for node in site.nodes:
        if not isinstance(node, cst.ExceptHandler):
            continue
        if node.type is not None and site.text(node.type) not in ("Exception", "BaseException"):
            yield site.edit("handler-widened", node.type, "Exception", f"`except {site.short(node.type)}` catches everything")
        body = node.body
        if isinstance(body, cst.IndentedBlock) and len(body.body) == 1 and isinstance(body.body[0], cst.SimpleStatementLine):
            small = body.body[0].body[0]
            if isinstance(small, cst.Raise):
                yield site.edit("error-swallowed", small, "pass", f"`{site.short(small)}` in a handler swallowed")


def fixed_parameters(site: Site, literals: Sequence[Mapping[str, JsonValue]]) -> Iterator[Edit]:
    """A parameter that always has the value of one trace (its argument is ignored)."""
    function = site.module.function
    if function is None or not isinstance(function.body, cst.IndentedBlock):
        return
    body = function.body.body
    first = next((s for s in body if not _is_docstring(s)), None)
    if first is None:
        return
    start, _ = site.span(first)
    indent = site.indent(first)
    for param in parameters(function):
        name = param.name.value
        seen: list[JsonValue] = []
        for args in literals:
            if name in args and args[name] not in seen and len(seen) < 3:
                seen.append(args[name])
                text = f"{name} = {args[name]!r}\n{indent}"
                yield Edit("parameter-fixed", start, start, text, site.module.line(param), f"{name} is always {args[name]!r}")


def _is_docstring(node: cst.CSTNode) -> bool:
    small = node.body[0] if isinstance(node, cst.SimpleStatementLine) and node.body else None
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString)

"""Plain defaults instead of Query(...) in the omni profile."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal_text, parameters
from verifiers.conventions.omni_example import PLAIN, RENAME
from verifiers.conventions.rule import Rule, Violation
from verifiers.interface import Example, Profile
from verifiers.source.docstring import parse_docstring

_UNDESCRIBED = RENAME.replace("        - old_ext: str - Extension to replace\n", "").replace(
    '        - new_ext: str = "md" - New extension\n', ""
)


class QueryDefault(Rule):
    id = "conventions-query-default"
    title = "Are defaults plain values instead of Query(...)?"
    why = (
        "The upstream decorator knows no `Query`: the object itself becomes the default, the parameter turns optional, "
        "and the body receives an object where it expects text. Parameters have a type and a plain default; descriptions "
        "are bullets in the decorator's description. The fix rewrites both, and makes parameters keyword-only where the "
        "order of the defaults demands it."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("omni",)
    fix_title = "replace Query(...) by a plain default and a bullet in the description"
    good = ()
    bad = ()
    omni_good = (Example("plain defaults", RENAME.format(params=PLAIN)),)
    omni_bad = (
        Example("Query as a default", _UNDESCRIBED.format(
            params='old_ext: str = Query(..., description="Extension to replace"), new_ext: str = Query("md", description="New '
            'extension")'
        )),
        Example("a required one after a default", RENAME.format(params='new_ext: str = "md", old_ext: str = Query(...)')),
    )  # fmt: skip

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for param in parameters(module.function) if module.function is not None else ():
            if _query(module, param) is not None:
                yield Violation(
                    param,
                    f"{param.name.value} has Query(...) as its default, which the real decorator does not know",
                    fixable=True,
                )

    def fix(self, module: SkillModule) -> cst.Module | None:
        function, call = module.function, module.decorator_call
        if function is None or not any(_query(module, p) for p in parameters(function)):
            return None
        described = {p.name: p.description for p in module.subject.parameters}
        new = function.with_changes(params=_plain_parameters(module, function.params))
        if call is not None:
            new = cst.ensure_type(new.deep_replace(call, _with_bullets(module, call, function, described)), cst.FunctionDef)
        return _without_query_import(cst.ensure_type(module.tree.deep_replace(function, new), cst.Module))


def _query(module: SkillModule, param: cst.Param) -> cst.Call | None:
    value = param.default
    if isinstance(value, cst.Call) and module.dotted(value.func).rpartition(".")[2] == "Query":
        return value
    return None


def _plain_parameters(module: SkillModule, params: cst.Parameters) -> cst.Parameters:
    """The same parameters with plain defaults; keyword-only where a required one would follow an optional one."""
    positional = [_plain(module, p) for p in params.params]
    keyword_only = [_plain(module, p) for p in params.kwonly_params]
    optional = [p.default is not None for p in positional]
    ordered = optional == sorted(optional)
    if ordered:
        return params.with_changes(params=positional, kwonly_params=keyword_only)
    spaced = [
        p.with_changes(comma=cst.MaybeSentinel.DEFAULT) if isinstance(p.comma, cst.MaybeSentinel) else p for p in positional
    ]
    star = params.star_arg if isinstance(params.star_arg, cst.Param) else cst.ParamStar()
    return params.with_changes(params=[], kwonly_params=[*spaced, *keyword_only], star_arg=star)


def _plain(module: SkillModule, param: cst.Param) -> cst.Param:
    call = _query(module, param)
    if call is None:
        return param
    value = call.args[0].value if call.args and call.args[0].keyword is None else module.keyword(call, "default")
    if value is None or isinstance(value, cst.Ellipsis):
        return param.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)
    return param.with_changes(default=value)


def _with_bullets(module: SkillModule, call: cst.Call, function: cst.FunctionDef, described: dict[str, str]) -> cst.Call:
    """The decorator's call with a bullet for every parameter that its description does not list."""
    current = module.keyword(call, "description")
    text = literal_text(current)
    if current is not None and text is None:
        return call
    if text is None:
        text = function.get_docstring() or function.name.value.replace("_", " ").capitalize()
    text = inspect.cleandoc(text)
    own = parse_docstring(text)
    bullets = [
        f"    - {_bullet(module, p, described[p.name.value])}"
        for p in parameters(function)
        if described.get(p.name.value) and not _is_bullet(text, p.name.value)
    ]
    if not bullets:
        return call
    lines = [line for line in text.splitlines() if not _is_plain_note(line, own.notes, described)]
    at = next((i for i, line in enumerate(lines) if line.strip() == "Args:"), None)
    if at is None:
        end = next((i for i, line in enumerate(lines) if line.strip().startswith(("Returns:", "Raises:"))), len(lines))
        lines[end:end] = ["", "Args:", *bullets] if end == len(lines) else ["Args:", *bullets, ""]
    else:
        lines[at + 1 : at + 1] = bullets
    body = "\n".join(f"    {line}" if line else "" for line in lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    value = cst.SimpleString(f'"""\n{body}\n    """')
    if current is not None:
        return cst.ensure_type(call.deep_replace(current, value), cst.Call)
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return call.with_changes(args=[*call.args, cst.Arg(value, keyword=cst.Name("description"), equal=plain)])


def _bullet(module: SkillModule, param: cst.Param, text: str) -> str:
    kind = module.code(param.annotation.annotation) if param.annotation is not None else "str"
    plain = _plain(module, param)
    default = f" = {module.code(plain.default)}" if plain.default is not None else ""
    return f"{param.name.value}: {kind}{default} - {text}"


def _is_bullet(text: str, name: str) -> bool:
    return any(line.strip().startswith((f"- {name}:", f"- {name} ")) for line in text.splitlines())


def _is_plain_note(line: str, notes: dict[str, str], described: dict[str, str]) -> bool:
    """``name: text`` in Google style, which neither upstream parser reads and a bullet replaces."""
    name, colon, _ = line.strip().partition(":")
    return bool(colon) and name in notes and bool(described.get(name)) and line.startswith(" ")


def _without_query_import(tree: cst.Module) -> cst.Module:
    """Drops ``Query`` from the imports when nothing else uses it."""
    still = any(isinstance(n, cst.Name) and n.value == "Query" for n in _outside_imports(tree))
    if still:
        return tree

    class Drop(cst.CSTTransformer):
        def leave_ImportFrom(
            self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
        ) -> cst.ImportFrom | cst.RemovalSentinel:
            if isinstance(updated_node.names, cst.ImportStar):
                return updated_node
            kept = [n for n in updated_node.names if not (isinstance(n.name, cst.Name) and n.name.value == "Query")]
            if len(kept) == len(updated_node.names):
                return updated_node
            if not kept:
                return cst.RemoveFromParent()
            kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            return updated_node.with_changes(names=kept)

    return tree.visit(Drop())


def _outside_imports(tree: cst.Module) -> Iterator[cst.CSTNode]:
    todo: list[cst.CSTNode] = [tree]
    while todo:
        node = todo.pop()
        if not isinstance(node, cst.ImportFrom):
            yield node
            todo.extend(node.children)


RULE = QueryDefault()

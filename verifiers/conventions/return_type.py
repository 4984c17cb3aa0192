"""The return value has a type, and one that JSON has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.flow import always_leaves
from verifiers.conventions.json_types import not_json
from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile


class ReturnType(Rule):
    id = "conventions-return-type"
    title = "Is the return type annotated, with a type that JSON has?"
    why = (
        "The returned value leaves the process as JSON: `Path`, `set`, `bytes` and dates raise there, after the work was "
        "done. `dict[str, object]` is the usual annotation; the fix adds it where every return is a dict with text keys."
    )
    fix_title = "annotate the return type as dict[str, object]"
    good = (skill("a dict", TOUCH),)
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


RULE = ReturnType()

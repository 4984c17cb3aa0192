"""Parameters and return value have types, and they are types that JSON has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.json_types import not_json
from verifiers.conventions.model import SkillModule, literal, parameters
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile

_FILE = 'file: str = Query(..., description="Path of the file")'
_NOTES = "file: Path of the file.\n        depth: How deep."


class Typed(Rule):
    id = "conventions-typed"
    title = "Does every parameter have a type that JSON has?"
    why = (
        "Arguments arrive as JSON; a parameter without a type is dropped from the index's schema, and one of type `Path` "
        "would be promised something that never arrives. Text, numbers, booleans, lists, objects, literals and unions of "
        "these are what can be sent. The type of a parameter with a literal default is filled in by the fix."
    )
    fix_title = "annotate parameters with the type of their literal default"
    good = (
        skill("typed", TOUCH, params=f'{_FILE},\n    depth: int = Query(3, description="How deep")', notes=_NOTES),
        skill(
            "unions and literals",
            TOUCH,
            params=f'{_FILE},\n    depth: Literal["a", "b"] | None = Query(None, description="How deep")',
            imports="from pathlib import Path\nfrom typing import Literal\n\n",
            notes=_NOTES,
        ),
    )
    bad = (
        skill("no type", TOUCH, params=f'{_FILE},\n    depth=Query(3, description="How deep")', notes=_NOTES),
        skill("no type, no default", TOUCH, params='file=Query(..., description="Path of the file")'),
        skill("a type that JSON lacks", TOUCH, params='file: Path = Query(..., description="Path of the file")'),
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


def _default_type(param: cst.Param) -> str:
    default = param.default
    if isinstance(default, cst.Call) and default.args and default.args[0].keyword is None:  # Query(3, description=…)
        default = default.args[0].value
    try:
        value = literal(default)
    except ValueError:
        return ""
    return type(value).__name__ if isinstance(value, bool | int | float | str) else ""


RULE = Typed()

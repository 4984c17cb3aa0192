"""Spaces around the equals sign of typed defaults in the omni profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, parameters
from verifiers.conventions.omni_example import PLAIN, RENAME
from verifiers.conventions.rule import Rule, Violation
from verifiers.interface import Example, Profile


class Spacing(Rule):
    id = "conventions-spacing"
    title = "Is there a space around the equals sign of a typed default?"
    why = 'The upstream index splits parameters at `= `: `x: str="a"` is read as a required parameter of type `str="a"`.'
    profiles: ClassVar[tuple[Profile, ...]] = ("omni",)
    fix_title = "put spaces around the equals signs of typed defaults"
    good = ()
    bad = ()
    omni_good = (Example("spaced", RENAME.format(params=PLAIN)),)
    omni_bad = (Example("not spaced", RENAME.format(params='old_ext: str, new_ext: str="md"')),)

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for param in parameters(module.function) if module.function is not None else ():
            if _tight(param):
                yield Violation(param, f"{param.name.value}: the index needs `: type = default`, with spaces", fixable=True)

    def fix(self, module: SkillModule) -> cst.Module | None:
        tree = module.tree
        for param in parameters(module.function) if module.function is not None else ():
            if _tight(param):
                tree = cst.ensure_type(tree.deep_replace(param, param.with_changes(equal=cst.AssignEqual())), cst.Module)
        return None if tree is module.tree else tree


def _tight(param: cst.Param) -> bool:
    equal = param.equal
    if param.annotation is None or param.default is None or not isinstance(equal, cst.AssignEqual):
        return False
    spaces = (equal.whitespace_before, equal.whitespace_after)
    return not all(isinstance(s, cst.SimpleWhitespace) and s.value == " " for s in spaces)


RULE = Spacing()

"""A signature that an index can show and a caller can fill: named, typed, without traps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal, parameters
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile


class Signature(Rule):
    id = "conventions-signature"
    title = "Are there only named parameters, with immutable defaults?"
    why = (
        "Skills are called with keyword arguments taken from JSON. `*args` and `**kwargs` have no place in a schema, "
        "positional-only parameters cannot be given at all, and a mutable default keeps state between two calls in one "
        "process, which is how a skill comes to work only once. A default that is computed is work at import. In the `omni` "
        "profile, whose runtime passes what it injects as `**kwargs`, these only warn."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (
        skill("named parameters", TOUCH),
        skill("a plain default", TOUCH, params='file: str = Query("a.txt", description="Path of the file")'),
    )
    bad = (
        skill("star arguments", TOUCH, params='file: str = Query(..., description="Path"),\n    *args: str'),
        skill("keyword arguments", TOUCH, params='file: str = Query(..., description="Path"),\n    **kwargs: str'),
        skill("positional only", TOUCH, params='file: str = Query(..., description="Path"),\n    /'),
        skill("a mutable default", TOUCH, params='file: str = Query(..., description="Path"),\n    seen: list[str] = []'),
        skill("a mutable default in Query", TOUCH, params='file: list[str] = Query([], description="Paths")'),
        skill("a computed default", TOUCH, params='file: str = Query(Path.home(), description="Path")'),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        function = module.function
        if function is None:
            return
        p = function.params
        if isinstance(p.star_arg, cst.Param):
            yield Violation(p.star_arg, f"*{p.star_arg.name.value}: only named parameters can be described and called")
        if p.star_kwarg is not None:
            told = f"**{p.star_kwarg.name.value}: only named parameters can be described and called"
            # Omni leaves it out of the schema, and passes there what it injects.
            yield Violation(p.star_kwarg, told, "warning" if module.profile == "omni" else "error")
        for param in p.posonly_params:
            yield Violation(param, f"{param.name.value} is positional-only, but skills are called by keyword")
        for param in parameters(function):
            yield from self._default(module, param)

    def _default(self, module: SkillModule, param: cst.Param) -> Iterator[Violation]:
        value = param.default
        if isinstance(value, cst.Call) and module.dotted(value.func).rpartition(".")[2] == "Query":
            value = value.args[0].value if value.args and value.args[0].keyword is None else module.keyword(value, "default")
        if value is None:
            return
        if isinstance(value, cst.List | cst.Dict | cst.Set | cst.ListComp | cst.DictComp | cst.SetComp):
            yield Violation(param, f"{param.name.value} has a mutable default: use None or a tuple")
            return
        try:
            literal(value)
        except ValueError:
            constant = isinstance(value, cst.Name | cst.Attribute)
            if not constant:
                yield Violation(param, f"the default of {param.name.value} is computed at import")


RULE = Signature()

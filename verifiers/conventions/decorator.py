"""The decorator: called, with keyword arguments that exist, spelled out as literals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal, literal_text
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Example, Profile
from verifiers.subject import HINTS

SEED_KEYWORDS: dict[str, type] = {
    "autowire": bool, "name": str, "description": str, "category": str, "title": str, **dict.fromkeys(HINTS, bool),
}  # fmt: skip
OMNI_KEYWORDS: dict[str, type] = {
    **SEED_KEYWORDS, "variants": list, "default_variant": str, "inject_root": bool, "inject_settings": list, "retry_on": tuple,
    "max_attempts": int, "cache_ttl": float, "error_strategy": str, "log_level": str, "trace_args": bool, "trace_result": bool,
    "trace_timing": bool, "filter_empty": bool, "max_result_depth": int,
}  # fmt: skip
"""Source: signature of omni.foundation.api.decorators.skill_command. Anything else raises TypeError at import."""

_GOOD = skill("the form", TOUCH)


def _with(decorator: str, title: str) -> Example:
    return Example(title, _GOOD.source.replace("@skill_command(autowire=True)", decorator))


def _omni(decorator: str, title: str) -> Example:
    head = "from omni.foundation.api.decorators import skill_command\n\n\n"
    return Example(title, f"{head}{decorator}\ndef show(file: str) -> str:\n    return file\n")


class DecoratorForm(Rule):
    id = "conventions-decorator"
    title = "Is the decorator called with known keyword arguments, spelled out as literals?"
    why = (
        "Indexes read the decorator without running it: an argument that is computed is invisible to them, an unknown one "
        "raises at import and the skill silently vanishes. The form is `@skill_command(autowire=True)`; name, "
        "description, category, title and the hints read_only, destructive, idempotent, open_world may follow. In the "
        "`omni` profile the real decorator's other keywords are known too. A skill cannot be read-only and destructive at "
        "once."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    fix_title = "give the decorator its form and drop what it does not know"
    good = (_GOOD, _with('@skill_command(autowire=True, read_only=False, description="Create a file.")', "with hints"))
    bad = (
        _with("@skill_command", "bare"),
        _with("@skill_command()", "without autowire"),
        _with("@skill_command(autowire=True, retries=3)", "an unknown keyword"),
        _with("@skill_command(True)", "a positional argument"),
        _with('@skill_command(autowire=True, description="a" + "b".upper())', "a computed description"),
        _with("@skill_command(autowire=True, read_only=True, destructive=True)", "hints that contradict each other"),
    )
    omni_good = (
        _omni('@skill_command(name="show", description="Show a path.", category="read", read_only=True)', "the real form"),
    )
    omni_bad = (
        _omni('@skill_command(name="show", description="Show " "a path.")', "a description in two literals"),
        _omni('@decorators.skill_command(name="show", description="Show a path.")', "an attribute"),
        _omni('@skill_command(name="show", description="Show a path.", cache=3)', "an unknown keyword"),
        _omni('@skill_command(name="show", description="Show a path.".strip())', "a computed description"),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        if module.decorator is None:
            return
        call = module.decorator_call
        spelled = call.func if call is not None else module.decorator.decorator
        if module.profile == "omni" and module.code(spelled) != "skill_command":
            yield Violation(module.decorator, f"the index looks for @skill_command, not for @{module.code(spelled)}")
        if call is None:
            if module.profile == "seed":
                yield Violation(module.decorator, "the decorator is bare: write @skill_command(autowire=True)", "warning", True)
            return
        for arg in call.args:
            yield from self._argument(module, arg)
        if module.profile == "seed" and module.keyword(call, "autowire") is None:
            yield Violation(call, "the decorator does not say autowire=True", "warning", fixable=True)
        declared = {h: module.keyword(call, h) for h in ("read_only", "destructive")}
        if all(v is not None and module.code(v) == "True" for v in declared.values()):
            yield Violation(call, "declared read_only and destructive at once")

    def _argument(self, module: SkillModule, arg: cst.Arg) -> Iterator[Violation]:
        known = OMNI_KEYWORDS if module.profile == "omni" else SEED_KEYWORDS
        if arg.keyword is None:
            yield Violation(arg, "the decorator takes keyword arguments only")
            return
        name = arg.keyword.value
        if name not in known:
            yield Violation(arg, f"the decorator has no keyword {name!r}", fixable=True)
            return
        joined = module.profile == "omni" and isinstance(arg.value, cst.ConcatenatedString)
        if name in ("name", "description", "category", "title") and (joined or literal_text(arg.value) is None):
            yield Violation(arg, f"{name} must be one plain string: what is computed cannot be indexed")
            return
        try:
            value = literal(arg.value)
        except ValueError:
            if name in SEED_KEYWORDS:
                yield Violation(arg, f"{name} must be spelled out, not computed")
            return
        if known[name] is bool and not isinstance(value, bool):
            yield Violation(arg, f"{name} must be True or False")

    def fix(self, module: SkillModule) -> cst.Module | None:
        decorator, call = module.decorator, module.decorator_call
        if decorator is None:
            return None
        autowire = cst.Arg(
            cst.Name("True"), keyword=cst.Name("autowire"),
            equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
        )  # fmt: skip
        if call is None:
            assert isinstance(decorator.decorator, cst.Name | cst.Attribute)
            new = cst.Call(decorator.decorator, [autowire])
            return _replace(module, decorator, decorator.with_changes(decorator=new))
        known = OMNI_KEYWORDS if module.profile == "omni" else SEED_KEYWORDS
        kept = [a for a in call.args if a.keyword is None or a.keyword.value in known]
        if module.profile == "seed" and module.keyword(call, "autowire") is None:
            kept = [*(a for a in kept if a.keyword is None), autowire, *(a for a in kept if a.keyword is not None)]
        if len(kept) == len(call.args) and all(a is b for a, b in zip(kept, call.args, strict=True)):
            return None
        return _replace(module, call, call.with_changes(args=_separated(kept)))


def _separated(args: list[cst.Arg]) -> list[cst.Arg]:
    """Arguments with a comma between each two and none dangling where the line simply ends."""
    out = []
    for i, arg in enumerate(args):
        last = i == len(args) - 1
        comma = (
            cst.MaybeSentinel.DEFAULT
            if last
            else (arg.comma if isinstance(arg.comma, cst.Comma) else cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        )
        out.append(arg.with_changes(comma=comma))
    return out


def _replace(module: SkillModule, old: cst.CSTNode, new: cst.CSTNode) -> cst.Module:
    tree = module.tree.deep_replace(old, new)
    assert isinstance(tree, cst.Module)
    return tree


RULE = DecoratorForm()

"""The decorator comes from where it really lives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, imported_module
from verifiers.conventions.rule import Rule, Violation, skill
from verifiers.interface import Example, Profile

SEED_HOME = "skill_api"
OMNI_HOME = "omni.foundation.api.decorators"
OMNI_HOMES = (OMNI_HOME, "omni.foundation.api")
DEAD = (
    "agent.skills.decorators",
    "omni.core.skills.script_loader",
    "omni.core.skills.runtime.decorators",
    "omni.core.skills.decorators",
)
"""Paths that documents, prompts and generators of the upstream project still name; none exists any more."""

_SEED = skill("from skill_api", 'Path(file).touch()\nreturn {"ok": True, "changed": 1}')


def _omni(module: str, title: str) -> Example:
    return Example(
        title,
        f"from {module} import skill_command\n\n\n"
        '@skill_command(name="show", description="Show a path.")\ndef show(file: str) -> str:\n    return file\n',
    )


class ImportSource(Rule):
    id = "conventions-import-source"
    title = "Is the decorator imported from where it lives?"
    why = (
        "A skill whose decorator cannot be imported is not an error anyone sees: the host's loader logs it at debug level "
        "and the skill vanishes. Seed skills import from `skill_api`; skills of the `omni` profile from "
        "`omni.foundation.api.decorators`. Several dead paths are still in circulation; the fix names the living one."
    )
    fix_title = "import skill_command from where it lives"
    good = (_SEED,)
    bad = (
        Example("a dead path", _SEED.source.replace("from skill_api import", f"from {DEAD[2]} import")),
        Example("not imported at all", _SEED.source.replace("from skill_api import Query, skill_command\n", "")),
        Example("a star import", _SEED.source.replace("import Query, skill_command", "import *")),
    )
    omni_good = (_omni(OMNI_HOME, "the real path"), _omni("omni.foundation.api", "its package"))
    omni_bad = (
        _omni(DEAD[2], "a path that never existed"),
        _omni(DEAD[0], "a path of an old version"),
        _omni("skill_api", "the seed's"),
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        homes = (SEED_HOME,) if module.profile == "seed" else OMNI_HOMES
        if module.decorator is None:
            return
        called = module.decorator.decorator
        name = module.dotted(called.func if isinstance(called, cst.Call) else called)
        if name.rpartition(".")[0] in homes:
            return
        found = [n for n in self._imports(module) if imported_module(n) not in homes]
        if not found:
            yield Violation(module.decorator, f"skill_command is not imported from {homes[0]}")
        for node in found:
            source = imported_module(node)
            fixable = self._replaceable(node, module)
            dead = " (which does not exist)" if source in DEAD else ""
            yield Violation(node, f"skill_command is imported from {source}{dead}, not from {homes[0]}", fixable=fixable)

    @staticmethod
    def _imports(module: SkillModule) -> list[cst.ImportFrom]:
        """Imports that (may) bring the decorator; libcst's matchers would say the same and take long to load."""
        return [n for n in module.nodes if isinstance(n, cst.ImportFrom) and _brings_decorator(n)]

    @staticmethod
    def _replaceable(node: cst.ImportFrom, module: SkillModule) -> bool:
        """A dead path with nothing on the line that the living module lacks."""
        if isinstance(node.names, cst.ImportStar) or (imported_module(node) not in DEAD and module.profile == "seed"):
            return False
        has = {"skill_command", "Query", "nu"} if module.profile == "seed" else {"skill_command"}
        foreign = module.profile == "omni" and imported_module(node) not in (*DEAD, SEED_HOME)
        return not foreign and all(isinstance(i.name, cst.Name) and i.name.value in has for i in node.names)

    def fix(self, module: SkillModule) -> cst.Module | None:
        home = SEED_HOME if module.profile == "seed" else OMNI_HOME
        homes = (SEED_HOME,) if module.profile == "seed" else OMNI_HOMES
        tree = module.tree
        for node in self._imports(module):
            if imported_module(node) not in homes and self._replaceable(node, module):
                expression = cst.parse_expression(home)
                tree = cst.ensure_type(tree.deep_replace(node, node.with_changes(module=expression)), cst.Module)
        return None if tree is module.tree else tree


def _brings_decorator(node: cst.ImportFrom) -> bool:
    if isinstance(node.names, cst.ImportStar):
        return True
    return any(isinstance(item.name, cst.Name) and item.name.value == "skill_command" for item in node.names)


RULE = ImportSource()

"""Modules and classes of others are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import Rule, Violation, skill
from verifiers.interface import Profile


class Patching(Rule):
    id = "conventions-patching"
    title = "Are modules and classes of others left alone?"
    why = (
        "Assigning to an attribute of an imported module or class (`skill_api.Query = …`, `Path.write_text = …`) changes "
        "it for everything that runs later in the same process, including what judges this skill."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (
        skill(
            "its own object",
            'class Box:\n    n = 0\n\n\nbox = Box()\nbox.n = 1\nPath(file).touch()\nreturn {"ok": True, "n": box.n}',
        ),
    )
    bad = (
        skill(
            "the decorator's module", 'skill_api.Query = None\nreturn {"ok": True, "file": file}', imports="import skill_api\n\n"
        ),
        skill("a class of the standard library", 'Path.write_text = print\nreturn {"ok": True, "file": file}'),
        skill("with setattr", 'setattr(Path, "touch", print)\nreturn {"ok": True, "file": file}'),
        skill("deleting", 'del os.sep\nreturn {"ok": True, "file": file}', imports="import os\n\n"),
        skill("in a loop target", 'for os.sep in file:\n    pass\nreturn {"ok": True}', imports="import os\n\n"),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            for target in self._targets(node):
                head = target.value if isinstance(target, cst.Attribute) else None
                origin = self._origin(module, head)
                if origin:
                    yield Violation(node, f"patches {origin}")
            sets = isinstance(node, cst.Call) and module.dotted(node.func) in ("setattr", "delattr")
            if isinstance(node, cst.Call) and sets and node.args and (origin := self._origin(module, node.args[0].value)):
                yield Violation(node, f"patches {origin}")

    @staticmethod
    def _targets(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For | cst.Del):
            yield node.target

    @staticmethod
    def _origin(module: SkillModule, head: cst.CSTNode | None) -> str:
        """What an expression that names something imported stands for; "" for local objects."""
        while isinstance(head, cst.Attribute):
            head = head.value
        if not isinstance(head, cst.Name) or head.value not in module.imports:
            return ""
        return module.imports[head.value]


RULE = Patching()

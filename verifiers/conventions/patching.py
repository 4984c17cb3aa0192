"""Modules and classes of others are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import Rule, Violation, skill
from verifiers.interface import Profile

SHARED = frozenset({
    "sqlite3.register_adapter", "sqlite3.register_converter", "codecs.register", "codecs.unregister", "copyreg.pickle",
    "copyreg.constructor", "locale.setlocale", "socket.setdefaulttimeout", "decimal.setcontext", "time.tzset",
})  # fmt: skip
"""Calls that set what all code of a process goes by."""


class Patching(Rule):
    id = "conventions-patching"
    title = "Are modules and classes of others left alone?"
    why = (
        "Assigning to an attribute of an imported module or class (`skill_api.Query = …`, `Path.write_text = …`) changes "
        "it for everything that runs later in the same process, including what judges this skill. So does what registers "
        "something for the whole process (`sqlite3.register_adapter`, `locale.setlocale`)."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (
        skill(
            "its own object",
            'class Box:\n    n = 0\n\n\nbox = Box()\nbox.n = 1\nPath(file).touch()\nreturn {"ok": True, "n": box.n}',
        ),
        skill(
            "a way to write tables that has a name of its own",
            'csv.register_dialect("semicolons", delimiter=";")\nPath(file).touch()\nreturn {"ok": True}',
            imports="import csv\nfrom pathlib import Path\n\n",
        ),
    )
    bad = (
        skill(
            "the decorator's module", 'skill_api.Query = None\nreturn {"ok": True, "file": file}', imports="import skill_api\n\n"
        ),
        skill("a class of the standard library", 'Path.write_text = print\nreturn {"ok": True, "file": file}'),
        skill("with setattr", 'setattr(Path, "touch", print)\nreturn {"ok": True, "file": file}'),
        skill("deleting", 'del os.sep\nreturn {"ok": True, "file": file}', imports="import os\n\n"),
        skill(
            "how numbers go into everybody's databases",
            'sqlite3.register_adapter(float, int)\nreturn {"ok": True, "file": file}',
            imports="import sqlite3\n\n",
        ),
        skill("in a loop target", 'for os.sep in file:\n    pass\nreturn {"ok": True}', imports="import os\n\n"),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            for target in self._targets(node):
                head = target.value if isinstance(target, cst.Attribute) else None
                origin = self._origin(module, head)
                if origin:
                    yield Violation(node, f"patches {origin}")
            called = module.dotted(node.func) if isinstance(node, cst.Call) else ""
            sets = called in ("setattr", "delattr")
            if isinstance(node, cst.Call) and sets and node.args and (origin := self._origin(module, node.args[0].value)):
                yield Violation(node, f"patches {origin}")
            if called in SHARED:
                yield Violation(node, f"{called}() changes what all code of its process goes by")

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

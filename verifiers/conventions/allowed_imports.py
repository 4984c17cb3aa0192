"""What a skill may import."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.allow_list import ALLOWED, HARMLESS_PARTS, REFUSED
from verifiers.conventions.model import SkillModule, dotted_text, imported_module
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import AS_LISTED, Example, ImportRules, Profile

PROJECT = {"seed": ("skill_api",), "omni": ("skill_api", "omni")}


def refusal(name: str, profile: Profile = "seed", rules: ImportRules = AS_LISTED) -> str:
    """Why a dotted name may not be imported; "" where it may. ``rules`` are the configuration's own."""
    top = name.partition(".")[0]
    if top in rules.refuse:
        return "is refused by `conventions.refuse_imports`"
    if name in HARMLESS_PARTS or any(name.startswith(part + ".") for part in HARMLESS_PARTS):
        return ""
    if top in rules.allow or name in rules.allow or top in ALLOWED or top in PROJECT[profile]:
        return ""
    if why := REFUSED.get(top):
        return why
    if name.startswith("."):
        return "is relative, but a skill is a file of its own"
    return "is not on the list" if top in sys.stdlib_module_names else "is not in the standard library"


class AllowedImports(Rule):
    id = "conventions-imports"
    title = "Are all imports on the allow-list?"
    why = (
        "Allowed is the standard library without what reaches the network, works around the interpreter (ctypes, mmap, "
        "multiprocessing), runs code while reading data (pickle, marshal, shelve), loads other code (importlib, runpy) or "
        "looks at frames; plus `skill_api`. A skill that needs another package cannot run where it is registered. "
        "`conventions.allow_imports` in the configuration adds modules, `conventions.refuse_imports` takes some away. In the "
        "`omni` profile, whose real skills use the host's packages, this only warns."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    good = (
        skill("standard library", TOUCH),
        skill("parsing a URL is no network", TOUCH, imports="from pathlib import Path\nfrom urllib.parse import quote\n\n"),
        skill(
            "a path as a URL is no network",
            'return {"ok": True, "url": urllib.request.pathname2url(file)}',
            imports="import urllib.request\n\n",
        ),
    )
    bad = (
        skill("network", TOUCH, imports="import socket\nfrom pathlib import Path\n\n"),
        skill("network, inside the function", "import urllib.request\n" + TOUCH),
        skill(
            "network beside what only computes",
            'return {"ok": True, "url": pathname2url(file), "page": str(urlopen(file))}',
            imports="from urllib.request import pathname2url, urlopen\n\n",
        ),
        skill("native code", TOUCH, imports="from ctypes import CDLL\nfrom pathlib import Path\n\n"),
        skill("another package", TOUCH, imports="from pathlib import Path\n\nimport requests\n\n"),
        skill("import by a call", '__import__("socket")\n' + TOUCH),
        Example("a relative import", "from . import other\n"),
    )

    def __init__(self, rules: ImportRules = AS_LISTED) -> None:
        self.rules = rules

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node, name in self._names(module):
            if why := refusal(name, module.profile, self.rules):
                yield Violation(node, f"import of {name}: {why}", hard=name.partition(".")[0] in self.rules.refuse)
        for node, name in self._reached(module):
            yield Violation(node, f"{name} reaches a module that is refused by `conventions.refuse_imports`", hard=True)

    def _reached(self, module: SkillModule) -> Iterator[tuple[cst.CSTNode, str]]:
        """A refused module that stands in another one: ``pathlib.os``."""
        for node in module.nodes if self.rules.refuse else ():
            if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
                given = [f"{imported_module(node)}.{dotted_text(item.name)}" for item in node.names]
            elif isinstance(node, cst.Attribute) and _of_a_module(module, node.value):
                given = [module.dotted(node)]
            elif isinstance(node, cst.Call) and module.code(node.func) == "getattr" and len(node.args) > 1:
                said = module.code(node.args[1].value).strip("\"'")
                given = [f"{module.code(node.args[0].value)}.{said}"]
            else:
                given = []
            yield from ((node, name) for name in given if name.rpartition(".")[2] in self.rules.refuse)

    @staticmethod
    def _names(module: SkillModule) -> Iterator[tuple[cst.CSTNode, str]]:
        for node in module.nodes:
            if isinstance(node, cst.Import):
                names = (dotted_text(item.name) for item in node.names)
                yield from ((node, name) for name in names if not _only_computes(module, name))
            elif isinstance(node, cst.ImportFrom):
                source = imported_module(node)
                if isinstance(node.names, cst.ImportStar):
                    yield node, f"{source}.*"
                else:
                    parts = (f"{source}.{dotted_text(item.name)}" for item in node.names)
                    asked = {p if p in HARMLESS_PARTS or source in HARMLESS_PARTS else source for p in parts}
                    yield from ((node, name) for name in sorted(asked))
            elif isinstance(node, cst.Call) and module.dotted(node.func) in ("__import__", "builtins.__import__"):
                yield node, "whatever __import__ is given" if not node.args else f"importlib.{module.code(node.args[0].value)}"


def _of_a_module(module: SkillModule, node: cst.BaseExpression) -> bool:
    """Whether an expression is a part of what the file imports."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name) and node.value in module.imports


def _only_computes(module: SkillModule, name: str) -> bool:
    """Whether a module with harmless parts is imported for nothing else: every chain that starts from it ends in such a part."""
    parts = [p for p in HARMLESS_PARTS if p.startswith(f"{name}.")]
    if not parts:
        return False
    used = [n for n in module.nodes if isinstance(n, cst.Name) and module.imports.get(n.value) in (name, name.partition(".")[0])]
    chains = [_chain(module, n) for n in used if not _in_import(module, n)]
    return bool(chains) and all(any(c == p or c.startswith(f"{p}.") for p in HARMLESS_PARTS) for c in chains)


def _chain(module: SkillModule, node: cst.CSTNode) -> str:
    while isinstance(above := module.parents.get(node), cst.Attribute):
        node = above
    return module.dotted(node)


def _in_import(module: SkillModule, node: cst.CSTNode) -> bool:
    return any(isinstance(above, cst.Import | cst.ImportFrom) for above in module.ancestors(node))


RULE = AllowedImports()

"""What a skill may import."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.allow_list import ALLOWED, HARMLESS_PARTS, REFUSED
from verifiers.conventions.model import SkillModule, dotted_text, imported_module
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Example, Profile

PROJECT = {"seed": ("skill_api",), "omni": ("skill_api", "omni")}


def refusal(name: str, profile: Profile = "seed", extra: frozenset[str] = frozenset()) -> str:
    """Why a dotted name may not be imported; "" where it may. ``extra`` adds allowed modules."""
    top = name.partition(".")[0]
    if name in HARMLESS_PARTS or any(name.startswith(part + ".") for part in HARMLESS_PARTS) or top in extra or name in extra:
        return ""
    if top in ALLOWED or top in PROJECT[profile]:
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
        "`conventions.allow_imports` in the configuration adds modules. In the `omni` profile, whose real skills use the host's "
        "packages, this only warns."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    good = (
        skill("standard library", TOUCH),
        skill("parsing a URL is no network", TOUCH, imports="from pathlib import Path\nfrom urllib.parse import quote\n\n"),
    )
    bad = (
        skill("network", TOUCH, imports="import socket\nfrom pathlib import Path\n\n"),
        skill("network, inside the function", "import urllib.request\n" + TOUCH),
        skill("native code", TOUCH, imports="from ctypes import CDLL\nfrom pathlib import Path\n\n"),
        skill("another package", TOUCH, imports="from pathlib import Path\n\nimport requests\n\n"),
        skill("import by a call", '__import__("socket")\n' + TOUCH),
        Example("a relative import", "from . import other\n"),
    )

    def __init__(self, extra: frozenset[str] = frozenset()) -> None:
        self.extra = extra
        """Modules that the configuration allows besides."""

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node, name in self._names(module):
            if why := refusal(name, module.profile, self.extra):
                yield Violation(node, f"import of {name}: {why}")

    @staticmethod
    def _names(module: SkillModule) -> Iterator[tuple[cst.CSTNode, str]]:
        for node in module.nodes:
            if isinstance(node, cst.Import):
                yield from ((node, dotted_text(item.name)) for item in node.names)
            elif isinstance(node, cst.ImportFrom):
                source = imported_module(node)
                if isinstance(node.names, cst.ImportStar):
                    yield node, f"{source}.*"
                else:
                    parts = [f"{source}.{dotted_text(item.name)}" for item in node.names]
                    yield from (
                        (node, part if part in HARMLESS_PARTS or source in HARMLESS_PARTS else source) for part in parts[:1]
                    )
            elif isinstance(node, cst.Call) and module.dotted(node.func) in ("__import__", "builtins.__import__"):
                yield node, "whatever __import__ is given" if not node.args else f"importlib.{module.code(node.args[0].value)}"


RULE = AllowedImports()

"""A skill asks the world each time: what it read once may not be so at the next call in the same process."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import Rule, Violation, skill

CACHES = frozenset({"functools.cache", "functools.lru_cache"})
READING = frozenset({
    "open", "read", "read_text", "read_bytes", "readlines", "iterdir", "glob", "rglob", "iglob", "walk", "scandir", "listdir",
    "stat", "lstat", "exists", "lexists", "is_file", "is_dir", "is_symlink", "isfile", "isdir", "islink", "getsize", "readlink",
    "run", "check_output", "getenv", "get_terminal_size", "cwd", "getcwd", "resolve", "realpath", "namelist", "execute",
})  # fmt: skip
"""Names of functions and methods whose answer is another one when a file is another one."""
_IMPORTS = "from functools import cache\nfrom pathlib import Path\n\n"
_HELPER = "@cache\ndef _ask(name: str) -> str:\n    return {}\n\n\n"


class Remembers(Rule):
    id = "conventions-remembers"
    title = "Is nothing remembered that may have changed?"
    why = (
        "A helper with `functools.cache` gives its first answer for ever. Every judged run is a process of its own, so no run "
        "shows it; a host that calls the skill twice gets the content of the first call's file, or of another workspace. "
        "What only computes may be cached."
    )
    good = (
        skill(
            "caches what it computes",
            'Path(_ask(file)).touch()\nreturn {"ok": True}',
            imports=_IMPORTS + _HELPER.format("name.strip()"),
        ),
    )
    bad = (
        skill(
            "caches what it reads",
            'Path(file).write_text(_ask(file))\nreturn {"ok": True}',
            imports=_IMPORTS + _HELPER.format("Path(name).read_text()"),
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            if isinstance(node, cst.FunctionDef) and any(_is_cache(module, d.decorator) for d in node.decorators):
                asked = [m.findall(node.body, m.Call(func=kind)) for kind in (m.Name(), m.Attribute())]
                names = {module.code(cst.ensure_type(c, cst.Call).func).rpartition(".")[2] for found in asked for c in found}
                own = {n.name.value for n in module.nodes if isinstance(n, cst.FunctionDef)}
                if found := sorted(names & (READING | own)):
                    yield Violation(node, f"{node.name.value} is cached, but {found[0]}() may answer otherwise at the next call")


def _is_cache(module: SkillModule, node: cst.BaseExpression) -> bool:
    return module.dotted(node.func if isinstance(node, cst.Call) else node) in CACHES


RULE = Remembers()

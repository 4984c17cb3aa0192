"""A skill asks the world each time: what it read once may not be so at the next call in the same process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst
import libcst.matchers as m

from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import Rule, Violation, skill
from verifiers.interface import Profile

CACHES = frozenset({"functools.cache", "functools.lru_cache"})
READING = frozenset({
    "open", "read", "read_text", "read_bytes", "readlines", "iterdir", "glob", "rglob", "iglob", "walk", "scandir", "listdir",
    "stat", "lstat", "exists", "lexists", "is_file", "is_dir", "is_symlink", "isfile", "isdir", "islink", "getsize", "readlink",
    "run", "check_output", "getenv", "get_terminal_size", "cwd", "getcwd", "resolve", "realpath", "namelist", "execute",
})  # fmt: skip
"""Names of functions and methods whose answer is another one when a file is another one."""
UNWATCHED = ("immutable=1", "nolock=1")
"""What tells SQLite that nobody else writes: what lies in its journal is not seen then."""
_IMPORTS = "from functools import cache\nfrom pathlib import Path\n\n"
_HELPER = "@cache\ndef _ask(name: str) -> str:\n    return {}\n\n\n"


class Remembers(Rule):
    id = "conventions-remembers"
    title = "Is nothing remembered that may have changed?"
    why = (
        "A helper with `functools.cache` gives its first answer for ever. Every judged run is a process of its own, so no run "
        "shows it; a host that calls the skill twice gets the content of the first call's file, or of another workspace. "
        "What only computes may be cached. (What a function changes of its module, `contained` sees.) SQLite with `immutable=1` "
        "does not look at what others wrote last."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
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
        skill(
            "a database that nobody else writes",
            'with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as db:\n'
            '    rows = db.execute("SELECT count(*) FROM x").fetchall()\nreturn {"ok": bool(rows)}',
            imports="import sqlite3\nfrom contextlib import closing\n\n",
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        sqlite = any(origin.partition(".")[0] == "sqlite3" for origin in module.imports.values())
        for node in module.nodes:
            if isinstance(node, cst.FunctionDef) and any(_is_cache(module, d.decorator) for d in node.decorators):
                asked = [m.findall(node.body, m.Call(func=kind)) for kind in (m.Name(), m.Attribute())]
                names = {module.code(cst.ensure_type(c, cst.Call).func).rpartition(".")[2] for found in asked for c in found}
                functions = {n.name.value for n in module.nodes if isinstance(n, cst.FunctionDef)}
                if found := sorted(names & (READING | functions)):
                    yield Violation(node, f"{node.name.value} is cached, but {found[0]}() may answer otherwise at the next call")
            if sqlite and isinstance(node, cst.SimpleString | cst.FormattedStringText):
                for option in (x for x in UNWATCHED if x in node.value):
                    yield Violation(node, f"{option} does not look at what others wrote last")


def _is_cache(module: SkillModule, node: cst.BaseExpression) -> bool:
    return module.dotted(node.func if isinstance(node, cst.Call) else node) in CACHES


RULE = Remembers()

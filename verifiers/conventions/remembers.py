"""A skill asks the world each time: what it read once may not be so at the next call in the same process."""

from __future__ import annotations

import ast
import textwrap
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
CHANGING = frozenset({
    "append", "appendleft", "add", "setdefault", "update", "pop", "popleft", "popitem", "extend", "insert", "clear", "remove",
    "discard", "sort", "reverse",
})  # fmt: skip
"""Methods by which a collection becomes another one."""
ITERATORS = frozenset({"iter", "map", "filter", "zip", "enumerate", "reversed", "open"})
"""Calls that give what can be gone through once."""
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
        "What only computes may be cached. Nor does a function change what belongs to its module (a list, a dictionary, an "
        "iterator, a `global`): the next call finds it. SQLite with `immutable=1` does not look at what others wrote last."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    good = (
        skill(
            "caches what it computes",
            'Path(_ask(file)).touch()\nreturn {"ok": True}',
            imports=_IMPORTS + _HELPER.format("name.strip()"),
        ),
        skill(
            "a list of its own of the same name",
            'SEEN, _ = [file], 0\nSEEN.append(_ALL[0])\nPath(SEEN.pop()).touch()\nreturn {"ok": True}',
            imports='from pathlib import Path\n\n_ALL = ["a"]\nSEEN: list[str] = []\n\n\n',
        ),
    )
    bad = (
        skill(
            "caches what it reads",
            'Path(file).write_text(_ask(file))\nreturn {"ok": True}',
            imports=_IMPORTS + _HELPER.format("Path(name).read_text()"),
        ),
        skill(
            "a dictionary of its module",
            'Path(file).write_text(_TEXTS.setdefault(file, Path(file).read_text()))\nreturn {"ok": True}',
            imports="from pathlib import Path\n\n_TEXTS: dict[str, str] = {}\n\n\n",
        ),
        skill(
            "an iterator that ends with the first call",
            'for name in _NAMES:\n    Path(file, name).touch()\nreturn {"ok": True}',
            imports='from pathlib import Path\n\n_NAMES = iter(["a", "b"])\n\n\n',
        ),
        skill(
            "a database that nobody else writes",
            'with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as db:\n'
            '    rows = db.execute("SELECT count(*) FROM x").fetchall()\nreturn {"ok": bool(rows)}',
            imports="import sqlite3\nfrom contextlib import closing\n\n",
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        own = _of_the_module(module)
        sqlite = any(origin.partition(".")[0] == "sqlite3" for origin in module.imports.values())
        for node in module.nodes:
            if isinstance(node, cst.FunctionDef) and any(_is_cache(module, d.decorator) for d in node.decorators):
                asked = [m.findall(node.body, m.Call(func=kind)) for kind in (m.Name(), m.Attribute())]
                names = {module.code(cst.ensure_type(c, cst.Call).func).rpartition(".")[2] for found in asked for c in found}
                functions = {n.name.value for n in module.nodes if isinstance(n, cst.FunctionDef)}
                if found := sorted(names & (READING | functions)):
                    yield Violation(node, f"{node.name.value} is cached, but {found[0]}() may answer otherwise at the next call")
            if isinstance(node, cst.FunctionDef):
                for name in sorted(_changed(node) & own - _local(module, node)):
                    yield Violation(node, f"{node.name.value} changes {name} of its module, which the next call finds so")
            if isinstance(node, cst.Assign | cst.AnnAssign) and module.function_of(node) is None and _ends(module, node.value):
                yield Violation(node, "an iterator of the module is at its end after the first call")
            if isinstance(node, cst.Global):
                yield Violation(node, f"{node.names[0].name.value} of the module is what the last call made it")
            if sqlite and isinstance(node, cst.SimpleString | cst.FormattedStringText):
                for option in (x for x in UNWATCHED if x in node.value):
                    yield Violation(node, f"{option} does not look at what others wrote last")


def _is_cache(module: SkillModule, node: cst.BaseExpression) -> bool:
    return module.dotted(node.func if isinstance(node, cst.Call) else node) in CACHES


def _ends(module: SkillModule, value: cst.BaseExpression | None) -> bool:
    called = module.dotted(value.func) if isinstance(value, cst.Call) else ""
    return isinstance(value, cst.GeneratorExp) or called in ITERATORS or called.startswith("itertools.")


def _of_the_module(module: SkillModule) -> set[str]:
    """Names that statements of the module's own level give a value."""
    lines = [x for row in module.tree.body if isinstance(row, cst.SimpleStatementLine) for x in row.body]
    given = [t.target for x in lines if isinstance(x, cst.Assign) for t in x.targets]
    given += [x.target for x in lines if isinstance(x, cst.AnnAssign)]
    classes = [row.name for row in module.tree.body if isinstance(row, cst.ClassDef | cst.FunctionDef)]
    return {t.value for t in (*given, *classes) if isinstance(t, cst.Name)}


def _local(module: SkillModule, function: cst.FunctionDef) -> set[str]:
    """Names that a function has for itself: its parameters, and whatever it gives a value."""
    (made,) = ast.parse(textwrap.dedent(module.code(function))).body
    return {n.id for n in ast.walk(made) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} | {
        n.arg for n in ast.walk(made) if isinstance(n, ast.arg)
    }


def _changed(function: cst.FunctionDef) -> set[str]:
    """Names of what a function changes in place: by a method, an item, an attribute, or by taking from an iterator."""
    found: set[str] = set()
    for node in m.findall(function.body, m.Call() | m.AssignTarget() | m.AugAssign() | m.AnnAssign() | m.Del()):
        if isinstance(node, cst.Call):
            takes = isinstance(node.func, cst.Name) and node.func.value == "next" and bool(node.args)
            if takes:
                found.add(_head(node.args[0].value))
            elif isinstance(node.func, cst.Attribute) and node.func.attr.value in CHANGING:
                found.add(_head(node.func.value))
        elif isinstance(target := getattr(node, "target", None), cst.Subscript | cst.Attribute):
            found.add(_head(target))
    return found


def _head(node: cst.CSTNode) -> str:
    """``a`` of ``a.b[c].d``."""
    while isinstance(node, cst.Subscript | cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


RULE = Remembers()

"""Which variables of a skill reach a call that acts: as what it is given, or in the condition under which it is made."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verifiers.source.harmless import Harmless
from verifiers.source.names import Names
from verifiers.source.parsing import expression

_NAMES = {name: program for program in ("awk", "sed", "grep", "tar", "find") for name in (program, f"g{program}")} | {
    "mawk": "awk"
}
"""One program's names on different machines."""
_SAME_METHODS = frozenset({"resolve", "absolute", "expanduser", "copy", "encode", "decode", "as_posix"})
_SAME_FUNCTIONS = frozenset({"str", "bytes", "list", "tuple", "dict", "iter"})
_WHOLE = ("utf-8", "utf8", "strict", "surrogateescape")
"""Encodings and error handlers that lose nothing."""
_SAME_IMPORTED = frozenset({
    "pathlib.Path", "pathlib.PurePath", "os.path.realpath", "os.path.abspath", "os.path.normpath", "os.fspath", "os.fsencode",
    "os.fsdecode", "os.path.expanduser",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Feeding:
    """Names by what they are used for; one set for the whole file, so that nothing is missed."""

    names: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    """Variables that hold what some call that acts gave: a change of it may be a change of the world."""

    @classmethod
    def of(cls, tree: ast.Module, harmless: Harmless, acts: Callable[[ast.stmt], bool], claiming: frozenset[str]) -> Feeding:
        """The names of one file that reach a call which acts."""
        found = {n for call in harmless.calls(tree) for n in loaded(call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.If | ast.While) and _has_action(node, acts):
                found |= loaded(node.test)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name not in claiming:
                found |= {n for r in ast.walk(node) if isinstance(r, ast.Return) and r.value for n in loaded(r.value)}
        steps = [step for node in ast.walk(tree) for step in _steps(node)]
        while True:
            more = {n for to, source in steps if to & found for n in source} - found
            if not more:
                break
            found |= more
        foreign = {n for node in ast.walk(tree) for n in assigned(node) if any(harmless.acts(v) for v in _values(node))}
        return cls(frozenset(found), frozenset(foreign))


def loaded(node: ast.AST) -> set[str]:
    """Variables that an expression reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def assigned(node: ast.AST) -> set[str]:
    """Variables that a statement (or part of one) gives a value or changes, without its suites."""
    if isinstance(node, ast.Assign | ast.Delete):
        return {n for t in node.targets for n in _roots(t)}
    if isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr | ast.For | ast.AsyncFor | ast.comprehension):
        return _roots(node.target)
    if isinstance(node, ast.With | ast.AsyncWith):
        return {n for i in node.items if i.optional_vars for n in _roots(i.optional_vars)}
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return _roots(call.func.value)
    return set()


def same_thing(value: ast.expr, names: Names) -> str:
    """The variable of which an expression is only another spelling (an absolute path, a copy, its bytes), or the program that it
    names in one way or another; "" for none."""
    if isinstance(value, ast.Call) and names.dotted(value.func) == "shutil.which" and len(value.args) == 1:
        return program(value.args[0])
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.IfExp):
        one, other = same_thing(value.body, names), same_thing(value.orelse, names)
        return one if one == other else ""
    if not isinstance(value, ast.Call):
        return ""
    func = value.func
    if isinstance(func, ast.Attribute) and func.attr in _SAME_METHODS - names.attributes and not names.dotted(func):
        given = [*value.args, *(k.value for k in value.keywords)] if func.attr in ("encode", "decode") else []
        whole = all(isinstance(a, ast.Constant) and str(a.value).lower() in _WHOLE for a in given)
        return same_thing(func.value, names) if whole else ""
    plain = isinstance(func, ast.Name) and func.id in _SAME_FUNCTIONS - names.own
    if (plain or names.dotted(func) in _SAME_IMPORTED) and len(value.args) == 1 and not value.keywords:
        return same_thing(value.args[0], names)
    return ""


def is_empty(value: ast.expr) -> bool:
    """Whether an expression is a constant that holds nothing: ``[]``, ``[[]]``, ``{}``, ``None``. Not ``""``: behind a folder
    that is the folder itself."""
    if isinstance(value, ast.List | ast.Tuple):
        return all(map(is_empty, value.elts))
    return (isinstance(value, ast.Dict) and not value.keys) or (isinstance(value, ast.Constant) and value.value is None)


def taken_apart(value: ast.expr, whole: ast.expr) -> bool:
    """Whether an expression is made of the items of a variable: of none of them comes nothing."""
    if not isinstance(whole, ast.Name):
        return False
    parts = [n.value for n in ast.walk(value) if isinstance(n, ast.Subscript)]
    parts += [n.iter for n in ast.walk(value) if isinstance(n, ast.comprehension)]
    return any(isinstance(p, ast.Name) and p.id == whole.id for p in parts)


def refused_next(node: ast.stmt, suite: Sequence[ast.stmt]) -> frozenset[int]:
    """The ``id`` of each ``None`` in ``x = None if a else b`` where the next statement raises if ``x`` is None: it says no, and
    nothing else can come of it."""
    at = next((n for n, s in enumerate(suite) if s is node), len(suite))
    test = suite[at + 1] if at + 1 < len(suite) else None
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    names = [n.id for n in _targets(node) if isinstance(n, ast.Name)]
    if not isinstance(value, ast.IfExp) or not isinstance(test, ast.If) or not all(isinstance(s, ast.Raise) for s in test.body):
        return frozenset()
    asked = {ast.dump(expression(text)) for n in names for text in (f"{n} is None", f"not {n}")}
    arms = (value.body, value.orelse) if ast.dump(test.test) in asked else ()
    return frozenset(id(arm) for arm in arms if isinstance(arm, ast.Constant) and arm.value is None)


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets if len(node.targets) == 1 else []
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def program(value: ast.expr) -> str:
    """``program awk`` of ``"gawk"``: which of a program's names there is, is the machine's matter; "" for any other value."""
    name = str(value.value) if isinstance(value, ast.Constant) else ""
    return f"program {_NAMES[name]}" if name in _NAMES else ""


def _roots(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _values(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign | ast.NamedExpr):
        return [node.value]
    if isinstance(node, ast.AnnAssign):
        return [node.value] if node.value is not None else []
    return [i.context_expr for i in node.items] if isinstance(node, ast.With | ast.AsyncWith) else []


def _steps(node: ast.AST) -> list[tuple[set[str], set[str]]]:
    """(variables that get something, variables that it comes from)."""
    to = assigned(node)
    if not to:
        return []
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return [(to, loaded(node.iter))]
    if isinstance(node, ast.With | ast.AsyncWith):
        return [(to, {n for i in node.items for n in loaded(i.context_expr)})]
    return [(to, loaded(node))]


def _has_action(node: ast.If | ast.While, acts: Callable[[ast.stmt], bool]) -> bool:
    return any(isinstance(n, ast.stmt) and n is not node and acts(n) for n in ast.walk(node))

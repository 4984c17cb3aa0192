"""A second look at what a linter says: whether the place can really go wrong. Pure; says no when in doubt."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping

from verifiers.source.parsing import parsed

_LOOKING = frozenset({
    "isinstance", "issubclass", "len", "all", "any", "callable", "set", "sorted", "list", "tuple", "dict", "type", "min", "max",
    "sum", "abs", "str", "int", "bool", "hasattr", "frozenset", "range", "zip", "enumerate",
    "exists", "is_file", "is_dir", "is_symlink", "is_absolute", "startswith", "endswith", "isdigit", "isalpha", "isalnum",
    "isidentifier", "keys", "values", "items", "get", "count", "index", "strip", "lower", "upper", "split", "splitlines",
    "isdisjoint", "issubset", "issuperset", "match", "fullmatch", "search", "isfinite", "isclose", "is_relative_to",
    "Path", "PurePath", "PurePosixPath", "Counter", "Decimal",
})  # fmt: skip
"""Calls that change nothing."""


def note(code: str, source: str, line: int) -> str:
    """Why a finding of this code on this line is no more than a note; "" where it stands."""
    judge = _JUDGES.get(code)
    if judge is None:
        return ""
    tree = parsed(source)
    places = [n for n in ast.walk(tree) if getattr(n, "lineno", 0) == line]
    return judge(tree, places)


def _assertion(tree: ast.Module, places: list[ast.AST]) -> str:
    """An invariant that is only looked at may be left out by ``python -O``: nothing else happens then."""
    found = [n for n in places if isinstance(n, ast.Assert)]
    if not found or any(_acts(part) for n in found for part in ast.walk(n.test)):
        return ""
    return "an invariant; `python -O` leaves it out, and nothing else changes"


def _acts(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return _name(node) not in _LOOKING
    return isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _sql(_tree: ast.Module, _places: list[ast.AST]) -> str:
    """Whether a value can leave its place in a statement is tried with values that would (check ``generalises``)."""
    return "values with quotes in them are tried instead of it"


def _unused(tree: ast.Module, places: list[ast.AST]) -> str:
    """Something of the interface or of the standard library, whose loading does nothing. What else may be there, nobody knows."""
    known: list[ast.Import | ast.ImportFrom] = [
        n for n in ast.walk(tree) if isinstance(n, ast.Import) and all(_is_known(part.name) for part in n.names)
    ]
    known += [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level and _is_known(n.module or "")]
    found = {id(part) for n in known for part in (n, *n.names)}
    return "nothing uses it, and loading it does nothing" if any(id(p) in found for p in places) else ""


def _is_known(module: str) -> bool:
    return module == "skill_api" or module.partition(".")[0] in sys.stdlib_module_names


_AT_ONCE = frozenset({"sub", "subn", "sorted", "sort", "min", "max", "reduce", "bisect", "bisect_left", "bisect_right"})
"""Calls that have called what they are given before they return."""


def _called_at_once(tree: ast.Module, places: list[ast.AST]) -> str:
    """A function without a name that is given to a call which is done with it before the loop goes on."""
    line = getattr(places[0], "lineno", 0) if places else 0
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _name(n) in _AT_ONCE]
    given = [part for call in calls for part in (*call.args, *(k.value for k in call.keywords))]
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.For | ast.AsyncFor | ast.While)]
    made = [n for loop in loops for n in ast.walk(loop) if isinstance(n, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef)]
    here = [n for n in made if n.lineno <= line <= (n.end_lineno or n.lineno)]
    return "it is called before the loop goes on" if here and all(n in given for n in here) else ""


_JUDGES: Mapping[str, Callable[[ast.Module, list[ast.AST]], str]] = {
    "S101": _assertion, "S608": _sql, "F401": _unused, "B023": _called_at_once,
}  # fmt: skip

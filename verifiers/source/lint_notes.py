"""A second look at what a linter says: whether the place can really go wrong. Pure; says no when in doubt."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping

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


def _sql(tree: ast.Module, places: list[ast.AST]) -> str:
    """SQL whose every inserted part is written here, a number, a placeholder, or a name with its quotes doubled."""
    texts = [n for n in places if isinstance(n, ast.JoinedStr | ast.BinOp) or _is_format(n)]
    held = _Held(tree)
    inner = {id(n) for t in texts for n in ast.walk(t) if n is not t}
    texts = [t for t in texts if id(t) not in inner]
    if not texts or not all(held.safe(t) for t in texts if isinstance(t, ast.expr)):
        return ""
    return "what is inserted is written here, a placeholder, or a name with its quotes doubled"


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
_DEPTH = 8


def _is_format(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format"


class _Held:
    """What the names of a file may hold."""

    def __init__(self, tree: ast.Module) -> None:
        self._values: dict[str, list[ast.expr | None]] = {}
        self._functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        for node in ast.walk(tree):
            for name, value in _bound(node):
                self._values.setdefault(name, []).append(value)

    def safe(self, node: ast.expr | None, depth: int = 0) -> bool:
        """Whether a text in SQL can be nothing but what the author meant."""
        if node is None or depth > _DEPTH:
            return False

        def same(inner: ast.expr | None) -> bool:
            return self.safe(inner, depth + 1)

        match node:
            case ast.Constant() | ast.FormattedValue(value=ast.Constant()):
                return True
            case ast.JoinedStr(values=values):
                return all(self._part(values, i, depth) for i in range(len(values)))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return same(left) or same(right)
            case ast.BinOp(op=ast.Add()):
                terms = _terms(node)
                return all(self._part(terms, i, depth) for i in range(len(terms)))
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return same(left) and same(right)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return all(same(i) for i in items)
            case ast.Dict(values=values):
                return all(same(v) for v in values)
            case ast.IfExp(body=body, orelse=other):
                return same(body) and same(other)
            case ast.GeneratorExp(elt=item) | ast.ListComp(elt=item) | ast.Starred(value=item) | ast.Subscript(value=item):
                return same(item)
            case ast.Name(id=name):
                given = self._values.get(name, [])
                return bool(given) and all(same(v) for v in given)
            case ast.Call():
                return self._call(node, depth)
        return False

    def _call(self, node: ast.Call, depth: int) -> bool:
        name = _name(node)
        if isinstance(node.func, ast.Name) and name in ("int", "len", "float"):
            return True
        if isinstance(node.func, ast.Name) and name in self._functions:
            returned = [n.value for n in ast.walk(self._functions[name]) if isinstance(n, ast.Return)]
            return bool(returned) and all(self.safe(value, depth + 1) for value in returned)
        if isinstance(node.func, ast.Attribute) and name in ("join", "format", "strip", "upper", "lower"):
            given = [*node.args, *(k.value for k in node.keywords)]
            return all(self.safe(part, depth + 1) for part in [node.func.value, *given])
        return False

    def _part(self, parts: list[ast.expr], at: int, depth: int) -> bool:
        """One part of a text: safe itself, or escaped and between the quotes that it was escaped for."""
        part = parts[at]
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        quote = self._quote(inner)
        if quote:
            before, after = (_text(parts[i]) if 0 <= i < len(parts) else "" for i in (at - 1, at + 1))
            return before.endswith(quote) and after.startswith(quote)
        return self.safe(inner, depth + 1)

    def _quote(self, node: ast.expr) -> str:
        """The quote that a value was doubled for, wherever that happened."""
        if isinstance(node, ast.Name):
            quotes = {_escaped_for(v) if v is not None else "" for v in self._values.get(node.id, [])}
            return quotes.pop() if len(quotes) == 1 else ""
        return _escaped_for(node)


def _escaped_for(node: ast.expr) -> str:
    """The quote that a value was doubled for: ``x.replace('"', '""')``."""
    match node:
        case ast.Call(func=ast.Attribute(attr="replace"), args=[ast.Constant(value=str() as one), ast.Constant(value=two)]):
            return one if one in ('"', "'", "`") and two == one * 2 else ""
    return ""


def _terms(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _bound(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names that a node gives a value; None where nobody can say which."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            simple = isinstance(target, ast.Name)
            yield from ((n.id, node.value if simple else None) for n in ast.walk(target) if isinstance(n, ast.Name))
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        simple = isinstance(node.target, ast.Name)
        yield from ((n.id, node.iter if simple else None) for n in ast.walk(node.target) if isinstance(n, ast.Name))
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.arg):
        yield node.arg, None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        if node.func.attr in ("append", "add", "extend", "update", "insert", "setdefault"):
            yield from ((node.func.value.id, part) for part in [*node.args, *(k.value for k in node.keywords)])
    elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
        yield node.optional_vars.id, None

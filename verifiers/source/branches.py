"""Expressions that may not run although their statement does, and that nobody can vouch for: for the check ``exercised``.

``a and f()``, ``f() if a else b``, a lambda, the elements of a comprehension and a function handed to ``map`` hide a branch
inside one line. Where such a branch acts, or decides what an action is given, ``watched`` gives a copy in which evaluating it
also runs a line of its own at the end of the file, so that line events show it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from verifiers.source.feeding import assigned, is_empty, program, refused_next, same_thing, taken_apart
from verifiers.source.kinds import TELLING, Kind, Kinds, kinds
from verifiers.source.parsing import expression, parsed
from verifiers.source.places import Place, placed
from verifiers.source.statements import Statement, spread, stands_for_none

_HANDED = ("map", "filter", "starmap", "reduce", "takewhile", "dropwhile", "filterfalse", "accumulate", "partial")
_CALLBACKS = ("key", "default", "onerror", "onexc", "default_factory", "copy_function", "ignore", "filter")
_ACTING_METHODS = frozenset({
    "unlink", "write_text", "write_bytes", "rename", "replace", "rmdir", "mkdir", "touch", "chmod", "symlink_to",
    "hardlink_to", "write", "writelines", "extractall", "extract", "truncate", "open",
})  # fmt: skip
_SEEN = """def _seen_{n}(f):
    if f.__class__.__name__ in ('function', 'builtin_function_or_method', 'method', 'partial', 'method_descriptor', 'type'):
        def call(*args, **words):
            _seen_{n}(None)
            return f(*args, **words)
        return call
    return f
"""
"""What is called in a hidden branch (with None), or wraps a function that is handed on. Its last line shows that it ran."""
_LINES = _SEEN.count("\n")


@dataclass(frozen=True, slots=True)
class Watched:
    """A copy of a skill to trace: one statement a line, and one line a hidden branch."""

    source: str
    statements: tuple[Statement, ...]
    """Those of the file, then the hidden branches; ``first_line`` is where the copy shows that it ran."""


@dataclass(frozen=True, slots=True)
class _Hidden:
    node: ast.expr
    kind: Kind
    condition: str


def watched(source: str) -> Watched:
    """The copy of a skill in which every statement and every hidden branch that may act shows as a line."""
    copy = spread(source)
    try:
        tree = parsed(copy.source)
    except SyntaxError:
        return Watched(copy.source, copy.statements)
    around = {s.first_line: s for s in copy.statements}
    marker = _Marker(kinds(tree), {id(p.node): p for p in placed(tree)})
    tree = marker.visit(tree)
    if not marker.found:
        return Watched(copy.source, copy.statements)
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    if text.count("\n") != copy.source.count("\n"):
        raise ValueError("a copy with marks must keep its lines")
    first = text.count("\n") + _LINES  # the last line of the first mark
    hidden = [_statement(h, first + _LINES * n, around) for n, h in enumerate(marker.found)]
    marks = "".join(_SEEN.format(n=n) for n in range(len(marker.found)))
    return Watched(text + marks, (*copy.statements, *hidden))


def _statement(hidden: _Hidden, line: int, around: dict[int, Statement]) -> Statement:
    outer = around.get(hidden.node.lineno)
    text = f"{ast.unparse(hidden.node)[:100]} (a branch of an expression{hidden.condition})"
    where, conditions = (outer.line, outer.conditions) if outer else (hidden.node.lineno, ())
    return Statement(line, line, text, hidden.kind, where, conditions, stands_for_none(hidden.node))


class _Marker(ast.NodeTransformer):
    """Wraps each hidden branch in ``[_seen_N(None), branch][1]``, each function handed on in ``_seen_N(function)``. Of what runs
    when the file is loaded, only the bodies of lambdas are of interest."""

    def __init__(self, judge: Kinds, places: dict[int, Place]) -> None:
        self.found: list[_Hidden] = []
        self._judge = judge
        self._places = places
        self._matters = False
        """Whether what the statement computes reaches an action."""
        self._refused: frozenset[int] = frozenset()
        self._depth = 0

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.stmt):
            return super().visit(node)
        before = self._matters
        place = self._places.get(id(node))
        self._refused |= refused_next(node, place.suite) if place else frozenset()
        kind = self._judge.of(node, place.function, place.suite) if place else "computes"
        used = isinstance(node, ast.For | ast.Return) or bool(assigned(node) & self._judge.feeding.names)
        self._matters = kind == "acts" or (used and kind not in ("raises", "claims"))
        out = super().visit(node)
        self._matters = before
        return out

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._inside(node)

    def _inside(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.args = self.visit(node.args)
        self._depth += 1
        node.body = [self.visit(s) for s in node.body]
        self._depth -= 1
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._tested(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._tested(node)

    def _tested(self, node: ast.If | ast.While) -> ast.AST:
        node.test = self._quietly(node.test)
        node.body = [self.visit(s) for s in node.body]
        node.orelse = [self.visit(s) for s in node.orelse]
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.test, node.msg = self._quietly(node.test), self._mark(node.msg, "", acts=True) if node.msg else None
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.type and not _is_class(node.type):
            node.type = self._mark(node.type, "", acts=True)
        node.body = [self.visit(s) for s in node.body]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.guard = self._mark(node.guard, "", acts=True) if node.guard else None
        node.body = [self.visit(s) for s in node.body]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        first, *rest = node.values
        other = "" if isinstance(node.op, ast.And) else "not "
        same = same_thing(first, self._judge.harmless.names)
        nothing = isinstance(node.op, ast.Or) and is_empty(rest[-1])  # in the place of what holds nothing
        marked = [self._mark(v, f", if {other}`{ast.unparse(first)}`", same) for v in (rest[:-1] if nothing else rest)]
        marked += rest[-1:] if nothing else []
        node.values = [self._taken(first) if isinstance(node.op, ast.Or) else self.visit(first), *marked]
        return node

    def _taken(self, first: ast.expr) -> ast.expr:
        """What stands before ``or`` where it is the value: a line of its own runs if it holds something."""
        shown = _Hidden(_plain(first), "decides", ", if it holds something")
        inner: ast.expr = self.visit(first)
        if not self._matters or not self._depth or not isinstance(first, ast.Call):
            return inner
        self.found.append(shown)
        seen = expression(f"lambda held: held and [_seen_{len(self.found) - 1}(None), held][1]")
        return ast.copy_location(ast.Call(seen, [inner], []), first)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        first, *rest = node.comparators
        node.left, node.comparators = self.visit(node.left), [self.visit(first), *(self._mark(c, "", acts=True) for c in rest)]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        text = ast.unparse(node.test)
        one, other = (same_thing(v, self._judge.harmless.names) for v in (node.body, node.orelse))
        node.test = self._quietly(node.test)
        nothing = id(node.orelse) in self._refused or (is_empty(node.orelse) and taken_apart(node.body, node.test))
        node.body = node.body if id(node.body) in self._refused else self._mark(node.body, f", if `{text}`", other)
        node.orelse = node.orelse if nothing else self._mark(node.orelse, f", if not `{text}`", one)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._depth += 1
        node.body = self._mark(node.body, "")
        self._depth -= 1
        return node

    def _generators(self, found: list[ast.comprehension]) -> None:
        """Only the first iterable is always looked at."""
        for n, one in enumerate(found):
            one.iter = self._mark(one.iter, "", acts=True) if n else self.visit(one.iter)
            one.ifs = [self._mark(i, "", acts=True) for i in one.ifs]

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._elements(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._elements(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._elements(node)

    def _elements(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ast.AST:
        self._generators(node.generators)
        node.elt = self._mark(node.elt, "", acts=True)
        return node

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        self._generators(node.generators)
        node.key, node.value = self._mark(node.key, "", acts=True), self._mark(node.value, "", acts=True)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("isinstance", "issubclass", "cast") and isinstance(node.func, ast.Name):
            node.args = [a if _is_class(a) else self.visit(a) for a in node.args]
            return node
        if not isinstance(node.func, ast.Attribute | ast.Name):
            node.func = self.visit(node.func)
        elif isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
            node.func.value = self.visit(node.func.value)
        handed = name in _HANDED and bool(node.args) and not isinstance(node.args[0], ast.Lambda)
        node.args = [self._hand(a) if handed and i == 0 else self.visit(a) for i, a in enumerate(node.args)]
        for k in node.keywords:
            callback = k.arg in _CALLBACKS and not isinstance(k.value, ast.Lambda)
            k.value = self._hand(k.value) if callback else self.visit(k.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        names = self._judge.harmless.names
        own = isinstance(node.ctx, ast.Load) and node.id in names.functions & self._judge.harmless.acting
        taken = isinstance(node.ctx, ast.Load) and "." in names.dotted(node) and _may_act(node.id)
        return self._hand(node) if own or taken else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        named = self._judge.harmless.names.dotted(node) and _may_act(node.attr)
        acting = node.attr in _ACTING_METHODS or named
        if isinstance(node.ctx, ast.Load) and acting and self._depth:
            return self._hand(node)
        node.value = node.value if isinstance(node.value, ast.Name) else self.visit(node.value)
        return node

    def _quietly(self, node: ast.expr) -> ast.expr:
        """A test: of what it is made of, only what acts is of interest."""
        before, self._matters = self._matters, False
        out: ast.expr = self.visit(node)
        self._matters = before
        return out

    def _hand(self, node: ast.expr) -> ast.expr:
        """A function that is not called here, but perhaps by whoever gets it."""
        if self._judge.harmless.harmless_function(node) or not self._depth:
            return node
        shown = _Hidden(node, "acts", "")
        self.found.append(shown)
        return ast.copy_location(ast.Call(ast.Name(f"_seen_{len(self.found) - 1}", ast.Load()), [node], []), node)

    def _mark(self, node: ast.expr, condition: str, same: str = "", *, acts: bool = False) -> ast.expr:
        """Shows whether a branch runs, if it acts or (unless only ``acts`` is of interest) decides what an action gets."""
        kind: Kind = "acts" if self._judge.harmless.acts(node) else "computes"
        if kind == "computes" and self._matters and not acts:
            # A program's plain name is the same as the one that was looked for, and as nothing else.
            alike = same in (same_thing(node, self._judge.harmless.names), program(node))
            kind = "computes" if same and alike else "decides"
        shown = _Hidden(_plain(node), kind, condition)
        inner: ast.expr = self.visit(node)
        if kind not in TELLING or not self._depth:
            return inner
        self.found.append(shown)
        seen = ast.Call(ast.Name(f"_seen_{len(self.found) - 1}", ast.Load()), [ast.Constant(None)], [])
        return ast.copy_location(ast.Subscript(ast.List([seen, inner], ast.Load()), ast.Constant(1), ast.Load()), node)


def _may_act(name: str) -> bool:
    """Whether what is imported by this name may act when it is called: not an exception, nor a constant."""
    return not name.isupper() and not name.endswith(("Error", "Exception"))


def _is_class(node: ast.expr) -> bool:
    """Whether an expression can only name classes: a name, or several."""
    if isinstance(node, ast.Tuple):
        return all(_is_class(e) for e in node.elts)
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_class(node.value))


def _plain(node: ast.expr) -> ast.expr:
    """A copy that later marks inside it leave as it is."""
    return ast.copy_location(expression(ast.unparse(node)), node)

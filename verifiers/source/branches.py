"""Expressions that may not run although their statement does, and that could do harm: for the check ``exercised``.

``a and f()``, ``f() if a else b``, a lambda and the elements of a comprehension hide a branch inside one line. Where such a
branch calls anything but harmless functions, ``watched`` gives a copy in which evaluating it also runs a line of its own at the
end of the file, so that line events show it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from verifiers.source.statements import Statement, own_names, spread

_PURE = frozenset(
    {
        "str",
        "repr",
        "len",
        "int",
        "float",
        "bool",
        "sorted",
        "list",
        "tuple",
        "set",
        "frozenset",
        "dict",
        "min",
        "max",
        "sum",
        "abs",
        "round",
        "range",
        "enumerate",
        "zip",
        "reversed",
        "isinstance",
        "ord",
        "chr",
        "any",
        "all",
        "bytes",
        "format",
    }
)
_PURE_METHODS = frozenset(
    {
        "join",
        "format",
        "decode",
        "encode",
        "strip",
        "rstrip",
        "lstrip",
        "splitlines",
        "split",
        "rsplit",
        "partition",
        "rpartition",
        "lower",
        "upper",
        "title",
        "startswith",
        "endswith",
        "replace",
        "count",
        "find",
        "get",
        "items",
        "keys",
        "values",
        "isdigit",
        "isalnum",
        "zfill",
        "ljust",
        "rjust",
        "dumps",
        "loads",
        "match",
        "search",
        "fullmatch",
        "group",
        "groups",
        "sub",
        "escape",
        "findall",
        "as_posix",
        "relative_to",
        "with_suffix",
        "with_name",
        "is_file",
        "is_dir",
        "is_symlink",
        "exists",
        "stat",
        "lstat",
        "read_text",
        "read_bytes",
        "index",
        "copy",
        "casefold",
        "expandtabs",
        "fnmatchcase",
    }
)
"""Reading and computing. Names alone do not prove it, so a skill that gives its own functions such names is watched all the
same."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A copy of a skill to trace: one statement a line, and one line a hidden branch."""

    source: str
    statements: tuple[Statement, ...]
    """Those of the file, then the hidden branches; ``first_line`` is where the copy shows that it ran."""


def watched(source: str) -> Watched:
    """The copy of a skill in which every statement and every hidden branch that may act shows as a line."""
    copy = spread(source)
    try:
        tree = ast.parse(copy.source)
    except SyntaxError:
        return Watched(copy.source, copy.statements)
    origin = {s.first_line: s.line for s in copy.statements}
    marker = _Marker(own_names(tree))
    tree = marker.visit(tree)
    if not marker.found:
        return Watched(copy.source, copy.statements)
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    if text.count("\n") != copy.source.count("\n"):
        raise ValueError("a copy with marks must keep its lines")
    first = text.count("\n") + 2  # the body's line: the ``def`` itself runs when the file is loaded
    marks = [f"def _seen_{i}():\n    return None" for i in range(len(marker.found))]
    hidden = [
        Statement(
            first + 2 * i,
            first + 2 * i,
            f"{ast.unparse(node)[:100]} (a branch of an expression)",
            line=origin.get(node.lineno, node.lineno),
        )
        for i, node in enumerate(marker.found)
    ]
    return Watched(text + "\n".join(marks) + "\n", (*copy.statements, *hidden))


class _Marker(ast.NodeTransformer):
    """Wraps each hidden branch that may act in ``[_seen_N(), branch][1]``. Inside functions only."""

    def __init__(self, own: frozenset[str]) -> None:
        self.found: list[ast.expr] = []
        self._own = own
        self._depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._inside(node)

    def _inside(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self._depth += 1
        node.body = [self.visit(s) for s in node.body]
        self._depth -= 1
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self.visit(node.values[0]), *(self._mark(v) for v in node.values[1:])]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test, node.body, node.orelse = self.visit(node.test), self._mark(node.body), self._mark(node.orelse)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self._mark(node.body)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ast.AST:
        node.generators = [self.visit(g) for g in node.generators]
        node.elt = self._mark(node.elt)
        return node

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        node.generators = [self.visit(g) for g in node.generators]
        node.key, node.value = self._mark(node.key), self._mark(node.value)
        return node

    def _mark(self, node: ast.expr) -> ast.expr:
        acts = self._depth > 0 and self._acts(node)
        inner: ast.expr = self.visit(node)
        if not acts:
            return inner
        self.found.append(node)
        seen = ast.Call(ast.Name(f"_seen_{len(self.found) - 1}", ast.Load()), [], [])
        return ast.copy_location(ast.Subscript(ast.List([seen, inner], ast.Load()), ast.Constant(1), ast.Load()), node)

    def _acts(self, node: ast.expr) -> bool:
        for n in ast.walk(node):
            if isinstance(n, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
                return True
            if isinstance(n, ast.Call):
                f = n.func
                plain = isinstance(f, ast.Name) and f.id in _PURE - self._own
                if not plain and not (isinstance(f, ast.Attribute) and f.attr in _PURE_METHODS - self._own):
                    return True
        return False

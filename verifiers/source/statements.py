"""The executable statements of a skill, for the question whether every one of them ran (check ``exercised``).

Lines are those that ``sys.settrace`` reports. Two statements on one line cannot be told apart by line events, and a
branch hidden that way is just what the question is about: ``spread`` gives a copy with one statement a line.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import CodeType

from verifiers.subject import FunctionNode, ParseProblem, parse_module, quiet, source_lines

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_HARMLESS_CALLS = frozenset({
    "str", "repr", "len", "int", "float", "bool", "sorted", "list", "tuple", "set", "dict", "type",
    "min", "max", "sum", "ascii", "format", "round", "abs", "enumerate", "range",
})  # fmt: skip
_HARMLESS_METHODS = frozenset({
    "join", "format", "decode", "encode", "strip", "rstrip", "lstrip", "splitlines", "split", "partition",
    "lower", "upper", "title", "as_posix", "hex", "items", "keys", "values", "get", "replace", "rpartition", "rsplit", "count",
    "is_file", "is_dir", "is_symlink", "exists", "lexists", "isfile", "isdir", "islink", "basename", "dirname", "relpath",
    "relative_to", "with_name", "with_suffix", "group",
})  # fmt: skip
"""Names alone do not prove it: those that the file itself defines are left out."""
_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "critical"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement inside a function. It ran if any line from ``first_line`` to ``last_line`` was reported."""

    first_line: int
    last_line: int
    """Of a compound statement: the end of its header."""
    text: str
    """Its first line, stripped."""
    only_raises: bool = False
    """Part of a body that does nothing but report failure: ``raise`` (or ``return`` of a failure) of harmless values."""
    line: int = 0
    """Where it stands in the file as written (differs from ``first_line`` in a spread copy)."""

    def ran(self, lines: frozenset[int]) -> bool:
        """Whether any of its lines is among those that ran."""
        return any(n in lines for n in range(self.first_line, self.last_line + 1))


@dataclass(frozen=True, slots=True)
class Spread:
    """A copy of a skill that behaves the same and has one statement a line."""

    source: str
    statements: tuple[Statement, ...]


def statements(source: str) -> tuple[Statement, ...]:
    """Every statement inside the functions of ``source``, in order; none for a text that does not parse.

    Left out: what never gives a line event (``pass``, docstrings, ``global``, bare annotations, code the compiler
    drops) and headers that run exactly when their body does (``try``, ``while True``).
    """
    tree = parse_module(source)
    if isinstance(tree, ParseProblem):
        return ()
    lines = source_lines(source)
    live = _live_lines(source)
    found = []
    for node, harmless in _inside_functions(tree, own_names(tree)):
        first, last = _extent(node)
        if _counts(node) and any(n in live for n in range(first, last + 1)):
            text = lines[first - 1].strip() if first <= len(lines) else ""
            found.append(Statement(first, last, text, harmless, first))
    return tuple(sorted(found, key=lambda s: (s.first_line, s.last_line)))


def spread(source: str) -> Spread:
    """The copy to run when statements are to be told apart. A text that does not parse comes back as it is."""
    tree = parse_module(source)
    if isinstance(tree, ParseProblem):
        return Spread(source, ())
    try:
        copy = ast.unparse(tree) + "\n"
    except (RecursionError, ValueError):  # ValueError: f-strings that this Python's grammar has no spelling for
        copy = ""
    again = parse_module(copy)
    if isinstance(again, ParseProblem) or not copy or ast.dump(again) != ast.dump(tree):  # unparsing did not keep it
        return Spread(source, statements(source))
    # Unparsing keeps the order of the statements, so both trees are walked side by side.
    origin = {_extent(new)[0]: _extent(old)[0] for new, old in zip(_all_statements(again), _all_statements(tree), strict=True)}
    return Spread(copy, tuple(replace(s, line=origin.get(s.first_line, s.first_line)) for s in statements(copy)))


def _all_statements(tree: ast.AST) -> list[ast.stmt]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def _live_lines(source: str) -> set[int]:
    """Lines that some instruction of the compiled file carries."""
    with quiet():
        todo = [compile(source, "<skill>", "exec", dont_inherit=True)]
    live: set[int] = set()
    while todo:
        code = todo.pop()
        live.update(line for _, line in dis.findlinestarts(code) if line)
        todo.extend(c for c in code.co_consts if isinstance(c, CodeType))
    return live


def own_names(tree: ast.AST) -> frozenset[str]:
    """Names that the file itself defines: they are not the built-in ones, nor the library's."""
    names = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    return frozenset(
        names | attributes | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    )


def _inside_functions(tree: ast.Module, own: frozenset[str]) -> Iterator[tuple[ast.stmt, bool]]:
    """(statement, whether it belongs to a body that only reports failure) of every function, nested ones too."""
    for node in _outer_functions(tree):
        yield from _of_suite(node.body, own)


def _outer_functions(node: ast.AST) -> Iterator[FunctionNode]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            yield child
        else:
            yield from _outer_functions(child)


def _of_suite(suite: list[ast.stmt], own: frozenset[str]) -> Iterator[tuple[ast.stmt, bool]]:
    harmless = _only_reports_failure(suite, own)
    for node in suite:
        yield node, harmless
        for inner in _suites(node):
            yield from _of_suite(inner, own)


def _suites(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(node, name, None)
        if isinstance(inner, list):
            yield inner
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for case in getattr(node, "cases", ()):
        yield case.body


def _counts(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass | ast.Global | ast.Nonlocal | ast.Try | ast.TryStar):
        return False
    if isinstance(node, ast.While):
        return not isinstance(node.test, ast.Constant)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return not (isinstance(node, ast.AnnAssign) and node.value is None)


def _extent(node: ast.stmt) -> tuple[int, int]:
    """First and last line of the statement itself, without its suites."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    if not any(True for _ in _suites(node)):
        return first, node.end_lineno or node.lineno
    inner = {id(s) for suite in _suites(node) for s in suite}
    skip = (ast.stmt, ast.excepthandler, ast.match_case)
    heads = [c for c in ast.iter_child_nodes(node) if id(c) not in inner and not isinstance(c, skip)]
    ends = [n.end_lineno or 0 for head in heads for n in ast.walk(head) if isinstance(n, ast.expr | ast.arg)]
    return first, max([node.lineno, *ends])


def _only_reports_failure(suite: list[ast.stmt], own: frozenset[str]) -> bool:
    """Whether a body does nothing but build harmless values and raise (or return a failure)."""
    if not suite:
        return False
    *before, last = [s for s in suite if _counts(s)] or [suite[-1]]
    if not all(_prepares_report(s, own) for s in before):
        return False
    if isinstance(last, ast.Raise):
        return _harmless_raise(last, own)
    return isinstance(last, ast.Return) and _is_failure(last.value, own)


def _prepares_report(node: ast.stmt, own: frozenset[str]) -> bool:
    """A harmless value given a name, or a line for the log."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Name) and _harmless(node.value, own)
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    func = call.func
    logs = isinstance(func, ast.Attribute) and func.attr in _LOGGING - own and isinstance(func.value, ast.Name)
    return logs and all(_harmless(a, own) for a in [*call.args, *(k.value for k in call.keywords)])


def _harmless_raise(node: ast.Raise, own: frozenset[str]) -> bool:
    exc = node.exc
    if exc is None:
        return True
    if isinstance(exc, ast.Call):
        # Called like a class: ``raise shutil.rmtree(path)`` must not pass for a report.
        name = exc.func.attr if isinstance(exc.func, ast.Attribute) else getattr(exc.func, "id", "")
        return name[:1].isupper() and all(_harmless(a, own) for a in [*exc.args, *(k.value for k in exc.keywords)])
    return _harmless(exc, own)


def _is_failure(value: ast.expr | None, own: frozenset[str]) -> bool:
    """A returned dict that says so: ``ok``/``success`` False, ``status`` "error" (DESIGN §4, failure rule)."""
    if not isinstance(value, ast.Dict) or not _harmless(value, own):
        return False
    for key, item in zip(value.keys, value.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(item, ast.Constant):
            if key.value in ("ok", "success") and item.value is False:
                return True
            if key.value == "status" and item.value == "error":
                return True
    return False


def _harmless(value: ast.expr, own: frozenset[str]) -> bool:
    """Whether evaluating it can do nothing but compute a text or number from what is there."""
    for node in ast.walk(value):
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr | ast.Lambda):
            return False
        if isinstance(node, ast.Call):
            func = node.func
            plain = isinstance(func, ast.Name) and func.id in _HARMLESS_CALLS - own
            method = isinstance(func, ast.Attribute) and func.attr in _HARMLESS_METHODS - own
            if not (plain or method):
                return False
    return True


def code_lines(source: str) -> frozenset[int]:
    """The lines of a file that can run."""
    found: set[int] = set()
    todo = [compile(source, "skill.py", "exec", dont_inherit=True)]
    while todo:
        code = todo.pop()
        found.update(line for _, _, line in code.co_lines() if line is not None)
        found.add(code.co_firstlineno)
        todo += [c for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(found)

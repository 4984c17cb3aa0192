"""Omni's first immune layer: what it refuses in a skill's text, and the same done with ``pathlib``, which it lets through.

Source: ``crates/omni-ast/src/security.rs`` (facts restated). It looks for shapes of text, so an aliased import gets past it;
nothing here makes use of that.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from verifiers.source.parsing import parsed

_IMPORTS = frozenset({"os", "subprocess", "socket", "ctypes", "threading", "multiprocessing"})
_CALLS = frozenset({"eval", "exec", "execfile", "compile", "open", "__import__"})
_BARE_CALLS = frozenset({"globals", "locals"})
_TESTS = {"exists": "exists", "isdir": "is_dir", "isfile": "is_file", "islink": "is_symlink"}
"""Of ``os.path`` -> of ``Path``."""
_KEEP = frozenset({"absolute", "joinpath", "resolve", "with_name", "with_suffix"})
"""Methods of a ``Path`` that give another."""
_NEW_FILE = "os.O_WRONLY | os.O_CREAT | os.O_EXCL"


def refused(source: str) -> list[str]:
    """What Omni will refuse a text for, each once, in words."""
    return list(dict.fromkeys(what for node in ast.walk(parsed(source)) for what in _refused(node)))


def refused_modules(source: str) -> list[str]:
    """The modules whose import is refused."""
    nodes = list(ast.walk(parsed(source)))
    named = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    named += [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module is not None]
    return sorted({name.split(".")[0] for name in named} & _IMPORTS)


def _refused(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (f"import {a.name}" for a in node.names if a.asname is None and a.name.split(".")[0] in _IMPORTS)
    elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module.split(".")[0] in _IMPORTS:
        yield f"from {node.module} import"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        given = len(node.args) + len(node.keywords)
        if (node.func.id in _CALLS and given == 1) or (node.func.id in _BARE_CALLS and given == 0):
            yield f"{node.func.id}()"


def with_pathlib(source: str) -> str:
    """The text with calls of ``os`` as calls of ``pathlib`` where both mean the same; without the import if none is left."""
    module = cst.parse_module(source).visit(_Pathlib())
    left = [n for n in ast.walk(parsed(module.code)) if isinstance(n, ast.Name) and n.id == "os"]
    return module.code if left else module.visit(_WithoutOs()).code


def without_pathlib(source: str) -> list[str]:
    """What keeps a text refused, whatever is rewritten: the calls that ``pathlib`` does not do in the same way."""
    left = ast.walk(parsed(with_pathlib(source)))
    found = {ast.unparse(n) for n in left if isinstance(n, ast.Attribute) and not n.attr.isupper()}
    used = {name for name in found if re.match(rf"({'|'.join(_IMPORTS)})[.]", name)}
    return sorted(used - {name.rpartition(".")[0] for name in used})


class _Pathlib(cst.CSTTransformer):
    def __init__(self) -> None:
        super().__init__()
        self._paths: list[frozenset[str]] = [frozenset()]
        """Names that are a Path, by function."""
        self._in_text = 0

    @property
    def _lenient(self) -> str:
        return "errors='surrogateescape'" if self._in_text else 'errors="surrogateescape"'

    def visit_FormattedStringExpression(self, node: cst.FormattedStringExpression) -> None:
        self._in_text += 1

    def leave_FormattedStringExpression(
        self, original_node: cst.FormattedStringExpression, updated_node: cst.FormattedStringExpression
    ) -> cst.FormattedStringExpression:
        self._in_text -= 1
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._paths.append(_names_of_paths(node))

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self._paths.pop()
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if len(updated_node.args) != 1 or updated_node.args[0].keyword is not None or updated_node.args[0].star:
            return updated_node
        given, name = updated_node.args[0].value, _code(updated_node.func)
        if name == "os.fsencode":
            return _call(given if _is_text(given) else _expression(f"str({_code(given)})"), "encode", self._lenient)
        if name == "os.fsdecode":
            return _call(given, "decode", self._lenient)
        # Of text the two differ: an empty one is the directory itself for pathlib, and a slash at the end is nothing.
        is_path = self._is_path(given)
        if name == "os.path.lexists" and is_path and _is_pure(given):
            return _expression(f"({_code(_call(given, 'is_symlink'))} or {_code(_call(given, 'exists'))})")
        if name.startswith("os.path.") and name[8:] in _TESTS and is_path:
            return _call(given, _TESTS[name[8:]])
        if name == "Path" and isinstance(given, cst.Call) and _code(given.func) == "os.path.realpath" and len(given.args) == 1:
            return _call(self._path(given.args[0].value), "resolve")
        return updated_node

    def leave_With(self, original_node: cst.With, updated_node: cst.With) -> cst.With | cst.FlattenSentinel[cst.BaseStatement]:
        """A new file with a mode: made by ``touch``, which makes it in the same way, then written."""
        opened = updated_node.items[0].item
        if len(updated_node.items) != 1 or not isinstance(opened, cst.Call) or _code(opened.func) != "os.fdopen":
            return updated_node
        made = opened.args[0].value
        if not isinstance(made, cst.Call) or _code(made.func) != "os.open" or len(made.args) != 3:
            return updated_node
        path, flags, mode = (a.value for a in made.args)
        if _code(flags) != _NEW_FILE or not isinstance(path, cst.Name):
            return updated_node
        touched = cst.parse_statement(f"{path.value}.touch({_code(mode)}, exist_ok=False)\n")
        assert isinstance(touched, cst.SimpleStatementLine)
        touched = touched.with_changes(leading_lines=updated_node.leading_lines)
        item = updated_node.items[0].with_changes(item=_call(path, "open", _code(opened.args[1].value)))
        return cst.FlattenSentinel([touched, updated_node.with_changes(items=[item], leading_lines=[])])

    def _path(self, given: cst.BaseExpression) -> cst.BaseExpression:
        return given if self._is_path(given) else _expression(f"Path({_code(given)})")

    def _is_path(self, given: cst.BaseExpression) -> bool:
        return _is_path(ast.parse(f"({_code(given)})", mode="eval").body, self._paths[-1])


class _WithoutOs(cst.CSTTransformer):
    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        alone = m.SimpleStatementLine(body=[m.Import(names=[m.ImportAlias(name=m.Name("os"), asname=None)])])
        return cst.RemoveFromParent() if m.matches(updated_node, alone) else updated_node


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _expression(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)


def _call(on: cst.BaseExpression, method: str, arguments: str = "") -> cst.BaseExpression:
    simple = isinstance(on, cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.SimpleString | cst.FormattedString)
    return _expression(f"{_code(on)}.{method}({arguments})" if simple or on.lpar else f"({_code(on)}).{method}({arguments})")


def _names_of_paths(function: cst.FunctionDef) -> frozenset[str]:
    """The names that are a ``Path`` wherever a function uses them: parameters of that type, and what is only ever given one."""
    (tree,) = parsed(_code(function)).body
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    bound = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    bound.update(a.arg for a in arguments)
    typed = [a.arg for a in arguments if isinstance(a.annotation, ast.Name) and a.annotation.id == "Path"]
    assigned = [(n.targets[0], n.value) for n in ast.walk(tree) if isinstance(n, ast.Assign)]
    known: frozenset[str] = frozenset()
    while True:
        given = Counter([*typed, *(t.id for t, value in assigned if isinstance(t, ast.Name) and _is_path(value, known))])
        found = frozenset(name for name, times in given.items() if times == bound[name])
        if found == known:
            return known
        known = found


def _is_path(node: ast.expr, known: frozenset[str]) -> bool:
    """Whether an expression can only be a ``Path``."""
    match node:
        case ast.Name(name):
            return name in known
        case ast.BinOp(left, ast.Div()) | ast.Attribute(left, "parent"):
            return _is_path(left, known)
        case ast.Call(ast.Attribute(on, method)):
            return method in _KEEP and _is_path(on, known)
        case ast.Call(ast.Name("Path")):
            return True
    return False


def _is_text(node: cst.BaseExpression) -> bool:
    """Whether an expression can only be a str: a literal, a name of a path, or pieces joined."""
    if isinstance(node, cst.Attribute):
        return node.attr.value == "name"
    joined = isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.SimpleString)
    return joined or isinstance(node, cst.SimpleString | cst.FormattedString)


def _is_pure(node: cst.BaseExpression) -> bool:
    """Whether saying an expression twice is the same as saying it once."""
    return not m.findall(node, m.Call() | m.NamedExpr() | m.Await() | m.Yield())

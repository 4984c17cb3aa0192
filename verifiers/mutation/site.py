"""Where mutations may happen: the code of a skill's functions, without words and without bookkeeping.

Not mutated: docstrings, annotations, decorators and parameters, what is raised (its message), and the bookkeeping of the
result: the entries of a returned dict that are no answer, with the counters that exist only for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from verifiers.conventions.model import SkillModule, literal_text

ANSWER_KEYS = frozenset({"output", "answer", "value", "result", "stdout"})
"""Where an answer stands in the returned value (docs/semantics.md, "The answer")."""
_HARMLESS = frozenset({"len", "str", "int", "sum", "sorted", "list", "bool", "max", "min"})


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of a span of the source."""

    operator: str
    start: int
    """Byte offsets into the UTF-8 source."""
    end: int
    text: str
    line: int
    description: str


class Site:
    """A parsed skill with byte spans, and the nodes that may be mutated."""

    def __init__(self, module: SkillModule) -> None:
        self.module = module
        self.data = module.subject.source.encode("utf-8", "surrogateescape")
        self._spans = MetadataWrapper(module.tree, unsafe_skip_copy=True).resolve(ByteSpanPositionProvider)
        self._bookkeeping = _bookkeeping_names(module)
        self._counting = _counting_functions(module, self._bookkeeping)
        self.nodes: list[cst.CSTNode] = [n for f in _outer_functions(module.tree) for n in self._eligible(f.body, f)]

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        found = self._spans[node]
        return found.start, found.start + found.length

    def text(self, node: cst.CSTNode) -> str:
        """The node as written (without parentheses around it)."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8", "surrogateescape")

    def short(self, node: cst.CSTNode) -> str:
        """The node on one line, for descriptions."""
        text = " ".join(self.text(node).split())
        return text if len(text) <= 60 else text[:57] + "..."

    def edit(self, operator: str, node: cst.CSTNode, text: str, description: str) -> Edit:
        start, end = self.span(node)
        return Edit(operator, start, end, text, self.module.line(node), description)

    def apply(self, edit: Edit) -> str:
        """The whole mutated text."""
        fresh = edit.text.encode("utf-8", "surrogateescape")
        return (self.data[: edit.start] + fresh + self.data[edit.end :]).decode("utf-8", "surrogateescape")

    def indent(self, node: cst.CSTNode) -> str:
        """White space before the line on which a statement starts."""
        start, _ = self.span(node)
        begin = self.data.rfind(b"\n", 0, start) + 1
        return self.data[begin:start].decode("utf-8", "surrogateescape") if not self.data[begin:start].strip() else ""

    def _eligible(self, body: cst.BaseSuite, function: cst.FunctionDef) -> Iterator[cst.CSTNode]:
        skip = _docstring(body)
        todo: list[cst.CSTNode] = list(reversed([s for s in body.body if s is not skip]))
        while todo:
            node = todo.pop()
            if self._frozen(node):
                continue
            yield node
            if isinstance(node, cst.Raise):
                continue  # it may be removed, but what it says is words
            if isinstance(node, cst.FunctionDef):
                yield from self._eligible(node.body, node)
                continue
            if isinstance(node, cst.Return) and function.name.value in self._counting:
                continue
            if isinstance(node, cst.Return) and isinstance(node.value, cst.Dict):
                answers = [
                    e.value for e in node.value.elements if isinstance(e, cst.DictElement) and literal_text(e.key) in ANSWER_KEYS
                ]
                todo.extend(reversed(answers))
                continue
            todo.extend(reversed(node.children))

    def is_counter(self, node: cst.CSTNode) -> bool:
        """Whether a name is bookkeeping."""
        return isinstance(node, cst.Name) and node.value in self._bookkeeping

    def _frozen(self, node: cst.CSTNode) -> bool:
        if isinstance(
            node,
            cst.Annotation
            | cst.Import
            | cst.ImportFrom
            | cst.Global
            | cst.Nonlocal
            | cst.BaseParenthesizableWhitespace
            | cst.Comment,
        ):
            return True
        if isinstance(node, cst.SimpleStatementLine):
            return all(self._is_bookkeeping(s) for s in node.body)
        return isinstance(node, cst.BaseSmallStatement) and self._is_bookkeeping(node)

    def _is_bookkeeping(self, node: cst.BaseSmallStatement) -> bool:
        """``changed += 1``, ``made = 0``, ``renamed.append(target.name)`` where nothing but the result's entry reads the name."""
        if isinstance(node, cst.Assign):
            targets: list[cst.CSTNode] = [t.target for t in node.targets]
            value: cst.CSTNode = node.value
        elif isinstance(node, cst.AugAssign):
            targets, value = [node.target], node.value
        elif isinstance(node, cst.Expr) and (owner := _appended_to(node)) is not None:
            targets, value = [owner], node.value
        else:
            return False
        return all(isinstance(t, cst.Name) and t.value in self._bookkeeping for t in targets) and _pure(value)


def _outer_functions(tree: cst.Module) -> Iterator[cst.FunctionDef]:
    for node in tree.body:
        if isinstance(node, cst.FunctionDef):
            yield node
        elif isinstance(node, cst.ClassDef):
            yield from (n for n in node.body.body if isinstance(n, cst.FunctionDef))


def _docstring(body: cst.BaseSuite) -> cst.CSTNode | None:
    first = body.body[0] if body.body else None
    if isinstance(first, cst.SimpleStatementLine) and isinstance(first.body[0], cst.Expr):
        value = first.body[0].value
        if isinstance(value, cst.SimpleString | cst.ConcatenatedString):
            return first
    return None


def _appended_to(node: cst.Expr) -> cst.CSTNode | None:
    call = node.value
    if (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and call.func.attr.value in ("append", "add", "extend")
    ):
        return call.func.value
    return None


def _pure(value: cst.CSTNode) -> bool:
    """Whether computing it can have no effect: no call but harmless ones (and the append itself)."""
    todo = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.Await | cst.NamedExpr):
            return False
        if isinstance(node, cst.Call):
            method = isinstance(node.func, cst.Attribute) and node.func.attr.value in (
                "append",
                "add",
                "extend",
                "as_posix",
                "with_suffix",
                "with_name",
            )
            if not method and not (isinstance(node.func, cst.Name) and node.func.value in _HARMLESS):
                return False
        todo.extend(node.children)
    return True


def _bookkeeping_names(module: SkillModule) -> frozenset[str]:
    """Names that are read nowhere but in result entries that are no answer (and in statements that update themselves)."""
    inside: set[cst.CSTNode] = set()
    candidates: set[str] = set()
    for node in module.nodes:
        if isinstance(node, cst.Return) and isinstance(node.value, cst.Dict):
            for element in node.value.elements:
                if isinstance(element, cst.DictElement) and literal_text(element.key) not in ANSWER_KEYS:
                    for name in _names(element.value):
                        inside.add(name)
                        candidates.add(name.value)
    written = set(_written(module))
    read = {n.value for n in module.nodes if isinstance(n, cst.Name) and n not in inside and n not in written}
    return frozenset(candidates & set(module.bindings) - read)


def _counting_functions(module: SkillModule, bookkeeping: frozenset[str]) -> frozenset[str]:
    """Local functions whose returned value goes nowhere but into bookkeeping: ``changed += _chmod(path, mode)``."""
    local = {n.name.value for n in module.nodes if isinstance(n, cst.FunctionDef)} - {f.name.value for f in module.functions}
    elsewhere: set[str] = set()
    used: set[str] = set()
    for node in module.nodes:
        if not isinstance(node, cst.Name) or node.value not in local or isinstance(module.parents.get(node), cst.FunctionDef):
            continue
        used.add(node.value)
        if not _only_counted(module, node, bookkeeping):
            elsewhere.add(node.value)
    return frozenset(used - elsewhere)


def _only_counted(module: SkillModule, name: cst.Name, bookkeeping: frozenset[str]) -> bool:
    """Whether this use is a call whose value is dropped, or added up in a bookkeeping name."""
    call = module.parents.get(name)
    if not isinstance(call, cst.Call) or call.func is not name:
        return False
    above = module.parents.get(call)
    if isinstance(above, cst.Await):
        above = module.parents.get(above)
    if isinstance(above, cst.Expr):
        return True
    target = above.target if isinstance(above, cst.AugAssign) else None
    if isinstance(above, cst.Assign) and len(above.targets) == 1:
        target = above.targets[0].target
    return isinstance(target, cst.Name) and target.value in bookkeeping


def _written(module: SkillModule) -> Iterator[cst.Name]:
    """Name nodes that are only assigned to, or updated in place."""
    for node in module.nodes:
        if isinstance(node, cst.AssignTarget | cst.AugAssign) and isinstance(node.target, cst.Name):
            yield node.target
        elif isinstance(node, cst.AnnAssign):
            yield from _names(node.annotation)
            if isinstance(node.target, cst.Name):
                yield node.target
        elif isinstance(node, cst.Expr):
            owner = _appended_to(node)
            if isinstance(owner, cst.Name):
                yield owner
        elif isinstance(node, cst.Attribute):
            yield node.attr
        elif isinstance(node, cst.Arg) and node.keyword is not None:
            yield node.keyword


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    todo = [node]
    while todo:
        child = todo.pop()
        if isinstance(child, cst.Name):
            yield child
        todo.extend(child.children)

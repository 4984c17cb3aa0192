"""A skill as the conventions see it: a lossless tree, what each name stands for, and the lines.

Names are resolved through the file's imports (``import subprocess as sp`` makes ``sp.run`` mean ``subprocess.run``) and
through plain aliases (``run = subprocess.run``). That is enough for text that is not out to hide; what hides is the
business of the sandbox.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from verifiers.interface import Profile, Subject
from verifiers.subject import ParseProblem, parse_module

Binding: TypeAlias = "cst.BaseExpression | None"
"""What an assignment gives a name; None where the value cannot be named (loops, parameters, ``with``, imports)."""


class SkillModule:
    """One parsed skill file.

    Raises:
        cst.ParserSyntaxError: the text is no Python module to libcst (``read`` turns that into None).
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.tree = cst.parse_module(subject.source)
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.nodes: list[cst.CSTNode] = []
        todo: list[cst.CSTNode] = [self.tree]
        while todo:
            node = todo.pop()
            self.nodes.append(node)
            children = node.children
            for child in children:
                self.parents[child] = node
            todo.extend(reversed(children))

    @property
    def profile(self) -> Profile:
        return self.subject.profile

    @cached_property
    def _positions(self) -> dict[cst.CSTNode, int]:
        found = MetadataWrapper(self.tree, unsafe_skip_copy=True).resolve(PositionProvider)
        return {node: place.start.line for node, place in found.items()}

    def line(self, node: cst.CSTNode | None) -> int:
        """Where a node starts (1-based); 1 for None."""
        while node is not None:
            if (found := self._positions.get(node)) is not None:
                return found
            node = self.parents.get(node)
        return 1

    def code(self, node: cst.CSTNode) -> str:
        return self.tree.code_for_node(node).strip()

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Parents of a node, innermost first."""
        while (above := self.parents.get(node)) is not None:
            yield above
            node = above

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost function whose body holds the node; None at module level."""
        child = node
        for above in self.ancestors(node):
            if isinstance(above, cst.FunctionDef) and child is above.body:
                return above
            child = above
        return None

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local name -> dotted origin, from every import statement of the file."""
        table: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, cst.Import):
                for item in node.names:
                    full = dotted_text(item.name)
                    if item.asname is not None and isinstance(item.asname.name, cst.Name):
                        table[item.asname.name.value] = full
                    else:
                        table[full.partition(".")[0]] = full.partition(".")[0]
            elif isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
                module = imported_module(node)
                for item in node.names:
                    local = item.asname.name if item.asname is not None else item.name
                    if isinstance(local, cst.Name):
                        table[local.value] = f"{module}.{dotted_text(item.name)}"
        return table

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """Name -> every value that some assignment of the file gives it (all scopes together: over-cautious on purpose)."""
        table: dict[str, list[Binding]] = defaultdict(list)
        for node in self.nodes:
            if isinstance(node, cst.Assign):
                for target in node.targets:
                    _bind(table, target.target, node.value)
            elif (isinstance(node, cst.AnnAssign) and node.value is not None) or isinstance(node, cst.NamedExpr):
                _bind(table, node.target, node.value)
            elif isinstance(node, cst.AugAssign | cst.For | cst.CompFor):
                _bind(table, node.target, None)
            elif isinstance(node, cst.Param):
                for value in self._given(node):
                    _bind(table, node.name, value)
            elif isinstance(node, cst.AsName) and not isinstance(self.parents.get(node), cst.ImportAlias):
                _bind(table, node.name, None)
        return table

    def _given(self, param: cst.Param) -> list[Binding]:
        """What the calls of a helper give one of its parameters; None where that cannot be told, or anybody may call it."""
        group = self.parents.get(param)
        function = None if group is None else self.parents.get(group)
        if not isinstance(group, cst.Parameters) or not isinstance(function, cst.FunctionDef) or function.decorators:
            return [None]
        uses = [n for n in self.nodes if isinstance(n, cst.Name) and n.value == function.name.value and n is not function.name]
        calls = [c for n in uses if isinstance(c := self.parents.get(n), cst.Call) and c.func is n]
        if not calls or len(calls) != len(uses) or function not in self.tree.body or any(a.star for c in calls for a in c.args):
            return [None]
        places = [*group.posonly_params, *group.params]
        return [_passed(call, param, places) for call in calls]

    def dotted(self, node: cst.CSTNode, depth: int = 0) -> str:
        """What a name or attribute chain stands for (``subprocess.run``, ``open``); "" for anything else."""
        if isinstance(node, cst.Attribute):
            head = self.dotted(node.value, depth)
            return f"{head}.{node.attr.value}" if head else ""
        if not isinstance(node, cst.Name):
            return ""
        if node.value in self.imports:
            return self.imports[node.value]
        values = self.bindings.get(node.value, [])
        if depth < 5 and len(values) == 1 and isinstance(values[0], cst.Name | cst.Attribute):
            return self.dotted(values[0], depth + 1) or node.value
        return node.value

    def calls(self) -> Iterator[tuple[cst.Call, str]]:
        """Every call with what it calls, as far as that has a name."""
        for node in self.nodes:
            if isinstance(node, cst.Call):
                yield node, self.dotted(node.func)

    def of_host(self, name: str) -> bool:
        """Whether a dotted name is the host's own: known to the runtime that loads the skill, unknown here."""
        return self.profile == "omni" and name.partition(".")[0] == "omni"

    def injected(self, param: cst.Param) -> bool:
        """Whether the host fills a parameter: its type is one of the host's, or it is the project's root."""
        if self.profile != "omni" or param.annotation is None:
            return False
        names = [n for n in names_in(param.annotation.annotation) if n not in ("None", "Optional")]
        return param.name.value == "project_root" or (bool(names) and all(self.of_host(self.imports.get(n, n)) for n in names))

    @cached_property
    def functions(self) -> list[cst.FunctionDef]:
        """Module-level functions that carry the skill decorator."""
        top = [s for s in self.tree.body if isinstance(s, cst.FunctionDef)]
        return [f for f in top if self.skill_decorator(f) is not None]

    @cached_property
    def function(self) -> cst.FunctionDef | None:
        """The skill's one public function (the first, should there be more), or the one that is judged."""
        if self.subject.function:
            return next((f for f in self.functions if f.name.value == self.subject.function), None)
        public = [f for f in self.functions if not f.name.value.startswith("_")]
        return next(iter(public or self.functions), None)

    def skill_decorator(self, function: cst.FunctionDef) -> cst.Decorator | None:
        for decorator in function.decorators:
            called = decorator.decorator
            name = self.dotted(called.func if isinstance(called, cst.Call) else called)
            if name.rpartition(".")[2] == "skill_command":
                return decorator
        return None

    @cached_property
    def decorator(self) -> cst.Decorator | None:
        return self.skill_decorator(self.function) if self.function is not None else None

    @cached_property
    def decorator_call(self) -> cst.Call | None:
        called = self.decorator.decorator if self.decorator is not None else None
        return called if isinstance(called, cst.Call) else None

    def keyword(self, call: cst.Call, name: str) -> cst.BaseExpression | None:
        """The value of a keyword argument."""
        return next((a.value for a in call.args if a.keyword is not None and a.keyword.value == name), None)

    def own_nodes(self, function: cst.FunctionDef) -> Iterator[cst.CSTNode]:
        """Nodes of a function's body without the bodies of functions and classes nested in it."""
        todo: list[cst.CSTNode] = [function.body]
        while todo:
            node = todo.pop()
            yield node
            if not isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
                todo.extend(reversed(node.children))


def read(subject: Subject) -> SkillModule | None:
    """The module of a subject; None where it does not parse."""
    if isinstance(parse_module(subject.source), ParseProblem):
        return None
    try:
        return SkillModule(subject)
    except (cst.ParserSyntaxError, RecursionError):
        return None


def parameters(function: cst.FunctionDef) -> list[cst.Param]:
    """Named parameters in order, without ``*args`` and ``**kwargs``."""
    p = function.params
    return [*p.posonly_params, *p.params, *p.kwonly_params]


def with_parameters(module: SkillModule, function: cst.FunctionDef, changes: dict[cst.Param, cst.Param]) -> cst.Module | None:
    """The file with some parameters replaced; None where that would put a required one after an optional one."""
    p = function.params

    def changed(group: Sequence[cst.Param]) -> list[cst.Param]:
        return [changes.get(param, param) for param in group]

    try:
        params = p.with_changes(
            posonly_params=changed(p.posonly_params), params=changed(p.params), kwonly_params=changed(p.kwonly_params)
        )
    except cst.CSTValidationError:
        return None
    return cst.ensure_type(module.tree.deep_replace(p, params), cst.Module)


def names_in(node: cst.CSTNode) -> list[str]:
    """Every plain name in an expression."""
    found = [node.value] if isinstance(node, cst.Name) else []
    return found + [name for child in node.children for name in names_in(child)]


def dotted_text(node: cst.CSTNode | None) -> str:
    """``a.b.c`` of a name or attribute chain as written; "" for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        head = dotted_text(node.value)
        return f"{head}.{node.attr.value}" if head else ""
    return ""


def imported_module(node: cst.ImportFrom) -> str:
    """The module of a ``from`` import, with its leading dots."""
    return "." * len(node.relative) + dotted_text(node.module)


def literal(node: cst.CSTNode | None) -> object:
    """The Python value that an expression spells out.

    Raises:
        ValueError: it is no literal.
    """
    if node is None:
        raise ValueError("no expression")
    try:
        value: object = ast.literal_eval(cst.Module([]).code_for_node(node).strip())
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return value


def literal_text(node: cst.CSTNode | None) -> str | None:
    """The string that an expression spells out; None for anything else."""
    if not isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        return None
    try:
        value = literal(node)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _passed(call: cst.Call, param: cst.Param, places: Sequence[cst.Param]) -> Binding:
    """What a call gives a parameter; None where it gives nothing and there is no default."""
    for place, argument in zip(places, call.args, strict=False):
        if place is param and argument.keyword is None:
            return argument.value
    named = (a.value for a in call.args if a.keyword is not None and a.keyword.value == param.name.value)
    return next(named, param.default)


def _bind(table: dict[str, list[Binding]], target: cst.CSTNode, value: Binding) -> None:
    if isinstance(target, cst.Name):
        table[target.value].append(value)
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            _bind(table, element.value, None)
    elif isinstance(target, cst.StarredElement):
        _bind(table, target.value, None)

"""What every name, attribute chain and spelled-out lookup of a file may stand for.

Every mention counts, not only calls; a name that several imports or assignments give a meaning has all of them.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from verifiers.conventions.families import NAMED_BY_TEXT
from verifiers.conventions.model import SkillModule, dotted_text, imported_module, literal_text

MAX_DEPTH = 5
_NESTED = frozenset({"os.path", "concurrent.futures", "asyncio.subprocess", "logging.config", "logging.handlers", "email", "xml"})


@dataclass(frozen=True, slots=True)
class Mention:
    """One place that means something."""

    node: cst.CSTNode
    meanings: frozenset[str]
    """Dotted names; empty where only the attribute is known."""
    attribute: str
    """The last attribute; "" for a bare name or an import."""


class Resolver:
    """Resolves names of one module."""

    def __init__(self, module: SkillModule) -> None:
        self._module = module
        self._origins: dict[str, set[str]] = {}
        for node in module.nodes:
            for local, origin in _imported(node):
                self._origins.setdefault(local, set()).add(origin)

    def mentions(self) -> Iterator[Mention]:
        """Every name, attribute, lookup by a constant name, pattern and import, in file order."""
        for node in self._module.nodes:
            if isinstance(node, cst.Import | cst.ImportFrom):
                yield from (Mention(node, frozenset({origin}), "") for _, origin in _imported(node, whole=True))
            elif isinstance(node, cst.Attribute):
                yield Mention(node, frozenset(_through(self.meanings(node))), node.attr.value)
            elif isinstance(node, cst.Name) and self._is_read(node):
                yield Mention(node, frozenset(_through(self.meanings(node))), "")
            elif isinstance(node, cst.Call) and (found := self._looked_up(node)):
                yield from found
            elif isinstance(node, cst.MatchKeywordElement):
                yield Mention(node, frozenset(), node.key.value)

    def meanings(self, node: cst.CSTNode, depth: int = 0) -> set[str]:
        """Dotted names that an expression may stand for; empty where that is not spelled out."""
        if depth > MAX_DEPTH:
            return set()
        if isinstance(node, cst.Attribute):
            return {f"{head}.{node.attr.value}" for head in self.meanings(node.value, depth + 1)}
        if isinstance(node, cst.IfExp):
            return self.meanings(node.body, depth + 1) | self.meanings(node.orelse, depth + 1)
        if isinstance(node, cst.BooleanOperation):
            return self.meanings(node.left, depth + 1) | self.meanings(node.right, depth + 1)
        if isinstance(node, cst.Call):
            return {m for mention in self._looked_up(node, depth + 1) for m in mention.meanings}
        if not isinstance(node, cst.Name):
            return set()
        if node.value in self._origins:
            return self._origins[node.value]
        if self._is_own(node):
            bound = [v for v in self._module.bindings.get(node.value, []) if v is not None and v is not node]
            return {m for v in bound if not isinstance(v, cst.Call) for m in self.meanings(v, depth + 1)}
        return {node.value}

    def _looked_up(self, call: cst.Call, depth: int = 0) -> list[Mention]:
        """``getattr(os, "kill")`` and its like, as the attribute that it is."""
        place = next((NAMED_BY_TEXT[m] for m in self.meanings(call.func, depth + 1) if m in NAMED_BY_TEXT), None)
        if place is None or len(call.args) <= place:
            return []
        text = literal_text(call.args[place].value)
        if text is None:
            return []
        heads = self.meanings(call.args[0].value, depth + 1) if place else set()
        first, *more = text.split(".")
        found = [Mention(call, frozenset(_through({f"{h}.{first}" for h in heads})), first)]
        return found + [Mention(call, frozenset(), part) for part in more]

    def _is_read(self, node: cst.Name) -> bool:
        """Whether a name is looked up here, not a part of something larger or the name of a parameter or keyword."""
        above = self._module.parents.get(node)
        if isinstance(above, cst.Attribute):
            return above.value is node
        if isinstance(above, cst.Arg | cst.Param):
            return (above.keyword if isinstance(above, cst.Arg) else above.name) is not node
        if isinstance(above, cst.FunctionDef | cst.ClassDef):
            return above.name is not node
        if isinstance(above, cst.MatchKeywordElement):
            return above.key is not node
        return not isinstance(above, cst.ImportAlias | cst.ImportFrom | cst.AsName | cst.AssignTarget | cst.NameItem)

    def _is_own(self, node: cst.Name) -> bool:
        """Whether a function around the name binds it: at module level ``vars = vars`` still reads the builtin."""
        module = self._module
        if node.value not in module.bindings:
            return False
        if node.value not in _BUILTINS:
            return True
        function = module.function_of(node)
        while function is not None:
            if any(_binds(n, node.value) for n in (*_parameters(function), *module.own_nodes(function))):
                return True
            function = module.function_of(function)
        return False


_BUILTINS = frozenset(dir(builtins))


def _parameters(function: cst.FunctionDef) -> list[cst.Param]:
    p = function.params
    starred = [s for s in (p.star_arg, p.star_kwarg) if isinstance(s, cst.Param)]
    return [*p.posonly_params, *p.params, *p.kwonly_params, *starred]


def _binds(node: cst.CSTNode, name: str) -> bool:
    targets: list[cst.CSTNode] = []
    if isinstance(node, cst.Assign):
        targets = [t.target for t in node.targets]
    elif isinstance(node, cst.AnnAssign | cst.NamedExpr | cst.AugAssign | cst.For):
        targets = [node.target]
    elif isinstance(node, cst.Param | cst.AsName):
        targets = [node.name]
    return any(isinstance(n, cst.Name) and n.value == name for t in targets for n in _parts(t))


def _parts(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _parts(element.value)
    else:
        yield target


def _imported(node: cst.CSTNode, whole: bool = False) -> Iterator[tuple[str, str]]:
    """(local name, origin) of an import; with ``whole``, all of what is imported and not only what the name stands for."""
    if isinstance(node, cst.Import):
        for item in node.names:
            full = dotted_text(item.name)
            alias = item.asname.name if item.asname is not None else None
            top = full if whole or alias is not None else full.partition(".")[0]
            yield (alias.value if isinstance(alias, cst.Name) else full.partition(".")[0]), top
    elif isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
        for item in node.names:
            local = item.asname.name if item.asname is not None else item.name
            if isinstance(local, cst.Name):
                yield local.value, f"{imported_module(node)}.{dotted_text(item.name)}"


def _through(meanings: set[str]) -> set[str]:
    """Also the module that is reached through another one: ``shutil.os.kill`` is ``os.kill``, ``enum.sys`` is ``sys``."""
    found = set(meanings)
    for name in meanings:
        parts = name.split(".")
        if parts[0] == "builtins" and len(parts) > 1:
            found.add(".".join(parts[1:]))
        if parts[0] not in sys.stdlib_module_names:
            continue
        for i in range(1, len(parts)):
            inner = parts[i].lstrip("_")
            if inner in sys.stdlib_module_names and ".".join(parts[: i + 1]) not in _NESTED:
                found.add(".".join([inner, *parts[i + 1 :]]))
    return found

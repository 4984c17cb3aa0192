"""What a statement of a skill is for: acting, claiming success, deciding what is acted on, skipping, computing, or raising."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, replace
from typing import Literal

from verifiers.source.feeding import Feeding, assigned, loaded, same_thing
from verifiers.source.harmless import Harmless
from verifiers.source.names import ENTERING, SHOWING, Names, names_of
from verifiers.subject import FunctionNode, skill_function

Kind = Literal["acts", "claims", "decides", "skips", "computes", "raises"]
"""decides: computes something that a call which acts is given, or that says whether it is made."""

TELLING: tuple[Kind, ...] = ("acts", "claims", "decides")
"""Kinds that nobody can vouch for who has not seen them run."""

_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
_SHOWING = frozenset({"len", "str", "repr", "int", "type"})
_DECORATORS = frozenset(
    {"functools.wraps", "functools.cache", "functools.lru_cache", "contextlib.contextmanager", "dataclasses.dataclass"}
)
_ENTERED_QUIETLY = frozenset({"contextlib.suppress", "contextlib.nullcontext", "os.scandir"})
"""What the library makes that does nothing when it is entered or left; other things act as they are made."""
_SUCCESS = ("ok", "success", "status", "changed")
_PLAIN_BASES = frozenset(
    {"Exception", "ValueError", "RuntimeError", "OSError", "NamedTuple", "Enum", "StrEnum", "IntEnum", "Protocol"}
)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Judges the statements of one file."""

    harmless: Harmless
    feeding: Feeding
    claiming: frozenset[str]
    """Functions whose value the command returns."""
    carrying: tuple[str, ...] = ()
    """Exceptions of whose values some handler makes something: then to raise one is to hand on a value."""

    def of(self, node: ast.stmt, function: FunctionNode, suite: list[ast.stmt]) -> Kind:
        """The kind of one statement. ``suite``: the body that it is part of."""
        if isinstance(node, ast.Raise):
            return "acts" if not self._raises(node) else "decides" if self._is_carried(node) else "raises"
        if self.acts(node):
            return "acts"
        if isinstance(node, ast.Return):
            return self._returned(node, function)
        if self._reports(suite):
            return "raises"
        if isinstance(node, ast.Continue | ast.Break):
            return "skips"
        if function.name in self.claiming and node is suite[-1] and suite is function.body:
            return "claims"  # falls off the end
        return "decides" if self.decides(node) else "computes"

    def acts(self, node: ast.stmt) -> bool:
        """Whether the statement itself, without its suites, may do more than read and compute."""
        if isinstance(node, ast.AsyncFor | ast.AsyncWith | ast.Import | ast.ImportFrom):
            return True
        if isinstance(node, ast.With) and self.harmless.names.attributes & ENTERING:
            return any(self._may_enter(item.context_expr) for item in node.items) or any(map(self.harmless.acts, heads(node)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            made_by = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
            if any(self.harmless.names.dotted(d) not in _DECORATORS for d in made_by):
                return True
        if isinstance(node, ast.Expr) and self._logs(node.value):
            return False
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
            if any(self._elsewhere(t) for t in targets):
                return True
        return any(self.harmless.acts(h) for h in heads(node))

    def _may_enter(self, node: ast.expr) -> bool:
        """Whether ``with`` may call a method of the file: not of what the library makes. What it only hands back, as
        ``copy.copy(x)`` does, may be the file's own."""
        made = node.func if isinstance(node, ast.Call) else node
        opened = isinstance(made, ast.Name) and made.id == "open" and "open" not in self.harmless.names.own
        return not opened and not (isinstance(node, ast.Call) and self.harmless.names.dotted(made) in _ENTERED_QUIETLY)

    def decides(self, node: ast.stmt) -> bool:
        """Whether it makes something of which an acting call or its condition depends, and not just the same thing again."""
        names = assigned(node)
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(value, ast.expr) and len(names) == 1:
            return bool(names & self.feeding.names) and same_thing(value, self.harmless.names) not in names
        return bool(names & self.feeding.names)

    def _elsewhere(self, target: ast.expr) -> bool:
        """Whether assigning to it may reach beyond the skill's own variables."""
        if isinstance(target, ast.Tuple | ast.List):
            return any(self._elsewhere(t) for t in target.elts)
        if isinstance(target, ast.Subscript):
            return not (isinstance(target.value, ast.Name) and target.value.id not in self.feeding.foreign)
        return not isinstance(target, ast.Name | ast.Starred)

    def _returned(self, node: ast.Return, function: FunctionNode) -> Kind:
        if is_failure(node.value):
            return "raises"
        if function.name in self.claiming or _says_success(node.value):
            return "claims"
        if node.value is None:
            return "skips"
        return "computes" if same_thing(node.value, self.harmless.names) else "decides"

    def _reports(self, suite: list[ast.stmt]) -> bool:
        """Whether a body does no more than report failure: a report after an action says that the action went through."""
        last = suite[-1]
        if any(self.acts(n) for s in suite[:-1] for n in ast.walk(s) if isinstance(n, ast.stmt)):
            return False
        return isinstance(last, ast.Raise) or (isinstance(last, ast.Return) and is_failure(last.value))

    def _raises(self, node: ast.Raise) -> bool:
        """Whether it does no more than raise: the exception is made by something that looks like a class."""
        exc = node.exc
        if not isinstance(exc, ast.Call):
            return not self.harmless.acts(exc)
        name = exc.func.attr if isinstance(exc.func, ast.Attribute) else getattr(exc.func, "id", "")
        parts = [*exc.args, *(k.value for k in exc.keywords), *([node.cause] if node.cause else [])]
        plain = name[:1].isupper() and name not in self.harmless.acting
        return plain and not any(self.harmless.acts(p) for p in self._said(parts)) and not any(map(self._goes_through, parts))

    def _is_carried(self, node: ast.Raise) -> bool:
        """Whether a handler that makes something of what it gets may catch it. What is not known may be caught."""
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        raised = getattr(builtins, getattr(made, "id", ""), None)
        caught = [getattr(builtins, name, None) for name in self.carrying]
        return any(
            not isinstance(raised, type) or not isinstance(c, type) or issubclass(raised, c) or issubclass(c, raised)
            for c in caught
        )

    def _goes_through(self, part: ast.expr) -> bool:
        """Whether it reads one by one what some acting call gave: that may act with each."""
        calls = [c for c in ast.walk(part) if isinstance(c, ast.Call) and not self._shows(c.func)]
        loops = [c for c in ast.walk(part) if isinstance(c, ast.comprehension | ast.Starred)]
        given = [*(a for c in calls for a in c.args), *(c.iter if isinstance(c, ast.comprehension) else c for c in loops)]
        return any(loaded(g) & self.feeding.foreign for g in given)

    def _shows(self, func: ast.expr) -> bool:
        return getattr(func, "id", "") in _SHOWING or self.harmless.names.dotted(func) in ("os.fsdecode", "os.fsencode")

    def _said(self, parts: list[ast.expr]) -> list[ast.expr]:
        """What is put into a message; a name in it is only shown, unless the file says how things are shown."""
        if {"__format__", "__str__", "__repr__"} & self.harmless.names.attributes:
            return parts
        inner = [v for p in parts if isinstance(p, ast.JoinedStr) for v in p.values if isinstance(v, ast.FormattedValue)]
        shown = [v.value for v in inner if not isinstance(v.value, ast.Name)]
        formats = [v.format_spec for v in inner if v.format_spec]
        return [*(p for p in parts if not isinstance(p, ast.JoinedStr)), *shown, *formats]

    def _logs(self, value: ast.expr) -> bool:
        func = value.func if isinstance(value, ast.Call) else None
        if not (isinstance(value, ast.Call) and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)):
            return False
        parts = [*value.args, *(k.value for k in value.keywords)]
        names = self.harmless.names
        known = func.attr in _LOGGING and func.attr not in names.attributes and not names.own_handlers
        return known and not any(self.harmless.acts(p) for p in parts)


def kinds(tree: ast.Module) -> Kinds:
    """The judge of a parsed file's statements."""
    names = _calm(tree, names_of(tree))
    harmless = _harmless(tree, names)
    claiming = _claiming(tree)
    judge = Kinds(harmless, Feeding(), claiming)
    return Kinds(harmless, Feeding.of(tree, harmless, judge.acts, claiming), claiming, _carrying(tree))


def _harmless(tree: ast.Module, names: Names) -> Harmless:
    harmless = Harmless(names, frozenset())
    while True:
        acting = frozenset(_acting(tree, names, Kinds(harmless, Feeding(), frozenset())))
        if acting == harmless.acting:
            return harmless
        harmless = Harmless(names, acting)


def _calm(tree: ast.Module, names: Names) -> Names:
    """The names as of a file without operators of its own, where all that those do is to compute how a thing is shown and
    compared."""
    of_classes = (s for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for s in c.body)
    methods = [s for s in of_classes if isinstance(s, ast.FunctionDef) and s.name in SHOWING]
    defined = {m.name for m in methods}
    said = {n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(tree) if isinstance(n, ast.Attribute | ast.Name)}
    said |= {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    elsewhere = names.special - defined or said & defined or any(m.decorator_list for m in methods)
    if not names.overloads or elsewhere:
        return names
    calm = replace(names, overloads=False, attributes=names.attributes - defined)
    judge = Kinds(_harmless(tree, calm), Feeding(), frozenset())
    return names if any(_does(n, judge) for m in methods for s in m.body for n in ast.walk(s)) else calm


def heads(node: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that run with it: all but its suites, handlers and cases."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(k.value for k in node.keywords), *node.body]
    return [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.stmt | ast.excepthandler | ast.match_case)]


def is_failure(value: ast.expr | None) -> bool:
    """A returned dict that says so: ``ok``/``success`` False, ``status`` "error"."""
    if not isinstance(value, ast.Dict):
        return False
    said = [(getattr(k, "value", None), getattr(v, "value", None)) for k, v in zip(value.keys, value.values, strict=True)]
    return any((k in ("ok", "success") and v is False) or (k == "status" and v == "error") for k, v in said)


def _says_success(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Dict) and any(isinstance(k, ast.Constant) and k.value in _SUCCESS for k in value.keys)


def _acting(tree: ast.Module, names: Names, judge: Kinds) -> list[str]:
    """Functions and classes of the file that act when they are called, as far as is known so far."""
    out = []
    known = names.functions | names.methods | names.properties
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in known:
            if any(_does(n, judge) for s in node.body for n in ast.walk(s)):
                out.append(node.name)
        elif isinstance(node, ast.ClassDef) and not _plain_class(node, judge):
            out.append(node.name)
    return out


def _does(node: ast.AST, judge: Kinds) -> bool:
    """Whether a statement acts, a raise that makes its exception not counted, nor giving items one by one."""
    if isinstance(node, ast.Raise):
        return not judge._raises(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield):
        return judge.harmless.acts(node.value.value)
    return isinstance(node, ast.stmt) and judge.acts(node)


def _plain_class(node: ast.ClassDef, judge: Kinds) -> bool:
    bases = all(isinstance(b, ast.Name) and b.id in _PLAIN_BASES for b in node.bases) and not node.keywords
    makers = [s for s in node.body if isinstance(s, ast.FunctionDef) and s.name in ("__init__", "__post_init__", "__new__")]
    decorated = any("dataclass" not in ast.dump(d) for d in node.decorator_list)
    quiet = not any(judge.acts(s) for s in node.body if isinstance(s, ast.Assign | ast.AnnAssign | ast.Expr))
    return bases and not decorated and not makers and quiet


def _carrying(tree: ast.Module) -> tuple[str, ...]:
    """What handlers catch that use the exception for more than to raise it, log it or report a failure."""
    out = []
    for handler in (n for n in ast.walk(tree) if isinstance(n, ast.ExceptHandler) and n.name):
        told = [n for s in handler.body for n in ast.walk(s) if isinstance(n, ast.Raise) or _is_log(n) or _reports_failure(n)]
        within = {id(n) for t in told for n in ast.walk(t)}
        uses = [n for s in handler.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == handler.name]
        if handler.type is not None and any(id(n) not in within for n in uses):
            out += [getattr(n, "id", "") for n in (handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])]
    return tuple(dict.fromkeys(out))


def _reports_failure(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) and is_failure(node.value)


def _is_log(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOGGING


def _claiming(tree: ast.Module) -> frozenset[str]:
    """The command and the functions whose values it hands on."""
    command = skill_function(tree)
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    todo, found = [command.name] if command is not None else [], set[str]()
    while todo:
        name = todo.pop()
        if name in found or name not in functions:
            continue
        found.add(name)
        body = functions[name]
        returned = [n.value for n in ast.walk(body) if isinstance(n, ast.Return) and n.value is not None]
        handed = {v.id for v in returned if isinstance(v, ast.Name)}
        returned += [n.value for n in ast.walk(body) if isinstance(n, ast.Assign) and assigned(n) & handed]
        # What stands in a dict that is returned is a figure of the report, not the report.
        calls = [c for v in returned if not isinstance(v, ast.Dict) for c in ast.walk(v) if isinstance(c, ast.Call)]
        todo += [n.id for c in calls for n in [c.func, *c.args] if isinstance(n, ast.Name)]
    return frozenset(found)

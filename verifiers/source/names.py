"""What the names of a skill's file stand for, as far as its text says."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass

from verifiers.source import library

_CONTAINERS = frozenset({"list", "dict", "set", "Counter", "defaultdict", "OrderedDict", "deque", "sorted", "bytearray"})
_LOG_SETTINGS = frozenset({"basicConfig", "dictConfig", "fileConfig", "lastResort", "handlers"})
_STREAMS = frozenset({"redirect_stdout", "redirect_stderr", "stdout", "stderr"})
ENTERING = frozenset({"__enter__", "__exit__", "__aenter__", "__aexit__"})
"""Only ``with`` calls them."""
SHOWING = frozenset(
    {
        "__str__",
        "__repr__",
        "__format__",
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__hash__",
        "__bool__",
        "__len__",
        "__contains__",
    }
)
"""Special methods that say how a thing is shown and compared: what they give is a text, a number, or yes and no."""
_QUIET_METHODS = ENTERING | {"__init__", "__post_init__", "__new__", "__class_getitem__", "__call__"}


@dataclass(frozen=True, slots=True)
class Names:
    """Names of one file."""

    imported: dict[str, str]
    """Name -> what was imported under it, dotted."""
    functions: frozenset[str]
    """Plain functions: neither methods nor decorated, and their names mean nothing else."""
    classes: frozenset[str]
    own: frozenset[str]
    """Everything that the file defines or assigns, attributes too: such a name is not the library's."""
    attributes: frozenset[str]
    """What its classes define and what it assigns to attributes: a method of such a name is not the library's."""
    methods: frozenset[str]
    """Methods of its plain classes that are only ever called on what is known to be an object of such a class."""
    hooks: frozenset[str]
    """Attributes that may run code when they are read: what a class body makes by a call, and what decorators make."""
    properties: frozenset[str]
    """Properties of its plain classes: reading one runs its body, which is known."""
    containers: frozenset[str]
    """Variables that only ever hold containers made here."""
    special: frozenset[str]
    """Special methods that Python calls where no call is written."""
    overloads: bool
    """Some class has operators of its own that may do more than compute."""
    own_handlers: bool
    """It says itself where a logger writes."""
    own_stdout: bool
    """It says itself where ``print`` writes."""
    aliases: bool
    """A module goes by another name, so that no method's name tells what it does."""

    def dotted(self, node: ast.expr) -> str:
        """The imported thing that ``node`` names, such as ``os.path.join``; "" for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        known = self.imported.get(node.id) if isinstance(node, ast.Name) and node.id not in self.own else None
        return ".".join([known, *reversed(parts)]) if known else ""


def names_of(tree: ast.AST) -> Names:
    """The names of a parsed file."""
    imported = _imported(tree)
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    methods = {s.name for c in classes for s in ast.walk(c) if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)}
    plain = [
        n.name
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and not n.decorator_list and n.name not in methods
    ]
    own = own_names(tree)
    stored = _stored(tree)
    said = set(imported) | {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    known = _known_methods(tree, classes)
    properties = _properties(tree, classes)
    special = {m for m in methods | stored if m.startswith("__") and m.endswith("__")} - _QUIET_METHODS
    return Names(
        imported=imported,
        functions=frozenset(p for p in plain if p not in stored and plain.count(p) == 1),
        classes=frozenset(c.name for c in classes),
        own=own,
        attributes=frozenset(
            methods
            | {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
            | {n for c in classes for s in c.body for n in _stored(s)}
        ),
        methods=known,
        hooks=frozenset(methods) - known - properties | _made_by_calls(classes),
        properties=properties,
        containers=_containers(tree),
        special=frozenset(special),
        overloads=bool(special),
        own_handlers=any(n.endswith("Handler") or n in _LOG_SETTINGS for n in said),
        own_stdout=bool(said & _STREAMS),
        aliases=_aliases(tree, imported) or "*" in imported,
    )


def _known_methods(tree: ast.AST, classes: list[ast.ClassDef]) -> frozenset[str]:
    """Methods defined once, whose names stand nowhere but behind objects of plain classes of this file, or are none of the
    library's."""
    plain = [c for c in classes if _is_plain(c)]
    found = [s for c in plain for s in c.body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef) and s.args.args]
    objects = _objects(tree, {c.name for c in plain}, found)
    bound = Counter(_bound(tree))
    known = objects | {n for n in _imported(tree) if bound[n] == 1}
    elsewhere = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and getattr(n.value, "id", None) not in known}
    others = library.names(set(_imported(tree).values()))
    put = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)}
    elsewhere = elsewhere if others is None else elsewhere & others | put
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    said = {n.arg for n in ast.walk(tree) if isinstance(n, ast.keyword)}
    here = _bound_in_classes(classes)
    once = {s.name for s in found if not s.decorator_list and here[s.name] == 1}
    return frozenset(once - elsewhere - texts - said - _special(tree))


def _properties(tree: ast.AST, classes: list[ast.ClassDef]) -> frozenset[str]:
    """Methods under a plain ``@property`` whose names no class has twice and no statement sets."""
    found = [s for c in classes if _is_plain(c) for s in c.body if isinstance(s, ast.FunctionDef)]
    under = {s.name for s in found if [getattr(d, "id", "") for d in s.decorator_list] == ["property"]}
    bound = _bound_in_classes(classes)
    bound.update(n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load))
    return frozenset(p for p in under if bound[p] == 1) if "property" not in _bound(tree) else frozenset()


def _bound_in_classes(classes: list[ast.ClassDef]) -> Counter[str]:
    """How often a name is bound in the body of a class: what a function calls its own is no attribute."""
    parts = [s for c in classes for s in c.body]
    named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return Counter(n for s in parts for n in ([s.name] if isinstance(s, named) else _bound(s)))


def _is_plain(node: ast.ClassDef) -> bool:
    """Whether all that an object of the class has stands in its body."""
    decorated = any("dataclass" not in ast.dump(d) for d in node.decorator_list)
    return not decorated and not node.keywords and not node.bases


def _objects(tree: ast.AST, plain: set[str], methods: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> set[str]:
    """Names bound once, to a new object of a class; and the first argument of methods, where it means nothing else."""
    bound = Counter(_bound(tree))
    if any(bound[c] > 1 for c in plain):
        return set()
    made = set()
    for node in ast.walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        call = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(call, ast.Call) and getattr(call.func, "id", None) in plain:
            made.add(target.id)
    firsts = Counter(m.args.args[0].arg for m in methods if not m.decorator_list)
    return {n for n in made if bound[n] == 1} | {n for n, times in firsts.items() if bound[n] == times}


def _special(tree: ast.AST) -> set[str]:
    """Special methods' names: Python itself calls those."""
    return {name for name in _bound(tree) if name.startswith("__") and name.endswith("__")}


def _bound(tree: ast.AST) -> list[str]:
    """Every name that the file binds, in whatever scope and way, as often as it does."""
    out = []
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                out.append(node.id)
            case ast.arg():
                out.append(node.arg)
            case ast.alias():
                out.append(node.asname or node.name.partition(".")[0])
            case ast.Global() | ast.Nonlocal():
                out += node.names * 2
            case ast.MatchMapping():
                out.append(str(node.rest))
            case (
                ast.FunctionDef()
                | ast.AsyncFunctionDef()
                | ast.ClassDef()
                | ast.ExceptHandler()
                | ast.MatchAs()
                | ast.MatchStar()
            ):
                out.append(str(node.name))
    return out


def own_names(tree: ast.AST) -> frozenset[str]:
    """Names that the file itself defines: they are not the built-in ones, nor the library's."""
    names = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    arguments = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    return frozenset(names | attributes | arguments | _stored(tree))


def _stored(tree: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _imported(tree: ast.AST) -> dict[str, str]:
    out: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            out |= {a.asname or a.name.partition(".")[0]: a.name if a.asname else a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            out |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return out


def _made_by_calls(classes: list[ast.ClassDef]) -> frozenset[str]:
    made = [s for c in classes for s in c.body if isinstance(s, ast.Assign | ast.AnnAssign)]
    made = [s for s in made if isinstance(s.value, ast.Call | ast.Lambda) and "field" not in ast.dump(s.value)]
    return frozenset(n.id for s in made for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _containers(tree: ast.AST) -> frozenset[str]:
    """Variables all of whose values are displays, comprehensions or calls that make a container."""
    good: set[str] = set()
    bad = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    seen: set[int] = set()
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign):
                seen.add(id(target))
                (good if node.value is None or _is_container(node.value) else bad).add(target.id)
    bad |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in seen}
    return frozenset(good - bad)


def _is_container(value: ast.expr) -> bool:
    if isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp):
        return True
    func = value.func if isinstance(value, ast.Call) else None
    return isinstance(func, ast.Name) and func.id in _CONTAINERS


def _aliases(tree: ast.AST, imported: dict[str, str]) -> bool:
    """Whether a whole module is used as a value."""
    modules = {name for name, dotted in imported.items() if "." not in dotted}
    under = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    return any(isinstance(n, ast.Name) and n.id in modules and id(n) not in under for n in ast.walk(tree))

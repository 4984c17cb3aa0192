"""No work at import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst
import libcst.matchers as m

from verifiers.conventions.foreign import foreign
from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile, Severity

PURE_CALLS = frozenset({
    "re.compile", "frozenset", "set", "dict", "list", "tuple", "str", "int", "float", "bool", "bytes", "range", "len",
    "sorted", "min",
    "max", "sum", "object", "abs", "round", "pathlib.Path", "pathlib.PurePath", "pathlib.PurePosixPath", "types.MappingProxyType",
    "typing.TypeVar", "typing.NewType", "typing.cast", "typing.NamedTuple", "typing.TypedDict", "collections.namedtuple",
    "enum.auto",
    "dataclasses.field", "decimal.Decimal", "fractions.Fraction", "datetime.timedelta", "collections.OrderedDict", "zip",
    "enumerate",
    "logging.getLogger", "structlog.get_logger", "textwrap.dedent", "str.maketrans", "operator.itemgetter", "operator.attrgetter",
    "string.Template", "functools.partial", "functools.lru_cache", "functools.cache", "functools.wraps", "dataclasses.dataclass",
    "contextlib.contextmanager", "enum.unique", "staticmethod", "classmethod", "property", "typing.final", "typing.overload",
    "contextlib.asynccontextmanager", "functools.total_ordering", "functools.cached_property", "typing.runtime_checkable",
    "chr", "ord",
    "dict.fromkeys", "collections.Counter", "collections.deque", "collections.defaultdict", "json.loads", "struct.Struct",
    "bytes.fromhex",
    "itertools.chain", "itertools.product", "os.path.join", "os.path.basename", "os.path.dirname", "os.path.splitext",
    "os.environ.get", "os.getenv",
    "abc.abstractmethod", "typing.override", "asyncio.Lock", "threading.Lock", "functools.singledispatch", "pydantic.Field",
    "pydantic.ConfigDict",
})  # fmt: skip
PURE_METHODS = frozenset({
    "join", "split", "strip", "splitlines", "format", "replace", "lower", "upper", "encode", "decode", "items", "keys", "values",
    "with_suffix", "union", "joinpath", "maketrans", "register",
})  # fmt: skip


class ImportEffects(Rule):
    id = "conventions-import-effects"
    title = "Does importing the file do nothing but define things?"
    why = (
        "Hosts import every skill file when they start, and the sandbox before it looks. What runs at import runs "
        "unasked, outside every replay, with nobody's arguments. Allowed at module level: docstring, imports, functions, "
        "classes, constants made of literals and of calls that only compute (`re.compile`, `frozenset`, `Path`, a "
        "logger). A main guard does not run on import and only gets a warning. In the `omni` profile the host's own "
        "decorators and classes are known to its loader; what else of the host, of the project or of a package is called "
        "only warns, also in a branch or in a function of the file that calls nothing else."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (
        skill(
            "constants",
            TOUCH,
            head='PATTERN = re.compile(r"a+")\nNAMES = ("a", "b")',
            imports="import re\nfrom pathlib import Path\n\n",
        ),
        skill("a helper", TOUCH, head="\ndef helper(n: int = 3) -> int:\n    return n\n"),
        skill(
            "a class",
            TOUCH,
            head="\nclass Odd(ValueError):\n    code = 3\n\n    def text(self) -> str:\n        return str(self)\n",
        ),
    )
    bad = (
        skill("a call", TOUCH, head='Path("marker").touch()'),
        skill("a constant made by reading", TOUCH, head='TEXT = Path("a").read_text()'),
        skill("a loop", TOUCH, head="for name in NAMES:\n    name.strip()", imports="from pathlib import Path\n\nNAMES = []\n"),
        skill("a default that is computed", TOUCH, head="\ndef helper(n: int = len(input())) -> int:\n    return n\n"),
        skill(
            "a decorator that runs", TOUCH, head="import atexit\n\n\n@atexit.register\ndef helper() -> None:\n    return None\n"
        ),
        skill("a class body that runs", TOUCH, head='\nclass Odd:\n    code = open("a")\n'),
        skill("an annotation that runs", TOUCH, head='\ndef helper(n: print("x")) -> int:\n    return n\n'),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        yield from self._suite(module, module.tree.body)

    def _suite(self, module: SkillModule, body: object) -> Iterator[Violation]:
        for node in body if isinstance(body, list | tuple) else ():
            if isinstance(node, cst.SimpleStatementLine):
                yield from self._suite(module, node.body)
            elif isinstance(node, cst.BaseSmallStatement):
                yield from self._small(module, node)
            elif isinstance(node, cst.FunctionDef):
                yield from self._function(module, node)
            elif isinstance(node, cst.ClassDef):
                yield from self._impure(module, [*node.bases, *node.keywords, *(d.decorator for d in node.decorators)], "a class")
                yield from self._suite(module, node.body.body)
            elif isinstance(node, cst.If) and module.dotted(node.test) in ("typing.TYPE_CHECKING", "TYPE_CHECKING"):
                continue
            elif isinstance(node, cst.If) and module.code(node.test).startswith("__name__"):
                yield Violation(node, "the main guard is not part of the skill", "warning")
            elif isinstance(node, cst.If | cst.Try) and self._only_imports(node):
                continue
            elif isinstance(node, cst.If | cst.Try) and module.profile == "omni":
                yield from self._branches(module, node)
            else:
                yield Violation(node, "work at import: the module level runs a statement")

    def _branches(self, module: SkillModule, node: cst.CSTNode) -> Iterator[Violation]:
        for child in node.children:
            if isinstance(child, cst.BaseSuite):
                yield from self._suite(module, child.body)
            elif isinstance(child, cst.If | cst.Else | cst.ExceptHandler | cst.Finally):
                yield from self._branches(module, child)
            elif isinstance(child, cst.BaseExpression):
                yield from self._impure(module, [child], "a condition")

    @staticmethod
    def _only_imports(node: cst.CSTNode) -> bool:
        """``try: import a except ImportError: import b`` and version switches."""
        todo, small = [node], []
        while todo:
            for child in todo.pop().children:
                if isinstance(child, cst.BaseSmallStatement):
                    small.append(child)
                else:
                    todo.append(child)
        return all(isinstance(s, cst.Import | cst.ImportFrom | cst.Pass) for s in small) and bool(small)

    def _small(self, module: SkillModule, node: cst.BaseSmallStatement) -> Iterator[Violation]:
        if isinstance(node, cst.Import | cst.ImportFrom | cst.Pass):
            return
        if isinstance(node, cst.Expr) and isinstance(node.value, cst.SimpleString | cst.ConcatenatedString | cst.Ellipsis):
            return
        if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call) and module.profile == "omni":
            yield from self._impure(module, [node.value], "the module level")
            return
        if isinstance(node, cst.Assign | cst.AnnAssign):
            targets = [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]
            if all(isinstance(t, cst.Name | cst.Tuple) for t in targets):
                parts = [node.value, getattr(node, "annotation", None)]
                yield from self._impure(module, [p for p in parts if p is not None], "a constant")
                return
        yield Violation(node, "work at import: the module level runs a statement")

    def _function(self, module: SkillModule, node: cst.FunctionDef) -> Iterator[Violation]:
        own = module.skill_decorator(node)
        parts: list[cst.CSTNode] = [d.decorator for d in node.decorators if d is not own]
        yield from self._decorators(module, node, own)
        if own is not None:
            parts.append(own.decorator)
        parts += [node.params, *([node.returns] if node.returns is not None else [])]
        yield from self._impure(module, parts, f"the definition of {node.name.value}")

    @staticmethod
    def _decorators(module: SkillModule, node: cst.FunctionDef, own: cst.Decorator | None) -> Iterator[Violation]:
        """A decorator is a call, also where it is only named."""
        local = {s.name.value for s in module.tree.body if isinstance(s, cst.FunctionDef)}
        for decorator in node.decorators:
            called = decorator.decorator
            name = module.dotted(called.func if isinstance(called, cst.Call) else called)
            harmless = name in PURE_CALLS or name in local or name.rpartition(".")[2] in ("setter", "register", "getter")
            known = foreign(module, called.func if isinstance(called, cst.Call) else called)
            if decorator is not own and not known and (not harmless or name == "atexit.register"):
                yield Violation(decorator, f"work at import: the decorator {name or 'here'} runs when the file is imported")

    def _impure(self, module: SkillModule, parts: list[cst.CSTNode], what: str) -> Iterator[Violation]:
        todo = list(reversed(parts))
        while todo:
            node = todo.pop()
            if isinstance(node, cst.Lambda):
                continue
            if isinstance(node, cst.Await | cst.NamedExpr) or (isinstance(node, cst.Call) and not self._pure(module, node)):
                known = isinstance(node, cst.Call) and self._known(module, node, set())
                severity: Severity = "warning" if known else "error"
                said = f"work at import: {what} calls {module.code(node).splitlines()[0][:60]}"
                yield Violation(node, said, severity)
                if not known:
                    continue
            todo.extend(reversed(node.children))

    def _known(self, module: SkillModule, call: cst.Call, seen: set[str]) -> bool:
        """Whether it is work of the host's or the project's own, or of a function of the file that does nothing else."""
        if foreign(module, call.func):
            return True
        functions = {s.name.value: s for s in module.tree.body if isinstance(s, cst.FunctionDef)}
        name = call.func.value if isinstance(call.func, cst.Name) else ""
        if module.profile != "omni" or name not in functions or name in seen:
            return False
        calls = m.findall(functions[name].body, m.Call())
        return all(self._pure(module, c) or self._known(module, c, seen | {name}) for c in calls if isinstance(c, cst.Call))

    @staticmethod
    def _pure(module: SkillModule, call: cst.Call) -> bool:
        name = module.dotted(call.func)
        last = name.rpartition(".")[2]
        if name in PURE_CALLS or last in ("Query", "skill_command", "get_logger", "getLogger"):
            return True
        local = {s.name.value for s in module.tree.body if isinstance(s, cst.ClassDef)}
        method = isinstance(call.func, cst.Attribute) and call.func.attr.value in PURE_METHODS and name != "atexit.register"
        # A class of the host's, not a function of it: what it makes when it is imported is made by every host.
        return method or name in local or (module.of_host(name) and last[:1].isupper())


RULE = ImportEffects()

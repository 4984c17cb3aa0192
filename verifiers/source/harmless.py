"""Whether evaluating an expression of a skill can do anything but read and compute. What is not known is taken to act."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

from verifiers.source.names import Names

_PURE = frozenset({
    "str", "repr", "ascii", "len", "int", "float", "bool", "complex", "sorted", "list", "tuple", "set", "frozenset", "dict",
    "min", "max", "sum", "abs", "round", "range", "enumerate", "zip", "reversed", "isinstance", "issubclass", "type", "ord",
    "chr", "any", "all", "bytes", "bytearray", "format", "divmod", "pow", "hash", "hex", "oct", "bin", "iter", "next", "slice",
    *(name for name, thing in vars(builtins).items() if isinstance(thing, type) and issubclass(thing, Exception)),
})  # fmt: skip
"""Built-in functions that only compute, and exceptions, which are no more than made."""

_PURE_METHODS = frozenset({
    "join", "format", "decode", "encode", "strip", "rstrip", "lstrip", "splitlines", "split", "rsplit", "partition",
    "rpartition", "lower", "upper", "title", "capitalize", "startswith", "endswith", "removeprefix", "removesuffix", "count",
    "find", "rfind", "index", "rindex", "get", "items", "keys", "values", "isdigit", "isdecimal", "isalnum", "isalpha",
    "isspace", "isupper", "islower", "isidentifier", "zfill", "ljust", "rjust", "center", "translate", "casefold",
    "expandtabs", "hex", "group", "groups", "groupdict", "start", "end", "span", "match", "search", "fullmatch", "findall",
    "finditer", "as_posix", "relative_to", "is_relative_to", "with_suffix", "with_name", "with_stem", "joinpath", "is_file",
    "is_dir", "is_symlink", "is_mount", "exists", "stat", "lstat", "read_text", "read_bytes", "iterdir", "glob", "rglob",
    "resolve", "absolute", "expanduser", "is_absolute", "readlink", "samefile", "read", "readline", "readlines", "seek",
    "tell", "digest", "hexdigest", "infolist", "namelist", "getmembers", "getnames", "getinfo", "getmember", "extractfile",
    "isoformat", "strftime", "timestamp", "union", "intersection", "difference", "most_common", "elements", "total",
    "bit_length", "as_integer_ratio", "fileno", "issym", "isfile", "isdir", "islnk",
})  # fmt: skip
"""Methods of texts, containers, paths, matches and files that only read or compute."""

_COLLECTING = frozenset(
    [
        "append",
        "extend",
        "insert",
        "add",
        "update",
        "setdefault",
        "discard",
        "sort",
        "reverse",
        "appendleft",
        "extendleft",
        "move_to_end",
    ]
)
"""Methods that change the container that they are called on: computing where that is one of the skill's own."""

_PURE_MODULES = frozenset({
    "os.path", "posixpath", "math", "json", "re", "string", "textwrap", "fnmatch", "stat", "errno", "unicodedata", "difflib",
    "bisect", "statistics", "hashlib", "base64", "binascii", "zlib", "datetime", "collections", "copy", "csv", "html",
    "itertools", "heapq", "decimal", "fractions", "typing", "operator", "enum", "struct",
})  # fmt: skip
"""Modules whose functions only read and compute, given values that do no more than that."""

_PURE_FUNCTIONS = frozenset({
    "os.stat", "os.lstat", "os.listdir", "os.scandir", "os.readlink", "os.fspath", "os.fsencode", "os.fsdecode", "os.getcwd",
    "os.access", "os.walk", "pathlib.Path", "pathlib.PurePath", "pathlib.PurePosixPath", "pathlib.Path.cwd", "glob.glob",
    "glob.iglob", "glob.escape", "shlex.quote", "shlex.split", "shlex.join", "zipfile.is_zipfile", "tarfile.is_tarfile",
    "filecmp.cmp", "io.StringIO", "io.BytesIO", "shutil.which", "urllib.parse.quote", "urllib.parse.unquote",
    "contextlib.nullcontext", "contextlib.suppress", "ast.literal_eval", "sys.getsizeof", "configparser.ConfigParser",
    "asyncio.sleep", "dataclasses.field",
})  # fmt: skip

_CALLED = {
    "map": 0, "filter": 0, "itertools.starmap": 0, "itertools.takewhile": 0, "itertools.dropwhile": 0, "itertools.filterfalse": 0,
    "functools.reduce": 0, "itertools.accumulate": 1, "itertools.groupby": 1, "collections.defaultdict": 0, "re.sub": 1,
    "re.subn": 1,
}  # fmt: skip
"""Functions that call what they are given, and the place of that."""
_HIGHER = frozenset({
    "methodcaller", "attrgetter", "itemgetter", "partial", "csv.writer", "csv.DictWriter", "json.dump", "json.load",
    "csv.reader",
})  # fmt: skip
"""Names of functions that are not harmless as such although their module is: they call what they are given, or write."""
_READS = frozenset({"csv.reader", "csv.DictReader", "json.load"})
_CALLBACKS = frozenset({
    "key", "default", "cls", "onerror", "onexc", "hook", "default_factory", "copy_function", "ignore", "func", "repl",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Harmless:
    """Judges expressions of one file."""

    names: Names
    acting: frozenset[str] = frozenset()
    """Functions of the file that act."""

    def acts(self, node: ast.AST | None) -> bool:
        """Whether evaluating ``node`` may do more than read and compute."""
        return node is not None and any(self._acts_itself(n) for n in evaluated(node))

    def calls(self, node: ast.AST) -> list[ast.Call]:
        """The calls in ``node`` that may act."""
        return [n for n in ast.walk(node) if isinstance(n, ast.Call) and self._call_acts(n)]

    def harmless_function(self, node: ast.expr) -> bool:
        """Whether calling what ``node`` names is known to do no more than read and compute."""
        if isinstance(node, ast.Constant | ast.JoinedStr):
            return True  # a text, which nothing calls
        if isinstance(node, ast.Lambda):
            return not self.acts(node.body)
        if isinstance(node, ast.Name) and node.id not in self.names.imported:
            own = node.id in self.names.functions | self.names.classes and node.id not in self.acting
            return own or (node.id in _PURE and node.id not in self.names.own)
        dotted = self.names.dotted(node)
        if dotted:
            return dotted in _PURE_MODULES or self._harmless_dotted(dotted)
        plain = isinstance(node, ast.Attribute) and not self.names.aliases and node.attr in _PURE_METHODS - {"start"}
        return plain and isinstance(node, ast.Attribute) and node.attr not in self.names.attributes | self.names.methods

    def _acts_itself(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return True
        if isinstance(node, ast.Await) and not isinstance(node.value, ast.Call):
            return True
        if isinstance(node, ast.Call):
            return self._call_acts(node)
        hooks = self.names.hooks | (self.names.properties & self.acting)
        if isinstance(node, ast.Attribute) and (node.attr in hooks or not isinstance(node.ctx, ast.Load)):
            return True
        # With operators of its own, any operator of the file may be a call.
        return self.names.overloads and not isinstance(node, ast.Name | ast.Constant | ast.expr_context | ast.keyword)

    def _call_acts(self, call: ast.Call) -> bool:
        func = call.func
        if any(k.arg is None or not self._harmless_keyword(k) for k in call.keywords) and not self._own(func):
            return True
        if isinstance(func, ast.Name) and func.id == "print" and "print" not in self.names.own:
            return self.names.own_stdout or any(k.arg == "file" for k in call.keywords)
        if isinstance(func, ast.Name) and func.id == "open" and "open" not in self.names.own:
            return not _reads(call, 1)
        dotted = self.names.dotted(func)
        plain = func.id if isinstance(func, ast.Name) and func.id not in self.names.own and not dotted else dotted
        if (place := _CALLED.get(plain)) is not None:
            starred = any(isinstance(a, ast.Starred) for a in call.args)
            return starred or not all(map(self.harmless_function, call.args[place : place + 1]))
        if dotted:
            return not self._harmless_dotted(dotted)
        if isinstance(func, ast.Name) and func.id == "iter" and len(call.args) > 1:
            return True  # it calls what it is given until that gives the second
        if isinstance(func, ast.Name):
            return not self.harmless_function(func)
        return not (isinstance(func, ast.Attribute) and self._harmless_method(call, func))

    def _own(self, func: ast.expr) -> bool:
        return isinstance(func, ast.Name) and func.id in self.names.functions | self.names.classes

    def _harmless_keyword(self, word: ast.keyword) -> bool:
        calls_it = word.arg in _CALLBACKS or str(word.arg).startswith(("object_", "parse_"))
        return not calls_it or self.harmless_function(word.value)

    def _harmless_dotted(self, dotted: str) -> bool:
        if dotted in _READS or dotted in _PURE_FUNCTIONS:
            return True
        if dotted in _CALLED:
            return False  # where it is not called here, nobody knows what it will call
        module, _, name = dotted.rpartition(".")
        return (module in _PURE_MODULES or _is_pure_class(module)) and name not in _HIGHER and dotted not in _HIGHER

    def _harmless_method(self, call: ast.Call, func: ast.Attribute) -> bool:
        if func.attr in self.names.methods and not self.names.aliases:
            return func.attr not in self.acting
        if func.attr in self.names.attributes or self.names.aliases:
            return False
        if func.attr == "open":
            return _reads(call, 0)
        if func.attr == "replace":  # of a text: of a path it takes one, and moves the file
            return len(call.args) in (2, 3)
        if func.attr == "copy":
            return not call.args
        if func.attr == "start":  # of a match: a thread does what it was made for
            return not any(thing.partition(".")[0] == "threading" for thing in self.names.imported.values())
        if func.attr in ("sub", "subn"):  # of a pattern
            return bool(call.args) and self.harmless_function(call.args[0])
        if func.attr in _COLLECTING:
            return _root(func.value) in self.names.containers
        return func.attr in _PURE_METHODS


def _is_pure_class(dotted: str) -> bool:
    """Whether it is a class of a module that only computes, such as ``datetime.date``."""
    module, _, name = dotted.rpartition(".")
    return module in _PURE_MODULES and name not in _HIGHER and isinstance(getattr(import_module(module), name, None), type)


def evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is in it, without the bodies of lambdas: those run when called, if ever."""
    yield node
    inner: Iterator[ast.AST] = iter([node.args]) if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node)
    for child in inner:
        yield from evaluated(child)


def _root(node: ast.expr) -> str:
    """The variable in which ``node`` stands: ``found`` of ``found[-1].lines``; "" for none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _reads(call: ast.Call, place: int) -> bool:
    """Whether a call of ``open`` says itself that it is for reading. ``place`` is where it has its mode."""
    words = {k.arg: k.value for k in call.keywords}
    mode = words.get("mode", call.args[place] if len(call.args) > place else ast.Constant("r"))
    return (
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and set(mode.value) <= set("rbtU")
        and "opener" not in words
    )

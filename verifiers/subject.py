"""From a skill file to a ``Subject``: the one public function, its parameters, its declared hints.

Reads the text only; nothing of the skill is imported or run. A file that does not parse is still a Subject, one without
parameters: not parsing is a judgment (check ``parses``), not an error.
"""

from __future__ import annotations

import ast
import os
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from sandbox.interface import JsonValue
from verifiers.interface import Parameter, Profile, SkillFileError, Subject
from verifiers.source.docstring import Docstring, parse_docstring
from verifiers.source.parsing import parsed

HINTS = ("read_only", "destructive", "idempotent", "open_world")
MAX_BYTES = 1 << 20
"""A larger file is not a skill."""

_WARNINGS = threading.Lock()

FunctionNode: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"


@dataclass(frozen=True, slots=True)
class ParseProblem:
    """Why a text is no Python module."""

    message: str
    line: int
    column: int = 0
    """1-based; 0 where unknown."""


def load_subject(path: str | Path, profile: Profile | None = "seed", function: str = "") -> Subject:
    """The Subject of the file at ``path``; shown relative to the working directory where it lies below it.

    Args:
        profile: What it should look like; None = as its imports say.
        function: Which one, where the file has several.

    Raises:
        SkillFileError: missing, unreadable, a directory, not text, larger than ``MAX_BYTES``, or without that function.
    """
    where = Path(path)
    data = read_regular(where)
    if len(data) > MAX_BYTES:
        raise SkillFileError(f"is larger than {MAX_BYTES} bytes", "A skill is one short Python file.", where)
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SkillFileError(f"is not UTF-8 text (byte {error.start})", "A skill is a Python source file.", where) from error
    if "\0" in source:
        raise SkillFileError("is not text (it has NUL bytes)", "A skill is a Python source file.", where)
    subject = parse_subject(source.replace("\r\n", "\n").replace("\r", "\n"), _shown(where), profile, function=function)
    if function and subject.name != function:
        known = ", ".join(commands(subject.source)) or "none"
        raise SkillFileError(f"has no @skill_command function {function}", f"It has: {known}", where)
    nameless = subject.name == where.stem == "skill" and not subject.parameters and not subject.description
    return replace(subject, name=where.resolve().parent.name) if nameless else subject


def read_regular(where: Path) -> bytes:
    """At most ``MAX_BYTES`` and one more of a regular file; devices and pipes are not read, for they may have no end.

    Raises:
        SkillFileError: it cannot be read, or is no regular file.
    """
    try:
        fd = os.open(where, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb", closefd=True) as f:
            mode = os.fstat(f.fileno()).st_mode
            if stat.S_ISREG(mode):
                return f.read(MAX_BYTES + 1)
    except IsADirectoryError:
        mode = stat.S_IFDIR
    except OSError as error:
        why = error.strerror or str(error)
        raise SkillFileError(f"cannot be read ({why})", "Check the path and its permissions.", where) from error
    if stat.S_ISDIR(mode):
        raise SkillFileError("is a directory", "Name the skill file in it.", where)
    raise SkillFileError("is not a regular file", "A skill is one short Python file.", where)


def parse_subject(
    source: str, path: str | Path, profile: Profile | None = "seed", name: str | None = None, function: str = ""
) -> Subject:
    """The Subject of a text. ``name`` overrides the public function's name; without a profile its imports tell it."""
    stem = Path(path).stem
    tree = parse_module(source)
    profile = profile or ("omni" if not isinstance(tree, ParseProblem) and _imports_omni(tree) else "seed")
    if isinstance(tree, ParseProblem):
        return Subject(name or stem, str(path), source, profile=profile)
    chosen = skill_function(tree, function)
    if chosen is None:
        return Subject(name or stem, str(path), source, profile=profile)
    doc = documentation(chosen)
    queries = {"Query"} | _aliases(tree, "Query")
    return Subject(
        name=name or chosen.name,
        path=str(path),
        source=source,
        parameters=tuple(_parameters(chosen, doc, queries)),
        hints=declared_hints(chosen),
        profile=profile,
        description=doc.summary,
        line=chosen.lineno,
        function=function,
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Compiles without warnings: invalid escapes and the like are for ruff to say. Safe in threads, which ``warnings`` is not."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def source_lines(source: str) -> list[str]:
    """The lines as Python and the linters count them, without their ends: form feeds and the like break none."""
    return source.split("\n")


def parse_module(source: str) -> ast.Module | ParseProblem:
    """The syntax tree, or why there is none. Whatever the text, nothing is raised."""
    try:
        with quiet():
            tree = parsed(source)
            compile(tree, "<skill>", "exec", dont_inherit=True)  # 'return' outside a function and the like
            return tree
    except SyntaxError as error:
        return ParseProblem(error.msg or "invalid syntax", max(error.lineno or 1, 1), max(error.offset or 0, 0))
    except RecursionError:
        return ParseProblem("nested too deeply to be read", 1)
    except MemoryError:
        return ParseProblem("too complex to be read", 1)
    except ValueError as error:  # NUL bytes, lone surrogates, integers of thousands of digits
        return ParseProblem(str(error), 1)


def skill_functions(tree: ast.Module) -> list[FunctionNode]:
    """Every module-level function that carries the ``skill_command`` decorator, in order."""
    aliases = {"skill_command"} | _aliases(tree, "skill_command")
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(_decorator_name(d) in aliases for d in node.decorator_list)
    ]


def commands(source: str) -> list[str]:
    """Names of the public skill functions of a text, in order."""
    tree = parse_module(source)
    found = [] if isinstance(tree, ParseProblem) else skill_functions(tree)
    return [f.name for f in found if not f.name.startswith("_")]


def host_commands(source: str) -> list[str]:
    """The same where the file is the host's, in which each function is a skill; none for any other file."""
    tree = parse_module(source)
    return commands(source) if not isinstance(tree, ParseProblem) and _imports_omni(tree) else []


def skill_function(tree: ast.Module, name: str = "") -> FunctionNode | None:
    """The public one among them (the first, should there be more), or the one of that name; None for none."""
    found = skill_functions(tree)
    if name:
        return next((f for f in found if f.name == name), None)
    return next((f for f in found if not f.name.startswith("_")), found[0] if found else None)


def decorator_call(function: FunctionNode) -> ast.Call | None:
    """The ``skill_command(...)`` call; None where the decorator is bare."""
    calls = (d for d in function.decorator_list if isinstance(d, ast.Call))
    named = [c for c in calls if _decorator_name(c) == "skill_command"]
    return named[0] if named else next((d for d in function.decorator_list if isinstance(d, ast.Call)), None)


def declared_hints(function: FunctionNode) -> dict[str, bool]:
    """The MCP hints that the decorator spells out as literals."""
    call = decorator_call(function)
    return {
        k.arg: k.value.value
        for k in (call.keywords if call else ())
        if k.arg in HINTS and isinstance(k.value, ast.Constant) and isinstance(k.value.value, bool)
    }


def documentation(function: FunctionNode) -> Docstring:
    """What docstring and decorator description say together; the docstring comes first."""
    own = parse_docstring(ast.get_docstring(function) or "")
    call = decorator_call(function)
    texts = [
        k.value.value
        for k in (call.keywords if call else ())
        if k.arg == "description" and isinstance(k.value, ast.Constant) and isinstance(k.value.value, str)
    ]
    decorated = parse_docstring(texts[0] if texts else "")
    return own.merged(decorated)


def _shown(path: Path) -> str:
    shown = os.path.relpath(path)
    return path.as_posix() if shown.startswith("..") else Path(shown).as_posix()


def _imports_omni(tree: ast.Module) -> bool:
    """Whether the decorator comes from the host's own package, and not from ours."""
    origins = [
        n.module or "" for n in tree.body if isinstance(n, ast.ImportFrom) and any(a.name == "skill_command" for a in n.names)
    ]
    return any(origin.partition(".")[0] == "omni" for origin in origins)


def _aliases(tree: ast.Module, name: str) -> set[str]:
    """Other names under which ``name`` is imported."""
    return {
        item.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for item in node.names
        if item.name == name and item.asname
    }


def _decorator_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _parameters(function: FunctionNode, doc: Docstring, queries: set[str]) -> Iterator[Parameter]:
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    padding: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    pairs = [*zip(positional, [*padding, *args.defaults], strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    for arg, default in pairs:
        annotation = ast.unparse(arg.annotation) if arg.annotation is not None else ""
        query = default if isinstance(default, ast.Call) and _decorator_name(default) in queries else None
        if query is None:
            description, required, value = "", default is None, _literal(default)
        else:
            description, required, value = _query(query)
        yield Parameter(arg.arg, annotation, description or doc.notes.get(arg.arg, ""), required, value, arg.lineno)


def _query(call: ast.Call) -> tuple[str, bool, JsonValue]:
    """Description, whether a value must be given, default."""
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    default = call.args[0] if call.args else keywords.get("default")
    required = default is None or (isinstance(default, ast.Constant) and default.value is Ellipsis)
    text = _literal(keywords.get("description"))
    return text if isinstance(text, str) else "", required, None if required else _literal(default)


def _literal(node: ast.expr | None) -> JsonValue:
    """The JSON value that an expression spells out; None for anything else."""
    if node is None:
        return None
    try:
        return _json(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _json(value: object) -> JsonValue:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_json(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _json(v) for k, v in value.items()}
    raise ValueError(f"no JSON value: {value!r}")

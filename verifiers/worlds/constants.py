"""What a skill's own text mentions: numbers to go beyond and words to try.

A limit or a special case that no recording meets is invisible until a generated workspace meets it; the skill's constants say
where to look. They only choose what is tried, never what is right.
"""

from __future__ import annotations

import ast
import codecs
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from verifiers.subject import ParseProblem, parse_module
from verifiers.worlds.tokens import tokens

LARGEST = 1 << 21
"""Beyond this a number is no size that a trial can reach."""
MOST_WORDS = 24
LONGEST_TEXT = 60
LONGEST_PART = 12
MOST_BITS = 40
_OPTION = re.compile(r"(?:-[a-z-]*=?)?([0-9]{1,7})")
"""A number that a program is told: ``20``, ``-n20``, ``--max-count=20``."""
_FOLDS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow, ast.LShift: operator.lshift,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants of a skill's functions."""

    numbers: tuple[int, ...] = ()
    """Distinct whole numbers from 2 to ``LARGEST``, in ascending order, those that programs are told too."""
    words: tuple[str, ...] = ()
    """Tokens of its texts, three letters or more, in order of appearance."""
    texts: tuple[str, ...] = ()
    """Its texts of one line that may stand in a file: no patterns, two to sixty characters."""
    parts: tuple[str, ...] = ()
    """Its texts that may be a part of a word."""
    forms: tuple[str, ...] = ()
    """Runs of three letters or more in its patterns."""


NO_CONSTANTS = Constants()


def constants(source: str) -> Constants:
    """The constants of a skill's text; none where it does not parse. Docstrings and parameter defaults are left out."""
    tree = parse_module(source)
    if isinstance(tree, ParseProblem):
        return NO_CONSTANTS
    values = _values(tree)
    said = [int(m[1]) for t in _texts(values) if (m := _OPTION.fullmatch(t))]
    numbers = {v for v in (*values, *said) if isinstance(v, int) and not isinstance(v, bool) and 2 <= v <= LARGEST}
    words = dict.fromkeys(t for text in _texts(values) for t in tokens(text) if len(t) > 2 and not t.isdecimal())
    whole = dict.fromkeys(t for t in _texts(values) if 2 <= len(t) <= LONGEST_TEXT and t.isprintable() and "\\" not in t)
    parts = [
        t for t in dict.fromkeys(_texts(values)) if 0 < len(t) <= LONGEST_PART and t.isprintable() and not set(t) & set(" /\\")
    ]
    forms = dict.fromkeys(t for text in _texts(values) if "\\" in text for t in tokens(text) if len(t) > 2 and not t.isdecimal())
    found = (tuple(f)[:MOST_WORDS] for f in (words, whole, parts, forms))
    return Constants(tuple(sorted(numbers)), *found)


def texts(source: str) -> list[str]:
    """The texts that a skill's statements mention; none where it does not parse. Docstrings and parameter defaults are left
    out."""
    tree = parse_module(source)
    return [] if isinstance(tree, ParseProblem) else _texts(_values(tree))


def _values(tree: ast.Module) -> list[object]:
    nodes = [node for body in _bodies(tree) for node in ast.walk(body)]
    codings = {id(value) for node in nodes if isinstance(node, ast.Call) for value in _codings(node)}
    return [folded(node) for node in nodes if id(node) not in codings and folded(node) is not None]


def _codings(call: ast.Call) -> Iterator[ast.expr]:
    """What a call says of how bytes are read: the name of an encoding is no text of the task. It has to be one: what is only
    handed on as one may be anything."""
    method = isinstance(call.func, ast.Attribute) and call.func.attr in ("encode", "decode")
    given = [*(call.args if method else ()), *(k.value for k in call.keywords if k.arg in ("encoding", "errors"))]
    yield from (value for value in given if isinstance(value, ast.Constant) and _is_coding(value.value))


def _is_coding(value: object) -> bool:
    for known in (codecs.lookup, codecs.lookup_error):
        with suppress(LookupError, ValueError):
            return isinstance(value, str) and known(value) is not None
    return False


def folded(node: ast.AST) -> object:
    """The constant that an expression is, arithmetic and joined text included: ``1024 * 1024``. None where it is none."""
    if isinstance(node, ast.Constant):
        return node.value
    if not isinstance(node, ast.BinOp) or type(node.op) not in _FOLDS:
        return None
    left, right = folded(node.left), folded(node.right)
    if isinstance(left, str) and isinstance(right, str) and isinstance(node.op, ast.Add):
        return left + right
    if not isinstance(left, int) or not isinstance(right, int) or max(abs(left), abs(right)) > LARGEST:
        return None
    if isinstance(node.op, ast.Pow | ast.LShift) and not 0 <= right <= MOST_BITS:
        return None
    return _FOLDS[type(node.op)](left, right)


def _texts(values: Sequence[object]) -> list[str]:
    return [v if isinstance(v, str) else v.decode("utf-8", "replace") for v in values if isinstance(v, str | bytes)]


def _bodies(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements of functions and of the module, without docstrings and without the heads of functions."""
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            todo = [*node.body, *todo]
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield node

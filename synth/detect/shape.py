"""The shape of a shell command: names, flags and structure stay, literals go. Parsed by tree-sitter, never run.

Two commands of one shape differ only in literals, which is what anti-unification can turn into parameters.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from tree_sitter import Node

from synth.detect.commands import (
    BUNDLED,
    FIND_TESTS,
    GIT_READS,
    IGNORED_FLAGS,
    INTERPRETERS,
    OBSERVERS,
    OPERANDS_BEFORE,
    PROGRAM_FLAGS,
    PROGRAM_NEXT,
    PROGRAMMED,
    SEARCHERS,
    SHORT,
    SUBCOMMANDS,
    SURROUNDINGS,
    TAKES_VALUES,
    WRAPPERS,
    WRITING_FLAGS,
)
from synth.detect.programs import CODE, REGEX, SETS, program_shape
from verifiers.shell.quoting import unquote
from verifiers.shell.syntax import Syntax, below


@dataclass(frozen=True, slots=True)
class Shape:
    """What one statement is made of."""

    skeleton: str
    names: tuple[str, ...]
    """Commands that run, nested ones included, in order."""
    literals: tuple[str, ...]
    """Words and parts of words that were taken out, as written, unquoted."""
    observes: bool
    """Changes no file, as far as its text tells."""
    moves: bool
    """A plain ``cd``."""


@dataclass(slots=True)
class _Walk:
    syntax: Syntax
    variables: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    writes: bool = False
    moved: bool = False

    def variable(self, name: str) -> str:
        if not name.isidentifier():
            return name
        return self.variables.setdefault(name, f"v{len(self.variables)}")

    def text(self, node: Node) -> str:
        return self.syntax.text(node)

    def unquoted(self, node: Node) -> str:
        return unquote(self.syntax.text(node))


@lru_cache(maxsize=50_000)
def shapes_of(command: str, moved: bool = False) -> tuple[Shape, ...]:
    """The shapes of a command line's statements: what stands between ``;``, ``&&`` and line ends, outside of loops and functions.

    Args:
        command: Text that is no shell gets shapes too: of what could be parsed of it.
        moved: Whether a ``cd`` came before.
    """
    syntax = Syntax(command)
    try:
        return tuple(_shapes(syntax.root, _Walk(syntax, moved=moved)))
    except RecursionError:  # nested some hundred levels deep: like nothing but itself
        return (Shape(command, (), (), observes=False, moves=False),)


def _shapes(root: Node, walk: _Walk) -> Iterator[Shape]:
    for nodes in _statements(root):
        shape = _shape(nodes, walk)
        walk = _Walk(walk.syntax, walk.variables, moved=walk.moved or shape.moves)
        yield shape


def _statements(node: Node) -> Iterator[tuple[Node, ...]]:
    """The nodes of each statement; of a list that all of must succeed, each member."""
    for child in node.named_children:
        body = child.child_by_field_name("body") if child.type == "redirected_statement" else None
        if body is not None and _all_of(body):
            # The grammar hangs a redirection on the whole list; the shell applies it to the last command.
            *before, last = _statements_of(body)
            yield from before
            yield (*last, *(c for c in child.named_children if c != body))
        else:
            yield from _statements_of(child)


def _statements_of(node: Node) -> list[tuple[Node, ...]]:
    if _all_of(node) or node.type in ("compound_statement", "subshell"):
        return list(_statements(node))
    return [] if node.type == "comment" else [(node,)]


def _all_of(node: Node) -> bool:
    return node.type == "list" and bool(node.named_children) and all(c.is_named or c.type == "&&" for c in node.children)


def _shape(nodes: tuple[Node, ...], walk: _Walk) -> Shape:
    skeleton = re.sub(r"\s+", " ", " ".join(_node(n, walk) for n in nodes)).strip()
    moves = walk.names == ["cd"]
    return Shape(skeleton, tuple(walk.names), tuple(walk.literals), not walk.writes and not moves, moves)


def _node(node: Node, walk: _Walk) -> str:
    kind = node.type
    if kind == "command":
        return _command(node, walk)
    if kind in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
        return _redirect(node, walk)
    if kind == "for_statement":
        for child in node.children_by_field_name("variable"):
            walk.variable(walk.text(child))
    if not node.is_named:
        return ";" if walk.text(node) == "\n" else walk.text(node)
    if kind == "comment":
        return ""
    if kind in _WORDS:
        return _word(node, walk, "")
    return " ".join(_node(child, walk) for child in node.children)


_WORDS = frozenset(
    """
    word string raw_string ansi_c_string concatenation number simple_expansion expansion translated_string command_substitution
    process_substitution variable_name string_content regex extglob_pattern arithmetic_expansion
    """.split()  # noqa: SIM905 -- a list of words reads better as text
)


def _command(node: Node, walk: _Walk) -> str:
    """One simple command: its (sub)command name, flags as they are, runs of literal operands as one."""
    name_node = node.child_by_field_name("name")
    name = walk.unquoted(name_node) if name_node is not None else ""
    name = name.rpartition("/")[2] if name.startswith("/") else name
    walk.names.append(name)
    assigned = below(node, "variable_assignment")
    out = [_node(c, walk) for c in assigned if walk.text(c).partition("=")[0] not in SURROUNDINGS]
    out.append(name)
    out += _arguments(name, list(node.children_by_field_name("argument")), walk)
    out += [_redirect(c, walk) for c in node.children if c.type.endswith("_redirect")]
    return " ".join(_collapsed(out))


def _collapsed(parts: list[str]) -> list[str]:
    """Runs of equal literals as one, so that arity does not matter."""
    out: list[str] = []
    for part in parts:
        if part and not (out and part == out[-1] and part in ("L", "G")):
            out.append(part)
    return out


@dataclass(slots=True)
class _Reader:
    """Where in a command's words the reading is."""

    name: str
    """Whose operands these are: the command, or the one that it runs (``find -exec``, ``xargs``)."""
    host: str
    program_due: bool
    nested: bool
    sub_due: bool
    keep_next: bool = False
    values_due: int = 0
    """Words that belong to the flag before."""
    last: str = ""
    """The word before."""
    before: int = 0
    """Operands that come before the program."""


def _arguments(name: str, arguments: list[Node], walk: _Walk) -> list[str]:
    if name not in OBSERVERS and name not in WRAPPERS and name not in ("cd", "pushd", "popd"):
        walk.writes = walk.writes or not (name == "git" and _git_reads(arguments, walk))
    first = walk.text(arguments[0]) if arguments else ""
    due = name in SUBCOMMANDS and not (name in BUNDLED and first.startswith("-"))
    state = _Reader(name, name, name in PROGRAMMED, name in WRAPPERS, due, before=OPERANDS_BEFORE.get(name, 0))
    out = []
    for argument in arguments:
        out.append(_argument(argument, state, walk))
        state.last = walk.unquoted(argument)
    return _find(out) if name == "find" else out


def _argument(argument: Node, state: _Reader, walk: _Walk) -> str:
    text = walk.unquoted(argument)
    pattern = WRITING_FLAGS.get(state.name)
    if pattern is not None and pattern.fullmatch(text):
        walk.writes = True
    if state.keep_next:
        state.keep_next = False
        return text
    text = SHORT.get(state.name, {}).get(text, text)
    if text in PROGRAM_NEXT and state.name in REGEX:
        _expect(text, state)
        return ""
    if text in IGNORED_FLAGS or (text == "-r" and state.name == "xargs"):
        return ""
    if state.values_due:
        state.values_due -= 1
        return _word(argument, walk, state.name)
    if text.startswith("-") and len(text) > 1 and argument.type in ("word", "number", "concatenation"):
        state.keep_next = state.host == "find" and text == "-type"
        if state.host == "find" and text in ("-exec", "-execdir", "-ok"):
            state.nested = True
        elif state.host == "find" and not state.nested:
            state.name, state.program_due = ("find", False) if text in FIND_TESTS else (state.name, state.program_due)
        _expect(text, state)
        return _flag(text, walk)
    if state.nested and argument.type == "word" and re.fullmatch(r"[\w./+-]*[a-zA-Z][\w.+-]*", text):
        return _inner_command(text, state, walk)
    if state.sub_due:
        state.sub_due = False
        return text
    if state.program_due and state.name in INTERPRETERS and state.last not in PROGRAM_FLAGS:
        state.program_due = False
        return text  # a script's name says what is done
    if state.before:
        state.before -= 1
        return _word(argument, walk, state.name)
    if state.program_due and argument.type in ("string", "raw_string", "word", "ansi_c_string", "concatenation"):
        return _program(text, state, walk)
    return _word(argument, walk, state.name)


def _expect(flag: str, state: _Reader) -> None:
    """What comes after a flag of a command that takes a program: the flag's values, the program, or no program any more."""
    state.values_due = TAKES_VALUES.get(state.name, {}).get(flag, 0)
    if state.name in PROGRAMMED - SETS:
        state.program_due = (state.program_due or flag in PROGRAM_FLAGS) and not (flag == "-f" and state.values_due)


def _inner_command(text: str, state: _Reader, walk: _Walk) -> str:
    """A command that this command runs: its name stays, its operands are read as its own."""
    walk.names.append(text)
    walk.writes = walk.writes or text not in OBSERVERS
    state.nested, state.name = text in WRAPPERS, text
    state.program_due, state.sub_due = text in PROGRAMMED, text in SUBCOMMANDS
    return text


def _program(text: str, state: _Reader, walk: _Walk) -> str:
    state.program_due = state.name in SETS
    if state.name in CODE:
        walk.writes = walk.writes or bool(re.search(r">\s*\"|\bopen\(.*['\"][wa]|print\s*>", text))
    else:
        walk.literals.append(text)
    return program_shape(state.name, text)


def _find(parts: list[str]) -> list[str]:
    """``find``'s leading tests in one order (``-type f -name X`` is ``-name X -type f``), and where it starts told."""
    head = list(itertools.takewhile(lambda p: not p.startswith("-"), parts))
    rest, tests = parts[len(head) :], []
    head = head or ["."]
    while len(rest) >= 2 and rest[0] in FIND_TESTS and not rest[1].startswith("-"):
        tests.append(rest[:2])
        rest = rest[2:]
    return head + [word for test in sorted(tests) for word in test] + rest


def _git_reads(arguments: list[Node], walk: _Walk) -> bool:
    words = [walk.text(a) for a in arguments if not walk.text(a).startswith("-")]
    return words in (["tag"], ["branch"], ["remote"]) or (bool(words) and words[0] in GIT_READS)


def _flag(text: str, walk: _Walk) -> str:
    """A flag with its attached value taken out: ``--name=x`` and ``-n5``."""
    head, eq, value = text.partition("=")
    if eq:
        walk.literals.append(value)
        return f"{head}=L"
    if re.search(r"\d", text):
        walk.literals += re.findall(r"\d+", text)
    return re.sub(r"\d+", "N", text)


def _redirect(node: Node, walk: _Walk) -> str:
    """A redirection; anything written to other than /dev/null and descriptors counts as a change."""
    if node.type == "heredoc_redirect":
        body = "".join(walk.syntax.lines(c) for c in below(node, "heredoc_body"))
        walk.literals.append(body)
        rest = [c for c in node.children if c.is_named and c.type not in ("heredoc_start", "heredoc_body", "heredoc_end")]
        reader = walk.names[-1] if walk.names else ""
        said = program_shape(reader, body) if reader in CODE | INTERPRETERS else "L"
        return " ".join([f"<<{said}", *(_node(c, walk) for c in rest)])
    operator = "".join(walk.text(c) for c in node.children if not c.is_named)
    target = node.child_by_field_name("destination") or (node.children[-1] if node.children else node)
    text = walk.unquoted(target)
    descriptor = "".join(walk.text(c) for c in below(node, "file_descriptor"))
    if text == "/dev/null" or operator.endswith("&"):
        return f"{descriptor}{operator}{text}" if text != "/dev/null" else ""
    if ">" in operator:
        walk.writes = True
    return f"{descriptor}{operator} {_word(target, walk, '')}"


def _word(node: Node, walk: _Walk, command: str) -> str:
    """``L`` a literal, ``G`` one with a glob, ``.`` and ``{}`` themselves; expansions by their structure."""
    kind = node.type
    if kind in ("command_substitution", "process_substitution"):
        return "$( " + " ".join(_node(c, walk) for c in node.named_children) + " )"
    if kind == "simple_expansion":
        return "$" + walk.variable(walk.text(node)[1:])
    if kind == "variable_name":
        return walk.variable(walk.text(node))
    if kind == "expansion":
        return _expansion(node, walk)
    if kind == "arithmetic_expansion":
        return "$((" + re.sub(r"[A-Za-z_]\w*", "w", walk.text(node)[3:-2]).replace(" ", "") + "))"
    if kind in ("string", "concatenation", "translated_string") and any(_expands(c) for c in node.named_children):
        parts = [_word(c, walk, command) for c in node.named_children]
        return re.sub("[LG]{2,}", "L", "".join(parts))
    text = walk.unquoted(node)
    if text == "." and walk.moved and command in SEARCHERS:
        return "L"
    if text in (".", "-", "{}", "", ";", "+", "!", "(", ")", "/") or (text == "*" and kind == "word"):
        return "" if text in (";", "+") else text
    if "{}" in text:
        walk.literals += [p for p in text.split("{}") if p]
        return "{}".join("L" if p else "" for p in text.split("{}"))
    if kind == "number" or text.isdecimal():
        walk.literals.append(text)
        return "L"
    found = re.match(r"([A-Za-z_]+)=(.*)", text, re.DOTALL)
    if found and command in ("dd", "env", "make", ""):
        walk.literals.append(found[2])
        return f"{found[1]}=L"
    walk.literals.append(text)
    return "G" if kind in ("word", "concatenation", "extglob_pattern") and re.search(r"[*?\[]", text) else "L"


def _expands(node: Node) -> bool:
    if node.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion", "process_substitution"):
        return True
    return node.type in ("string", "concatenation") and any(_expands(c) for c in node.named_children)


def _expansion(node: Node, walk: _Walk) -> str:
    """``${name…}``: the operator stays, what it takes off is a literal."""
    text = walk.text(node)[2:-1]
    found = re.match(r"([#!]?)(\w+)(.*)", text, re.DOTALL)
    if found is None:
        return "${}"
    mark, name, rest = found.groups()
    operator = re.match(r"%%|%|##|#|//|/|\^\^|\^|,,|,|:-|:=|:\+|:", rest)
    if operator is None:
        return f"${mark}{walk.variable(name)}"
    walk.literals.append(rest[operator.end() :])
    return f"${{{mark}{walk.variable(name)}{operator[0]}L}}"

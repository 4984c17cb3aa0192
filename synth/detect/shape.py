"""The shape of a shell command: names, flags and structure stay, literals go. Parsed, never run.

Two commands of one shape differ only in literals, which is what anti-unification can turn into parameters.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from synth.detect.commands import (
    ALIASES,
    BUNDLED,
    FIND_TESTS,
    IGNORED_FLAGS,
    INTERPRETERS,
    PROGRAM_FLAGS,
    PROGRAM_NEXT,
    SEARCHERS,
    SHORT,
    SUBCOMMANDS,
    SURROUNDINGS,
)
from synth.detect.programs import CODE, REGEX, program_shape
from verifiers.shell.commands import inner_commands, leading_options, roles
from verifiers.shell.effects import may_change
from verifiers.shell.parse import parse
from verifiers.shell.script import parse_script, squeeze
from verifiers.shell.tree import (
    Arith,
    Command,
    Feed,
    For,
    Glob,
    Group,
    Lit,
    Part,
    Redirect,
    Seq,
    ShellError,
    Simple,
    Sub,
    Test,
    TooDeep,
    Var,
    Verbatim,
    Word,
    literal_word,
    rebuilt,
    spelled,
)  # fmt: skip
from verifiers.shell.unparse import command as unparse


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


@lru_cache(maxsize=50_000)
def shapes_of(command: str, moved: bool = False) -> tuple[Shape, ...]:
    """The shapes of a command line's statements: what stands between ``;``, ``&&`` and line ends, outside of loops and functions.

    Args:
        command: Text that is no shell, or more than is understood, gets one shape, of the words that are seen in it.
        moved: Whether a ``cd`` came before.
    """
    try:
        tree = parse(command)
    except TooDeep:  # like nothing but itself
        return (Shape(command, (), (), observes=False, moves=False),)
    except ShellError:
        return (_of_words(command),)
    out: list[Shape] = []
    variables: dict[str, str] = {}
    for node in _statements(tree):
        reader = _Reader(moved, variables)
        skeleton = squeeze(unparse(reader.command(node)))
        moves = reader.names == ["cd"]
        out.append(Shape(skeleton, tuple(reader.names), tuple(reader.literals), not moves and not may_change(node), moves))
        moved = moved or moves
    return tuple(out)


def _of_words(command: str) -> Shape:
    """What is seen of text that is not understood: it counts as work."""
    words = parse_script((command,)).words
    names = tuple(w.text for w in words if w.slot == "name")
    literals = tuple(w.text for w in words if w.slot not in ("name", "option"))
    kinds = _collapsed(w.text if w.slot in ("name", "option") else "L" for w in words)
    return Shape(squeeze(" ".join(kinds)), names, literals, observes=False, moves=False)


def _statements(node: Seq) -> Iterator[Command]:
    """The commands of a sequence, those apart that depend on each other: of a list that all of must succeed, each."""
    first = 0
    for end, join in enumerate((*node.joins, ";"), 1):
        if join in (";", "&"):
            items, joins = node.items[first:end], node.joins[first : end - 1]
            if "||" in joins:
                yield Seq(items, joins)
            else:
                yield from (inner for item in items for inner in _inside(item))
            first = end


def _inside(node: Command) -> Iterator[Command]:
    if isinstance(node, Group) and not node.redirects:
        yield from _statements(node.body)
    elif isinstance(node, Seq):
        yield from _statements(node)
    else:
        yield node


def _collapsed(parts: Iterable[str]) -> list[str]:
    """Runs of equal literals as one, so that arity does not matter."""
    return [p for p, run in itertools.groupby(filter(None, parts)) for p in ([p] if p in ("L", "G") else run)]


_OPERATOR = re.compile(r"[!=<>]=?|=~|-[a-z]{1,2}|&&|\|\||\(|\)")
_FLAG = re.compile(r"--?[A-Za-z0-9][^\s=]*(=.*)?", re.DOTALL)


@dataclass(slots=True)
class _Reader:
    """Takes one statement apart: the same tree, with what its words are in their place."""

    moved: bool
    variables: dict[str, str]
    names: list[str] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)

    def command(self, node: Command) -> Command:
        out = self.blank(node)
        assert isinstance(out, Command)
        return out

    def blank(self, node: object) -> object:
        if isinstance(node, Simple):
            return self.simple(node)
        if isinstance(node, Word):
            return literal_word(self.word(node))
        if isinstance(node, Redirect):
            return self.redirect(node)
        if isinstance(node, Test):
            inner = (w if _OPERATOR.fullmatch(w.literal or "") else self.blank(w) for w in node.words)
            return Test(tuple(w for w in inner if isinstance(w, Word)), node.double)
        if isinstance(node, For):
            var, words = self.variable(node.var), tuple(map(literal_word, _collapsed(map(self.word, node.words))))
            return replace(node, var=var, words=words, body=rebuilt(node.body, self.blank))
        return rebuilt(node, self.blank)

    def variable(self, name: str) -> str:
        return self.variables.setdefault(name, f"v{len(self.variables)}") if name.isidentifier() else name

    # ------------------------------------------------------------ simple commands

    def simple(self, node: Simple) -> Simple:
        """Its (sub)command name, flags as they are, runs of literal operands as one."""
        given = [(name, value) for name, value in node.assigns if name not in SURROUNDINGS]
        assigns = tuple((self.variable(name), literal_word(self.word(value))) for name, value in given)
        words = tuple(map(literal_word, self.line(node.words))) if node.words else ()
        return Simple(words, tuple(map(self.redirect, node.redirects)), assigns)

    def line(self, words: Sequence[Word]) -> list[str]:
        name = spelled(words[0])
        name = name.rpartition("/")[2] if name.startswith("/") else name
        self.names.append(name)
        return [name, *_collapsed(self.arguments(name, words[1:]))]

    def arguments(self, name: str, words: Sequence[Word]) -> list[str]:
        inner = dict(inner_commands(name, [spelled(w) for w in words]))
        kinds = _interpreted(words) if name in INTERPRETERS else roles(ALIASES.get(name, name), words)
        out: list[str] = []
        at, sub_due = 0, name in SUBCOMMANDS and not (name in BUNDLED and words and spelled(words[0]).startswith("-"))
        leading = leading_options(name, [spelled(w) for w in words])
        while at < len(words):
            if at in inner:
                out += self.line(words[at : inner[at]])
                at = inner[at]
                continue
            word, text, before = words[at], spelled(words[at]), spelled(words[at - 1]) if at else ""
            flag = _FLAG.fullmatch(text) is not None and (kinds[at] == "syntax" or "=" in text)
            if name == "find" and before == "-type":
                out.append(text)
            elif flag or text in IGNORED_FLAGS:
                out.append(self.flag(name, SHORT.get(name, {}).get(text, text), word))
            elif at >= leading and (sub_due or (kinds[at] == "syntax" and name in INTERPRETERS)):
                out.append(text)
                sub_due = False
            else:
                out.append(self.program(name, text) if kinds[at] == "script" else self.word(word, name))
            at += 1
        return _find(out) if name == "find" else out

    def program(self, name: str, text: str) -> str:
        if name not in CODE:
            self.literals.append(text)
        return program_shape(name, text)

    def flag(self, name: str, text: str, word: Word) -> str:
        """A flag with its attached value taken out: ``--name=x`` and ``-n5``."""
        said_by_order = text in PROGRAM_NEXT and name in REGEX
        if said_by_order or text in IGNORED_FLAGS or (text == "-r" and name == "xargs"):
            return ""
        if word.literal is None:
            return "".join(re.sub(r"\d+", "N", p.text) if isinstance(p, Lit) else self.part(p) for p in word.parts)
        head, equals, value = text.partition("=")
        self.literals += [value] if equals else re.findall(r"\d+", text)
        return f"{head}=L" if equals else re.sub(r"\d+", "N", text)

    def redirect(self, r: Redirect) -> Redirect:
        if r.op == "<<":
            reader = self.names[-1] if self.names else ""
            self.literals.append(spelled(r.target))
            said = program_shape(reader, spelled(r.target)) if reader in CODE | INTERPRETERS else "L"
            return replace(r, target=literal_word(said))
        plain = r.target.literal == "/dev/null" or r.op in (">&", "<&")
        return replace(r, target=literal_word(spelled(r.target) if plain else self.word(r.target)))

    # ------------------------------------------------------------ words

    def word(self, word: Word, command: str = "") -> str:
        """``L`` a literal, ``G`` one with a glob, ``.`` and ``{}`` themselves; expansions by their structure."""
        text = spelled(word)
        if not all(isinstance(p, Lit | Glob) for p in word.parts):
            return re.sub("[LG]{2,}", "L", "".join(map(self.part, word.parts)))
        if text == "." and self.moved and command in SEARCHERS:
            return "L"
        if text in (".", "-", "{}", "", ";", "+", "!", "(", ")", "/") or word.parts == (Glob("*"),):
            return "" if text in (";", "+") else text
        if "{}" in text:
            self.literals += [p for p in text.split("{}") if p]
            return "{}".join("L" if p else "" for p in text.split("{}"))
        found = re.fullmatch(r"([A-Za-z_]+)=(.*)", text, re.DOTALL) if command in ("dd", "env", "make") else None
        self.literals.append(found[2] if found else text)
        return f"{found[1]}=L" if found else "G" if word.has_glob else "L"

    def part(self, part: Part) -> str:
        if isinstance(part, Sub | Feed):
            return f"$( {unparse(self.command(part.body))} )"
        if isinstance(part, Var) and not part.op:
            return "$" + self.variable(part.name)
        if isinstance(part, Var):
            self.literals += [spelled(a) for a in part.args]
            return f"${{{self.variable(part.name)}{part.op}L}}"
        if isinstance(part, Arith) or (isinstance(part, Verbatim) and part.text.startswith("$((")):
            return "$((" + re.sub(r"[A-Za-z_]\w*", "w", part.text.removeprefix("$((").removesuffix("))")).replace(" ", "") + "))"
        if isinstance(part, Verbatim):
            return re.sub(r"[A-Za-z_]\w*", lambda m: self.variable(m[0]), part.text, count=1)
        self.literals.append(spelled(Word((part,))))
        return "G" if isinstance(part, Glob) else "L"


def _interpreted(words: Sequence[Word]) -> list[str]:
    """Roles of an interpreter's words: the program behind its flag, else the script's name, which says what is done."""
    out, due, before = [], True, ""
    for word in words:
        flag = _FLAG.fullmatch(spelled(word)) is not None
        kind = "script" if before in PROGRAM_FLAGS else "syntax"
        out.append("syntax" if flag else kind if due else "operand")
        due = due and flag
        before = spelled(word)
    return out


def _find(parts: list[str]) -> list[str]:
    """``find``'s leading tests in one order (``-type f -name X`` is ``-name X -type f``), and where it starts told."""
    head = list(itertools.takewhile(lambda p: not p.startswith("-"), parts))
    rest, tests = parts[len(head) :], []
    head = head or ["."]
    while len(rest) >= 2 and rest[0] in FIND_TESTS and not rest[1].startswith("-"):
        tests.append(rest[:2])
        rest = rest[2:]
    return head + [word for test in sorted(tests) for word in test] + rest

"""The words of recorded commands, broken ones too: where a parser sees them, with the quotes taken off. Not for running."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from verifiers.shell.quoting import expand_braces, unquote
from verifiers.shell.syntax import Node, Syntax
from verifiers.shell.tree import ShellError

WORDS = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number", "brace_expression",
     "regex", "extglob_pattern", "heredoc_body", "simple_expansion", "expansion", "arithmetic_expansion"}
)  # fmt: skip
_NESTED = frozenset({"command_substitution", "process_substitution", "subshell"})
_STATEMENTS = frozenset(
    {"command", "pipeline", "list", "redirected_statement", "for_statement", "while_statement", "if_statement",
     "case_statement", "compound_statement", "subshell", "declaration_command"}
)  # fmt: skip
_PLACES = {"file_redirect": ">", "herestring_redirect": "<<<", "variable_assignment": "="}
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_MAX_NESTING = 3
_MAX_EXPANSIONS = 64


@dataclass(frozen=True, slots=True)
class Token:
    """One word, where it stands."""

    text: str
    """Without its quotes; expansions as written."""
    program: str
    """Name of the command that it is an argument of ("" outside any; the name itself for a command's name)."""
    slot: str
    """Its place: the option's name for an option's value, ``#n`` for the n-th other argument, ``>`` for a redirection."""
    step: int
    """Index of the recorded command."""
    call: int = -1
    """Where its simple command starts in the recorded command: tells two calls of one program apart. -1 outside any."""
    written: str = ""
    """With its quotes, as the command has it."""

    def expanded(self) -> list[str]:
        """What its braces make of it, without quotes: at most ``_MAX_EXPANSIONS`` words, each once."""
        if "{" not in self.written or self.slot == "=":
            return [self.text]
        with contextlib.suppress(ShellError):
            return list(dict.fromkeys(map(unquote, expand_braces(self.written, _MAX_EXPANSIONS))))
        return [self.text]


@dataclass(frozen=True, slots=True)
class Script:
    """What a parse of recorded commands says."""

    words: tuple[Token, ...]
    statements: frozenset[str]
    """Every command, pipeline or compound of two words or more, white space normalised."""
    directories: tuple[str, ...]
    """Literal directories that ``cd`` went to, joined, relative."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Names that were set to a literal; the last one wins."""


@lru_cache(maxsize=512)
def parse_script(commands: tuple[str, ...]) -> Script:
    """Words and statements of recorded commands, nested ``sh -c`` scripts included. Broken shell gives what can be read."""
    words: list[Token] = []
    statements: set[str] = set()
    variables: dict[str, str] = {}
    for step, command in enumerate(commands):
        reader = _Reader(step, statements, variables)
        with contextlib.suppress(RecursionError):  # nested some hundred levels deep: what was read before that stays
            reader.read(command)
        words += reader.words
        if len(command.split()) > 1:
            statements.add(squeeze(command))
    return Script(tuple(words), frozenset(statements), tuple(_directories(words)), variables)


def squeeze(text: str) -> str:
    """Text with every run of white space as one space."""
    return " ".join(text.split())


class _Reader:
    """Collects what one recorded command says."""

    def __init__(self, step: int, statements: set[str], variables: dict[str, str]) -> None:
        self.step = step
        self.statements = statements
        self.variables = variables
        self.words: list[Token] = []

    def read(self, command: str, depth: int = 0) -> None:
        self.syntax = Syntax(command)
        own = list(self.walk(self.syntax.root, "", ""))
        self.words += own
        # A shell may be what another program starts: find -exec sh -c '...', xargs bash -c '...'.
        shells = {w.call for w in own if w.text.rpartition("/")[2] in _SHELLS}
        for word in own if depth < _MAX_NESTING else []:
            script = word.slot == "-c" if word.call in shells else word.program == "eval" and word.slot == "#0"
            if script and word.text != command:
                self.read(word.text, depth + 1)

    def walk(self, node: Node, program: str, slot: str) -> Iterator[Token]:
        if node.type in _STATEMENTS:
            text = squeeze(self.syntax.text(node))
            if " " in text:
                self.statements.add(text)
        if node.type == "command":
            yield from self.command(node)
        elif node.type in WORDS:
            yield from self.word(node, program, slot)
        else:
            if node.type == "variable_assignment":
                self.assignment(node)
            place = _PLACES.get(node.type, slot)
            for child in node.children:
                yield from self.walk(child, program, place)

    def word(self, node: Node, program: str, slot: str, call: int = -1) -> Iterator[Token]:
        written = self.syntax.text(node)
        text = self.syntax.lines(node) if node.type == "heredoc_body" else unquote(written)
        yield Token(text, program, slot, self.step, call, "" if node.type == "heredoc_body" else written)
        yield from self.nested(node)

    def command(self, node: Node) -> Iterator[Token]:
        name = node.child_by_field_name("name")
        program = unquote(self.syntax.text(name)).rpartition("/")[2] if name is not None else ""
        option, count = "", 0
        for child in node.children:
            if child == name:
                yield Token(program, program, "name", self.step, node.start_byte, self.syntax.text(child))
                yield from self.nested(child)
            elif child.type not in WORDS:
                yield from self.walk(child, program, "")
            else:
                text = unquote(self.syntax.text(child))
                is_option = re.match(r"--?[A-Za-z]", text) is not None
                slot = "option" if is_option else option or f"#{count}"
                count += not is_option and not option
                yield from self.word(child, program, slot, node.start_byte)
                option = text if is_option and "=" not in text else ""

    def nested(self, node: Node) -> Iterator[Token]:
        for child in node.children:
            if child.type in _NESTED:
                for inner in child.children:
                    yield from self.walk(inner, "", "")
            else:
                yield from self.nested(child)

    def assignment(self, node: Node) -> None:
        name, _, value = self.syntax.text(node).partition("=")
        if name.isidentifier() and value and not re.search(r"[$`(]", value):
            self.variables[name] = unquote(value)


def _directories(words: list[Token]) -> Iterator[str]:
    here = ""
    for word in words:
        if word.program != "cd" or word.slot == "name" or "$" in word.text or word.text.startswith("/"):
            continue
        parts = [p for p in here.split("/") if p]
        for part in word.text.split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part not in ("", ".", ".."):
                parts.append(part)
        here = "/".join(parts)
        if here:
            yield here

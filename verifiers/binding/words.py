"""The words of a shell command: where a parser sees them, with the quotes taken off. For bindings, not for running."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_WORD_TYPES = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number", "brace_expression",
     "regex", "extglob_pattern", "heredoc_body", "simple_expansion", "expansion", "arithmetic_expansion"}
)  # fmt: skip
_NESTED_TYPES = frozenset({"command_substitution", "process_substitution", "subshell"})
_STATEMENT_TYPES = frozenset(
    {"command", "pipeline", "list", "redirected_statement", "for_statement", "while_statement", "if_statement",
     "case_statement", "compound_statement", "subshell", "declaration_command"}
)  # fmt: skip
_ASSIGNMENT = re.compile(r"""(?:^|[;&|(]|\b(?:export|local|then|do)\s)\s*([A-Za-z_]\w*)=("[^"$`\\]*"|'[^']*'|[\w./:@%+,~-]+)""")
_PLACES = {"file_redirect": ">", "herestring_redirect": "<<<", "variable_assignment": "="}
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_BRACES = re.compile(r"(?<!\$)\{([^{}$]*(?:,|\.\.)[^{}$]*)\}")
_POSITIONAL = re.compile(rb"(?<!\\)\$[1-9]")
_BASE = re.compile(rb"\b\d+#(?=\$)")
_MAX_NESTING = 3
_MAX_EXPANSIONS = 64


@dataclass(frozen=True, slots=True)
class Word:
    """One shell word."""

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


@dataclass(frozen=True, slots=True)
class Script:
    """What a parse of recorded commands says."""

    words: tuple[Word, ...]
    statements: frozenset[str]
    """Every command, pipeline or compound of two words or more, white space normalised."""
    directories: tuple[str, ...]
    """Literal directories that ``cd`` went to, joined, relative."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Names that were set to a literal; the last one wins."""


@lru_cache(maxsize=512)
def parse_script(commands: tuple[str, ...]) -> Script:
    """Words and statements of recorded commands, nested ``sh -c`` scripts included. Broken shell gives what can be read."""
    words: list[Word] = []
    statements: set[str] = set()
    variables: dict[str, str] = {}
    for step, command in enumerate(commands):
        with contextlib.suppress(RecursionError):  # nested some hundred levels deep: what was read before that stays
            _collect(command, step, words, statements, 0)
        variables.update((name, unquote(value)) for name, value in _ASSIGNMENT.findall(command))
        if len(command.split()) > 1:
            statements.add(squeeze(command))
    return Script(tuple(words), frozenset(statements), tuple(_directories(words)), variables)


def squeeze(text: str) -> str:
    """Text with every run of white space as one space."""
    return " ".join(text.split())


def unquote(text: str) -> str:
    """A shell word without its quotes and escapes; ``$`` expansions stay as written."""
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "'" or text.startswith("$'", at):
            start = at + (1 if char == "'" else 2)
            end = _closing(text, start, "'", escapes=char != "'")
            out.append(text[start:end] if char == "'" else c_decode(text[start:end]))
            at = end + 1
        elif char == '"':
            end = _closing(text, at + 1, '"', escapes=True)
            out.append(re.sub(r'\\([$`"\\])', r"\1", text[at + 1 : end].replace("\\\n", "")))
            at = end + 1
        elif char == "\\" and at + 1 < len(text):
            out.append("" if text[at + 1] == "\n" else text[at + 1])
            at += 2
        else:
            out.append(char)
            at += 1
    return "".join(out)


def c_decode(text: str) -> str:
    """Text with C escapes (as in ``printf`` and ``$'...'``) replaced by what they mean."""

    def one(match: re.Match[str]) -> str:
        octal, hexa, plain = match.group(1), match.group(2), match.group(3)
        if octal:
            return chr(int(octal, 8) & 0xFF)
        return chr(int(hexa, 16)) if hexa else _ANSI.get(plain, plain)

    return re.sub(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", one, text, flags=re.DOTALL)


def expand_braces(text: str, limit: int = _MAX_EXPANSIONS) -> list[str]:
    """``a{b,c}`` and ``{1..3}`` written out, innermost first; at most ``limit`` results, without repetitions."""
    todo, out = [text], dict[str, None]()
    seen = {text}
    while todo and len(out) < limit and len(seen) < 16 * limit:
        current = todo.pop()
        found = next((m for m in _BRACES.finditer(current) if _brace_items(m.group(1), 1)), None)
        if found is None:
            out[current] = None
            continue
        inner = [current[: found.start()] + item + current[found.end() :] for item in _brace_items(found.group(1), limit)]
        todo.extend(i for i in reversed(dict.fromkeys(inner)) if i not in seen)
        seen.update(inner)
    return list(out) or [text]


def _brace_items(body: str, limit: int) -> list[str]:
    span = re.fullmatch(r"(-?\d{1,9})\.\.(-?\d{1,9})", body)
    if span is None:
        return body.split(",")[:limit] if "," in body else []
    first, last = span.group(1), span.group(2)
    width = max(len(first), len(last)) if first.startswith("0") or last.startswith("0") else 0
    low, high = int(first), int(last)
    numbers = range(low, high + 1) if low <= high else range(low, high - 1, -1)
    picked = [*numbers[: limit - 1], numbers[-1]] if len(numbers) > limit else numbers
    return [str(n).zfill(width) for n in picked]


def _closing(text: str, start: int, quote: str, escapes: bool) -> int:
    at = start
    while at < len(text) and text[at] != quote:
        at += 2 if escapes and text[at] == "\\" else 1
    return min(at, len(text))


def syntax(source: bytes) -> Node:
    """The syntax tree of a shell text, by offsets into it: the parser (tree-sitter-bash 0.25) is shown what it reads rightly.

    It ends the process on ``${`` and a rare letter, takes the digit of ``a=$1-$2`` for a command, and does not know ``10#$n``, a
    number's base. For bash a letter beyond ASCII is one like any other, ``$2`` a variable, and a sum has the structure of a base.
    """
    plain = _POSITIONAL.sub(rb"$x", re.sub(rb"[\x80-\xff]", b"x", source))
    plain = _BASE.sub(lambda m: b"0" * (len(m[0]) - 1) + b"+", plain)
    return _parser().parse(plain).root_node


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _collect(command: str, step: int, words: list[Word], statements: set[str], depth: int) -> None:
    data = command.encode("utf-8", "surrogateescape")
    own = list(_walk(syntax(data), data, "", "", step, statements))
    words.extend(own)
    if depth < _MAX_NESTING:
        # A shell may be what another program starts: find -exec sh -c '...', xargs bash -c '...'.
        shells = {w.call for w in own if w.text.rpartition("/")[2] in _SHELLS}
        for word in own:
            script = word.slot == "-c" if word.call in shells else word.program == "eval" and word.slot == "#0"
            if script and word.text != command:
                _collect(word.text, step, words, statements, depth + 1)


def _text(node: Node, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "surrogateescape")


def heredoc_lines(body: Node, data: bytes) -> bytes:
    """A here-document's lines as written: its ``heredoc_body`` leaves out white space that the first of them begin with."""
    before = body.prev_sibling
    skipped = data[before.end_byte : body.start_byte].partition(b"\n")[2] if before is not None else b""
    return skipped + data[body.start_byte : body.end_byte]


def _walk(node: Node, data: bytes, program: str, slot: str, step: int, statements: set[str]) -> Iterator[Word]:
    if node.type in _STATEMENT_TYPES:
        text = squeeze(_text(node, data))
        if " " in text:
            statements.add(text)
    if node.type == "command":
        yield from _command(node, data, step, statements)
    elif node.type in _WORD_TYPES:
        here = node.type == "heredoc_body"
        text = heredoc_lines(node, data).decode("utf-8", "surrogateescape") if here else unquote(_text(node, data))
        yield Word(text, program, slot, step)
        yield from _nested(node, data, step, statements)
    else:
        place = _PLACES.get(node.type, slot)
        for child in node.children:
            yield from _walk(child, data, program, place, step, statements)


def _command(node: Node, data: bytes, step: int, statements: set[str]) -> Iterator[Word]:
    name_node = node.child_by_field_name("name")
    program = unquote(_text(name_node, data)).rpartition("/")[2] if name_node is not None else ""
    option, count = "", 0
    for child in node.children:
        if child == name_node:
            yield Word(program, program, "name", step, node.start_byte)
            yield from _nested(child, data, step, statements)
            continue
        if child.type not in _WORD_TYPES:
            yield from _walk(child, data, program, "", step, statements)
            continue
        text = unquote(_text(child, data))
        slot = option or f"#{count}"
        is_option = re.match(r"--?[A-Za-z]", text) is not None
        count += not is_option and not option
        yield Word(text, program, "option" if is_option else slot, step, node.start_byte)
        yield from _nested(child, data, step, statements)
        option = text if is_option and "=" not in text else ""


def _nested(node: Node, data: bytes, step: int, statements: set[str]) -> Iterator[Word]:
    for child in node.children:
        if child.type in _NESTED_TYPES:
            for inner in child.children:
                yield from _walk(inner, data, "", "", step, statements)
        else:
            yield from _nested(child, data, step, statements)


def _directories(words: list[Word]) -> Iterator[str]:
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

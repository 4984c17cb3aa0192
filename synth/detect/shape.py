"""The shape of a shell command: names, flags and structure stay, literals go. Parsed by tree-sitter, never run.

Two commands of one shape differ only in literals, which is what anti-unification can turn into parameters.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from functools import cache, lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from synth.detect.programs import CODE, REGEX, SETS, program_shape

_OBSERVERS = """
    ls dir cat tac head tail wc grep egrep fgrep rg find file stat du df pwd echo printf sort uniq cut tr nl od xxd hexdump md5sum
    sha1sum sha256sum sha512sum cksum sum diff cmp comm paste join column fold fmt pr expand rev seq jq yq awk gawk mawk sed which
    type whereis whoami id uname date env printenv true false test [ [[ tree less more basename dirname realpath readlink bc expr
    strings zcat bzcat xzcat zgrep history ps locate tsort factor col colrm look iconv base64 sleep wait read let : export set
    shopt declare local alias hostname nproc free uptime getent tput xargs time command exec nice numfmt shuf cal sqlite3 tar
    unzip
"""
OBSERVERS = frozenset(_OBSERVERS.split())
"""Commands that change no file of a workspace by themselves; exceptions are below."""
_WRITING_FLAGS: dict[str, re.Pattern[str]] = {
    "sed": re.compile(r"-[a-zA-Z]*i.*|--in-place.*"),
    "sort": re.compile(r"-[a-z]*o.*|--output.*"),
    "find": re.compile(r"-delete|-fprint.*|-fls"),
    "awk": re.compile(r"inplace"),
    "gawk": re.compile(r"inplace"),
    "yq": re.compile(r"-[a-z]*i.*"),
    "tar": re.compile(r"-?[a-zA-Z]*[cxru][a-zA-Z]*|--(create|extract|append|update|delete)"),
    "unzip": re.compile(r"(?!-[lpt])[^-].*"),
    "sqlite3": re.compile(r"(?is).*\b(insert|update|delete|create|drop|alter|import)\b.*"),
}
_TOOLS = """
    git svn hg docker podman kubectl helm npm yarn pnpm pip pip3 apt apt-get dpkg brew cargo go systemctl service gh aws gcloud az
    terraform conda openssl ip ufw crontab tmux nmcli journalctl make flatpak snap dnf yum poetry uv nox tar 7z ar
"""
_SUBCOMMANDS = frozenset(_TOOLS.split())
"""Tools whose first operand says what they do."""
_WRAPPERS = frozenset({"sudo", "env", "time", "nice", "nohup", "command", "exec", "xargs", "timeout", "stdbuf", "doas"})
_INTERPRETERS = frozenset({"python", "python3", "perl", "ruby", "node", "bash", "sh", "zsh", "dash"})
_PROGRAMMED = CODE | REGEX | SETS | _INTERPRETERS
_FIND_TESTS = frozenset(
    {"-name", "-iname", "-type", "-path", "-ipath", "-maxdepth", "-mindepth", "-size", "-mtime", "-newer", "-perm"}
)
_IGNORED_FLAGS = frozenset({"-print0", "-0", "--null", "-z", "-Z", "-print"})
"""Flags that choose how lists are handed on, not what is done."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one command line is made of."""

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
    variables: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    writes: bool = False

    def variable(self, name: str) -> str:
        if not name.isidentifier():
            return name
        return self.variables.setdefault(name, f"v{len(self.variables)}")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


@lru_cache(maxsize=50_000)
def shape_of(command: str) -> Shape:
    """The shape of a command line. Text that is no shell gets a shape too: what could be parsed of it."""
    walk = _Walk()
    # tree-sitter-bash 0.25 ends the process on "${" and a letter beyond the basic plane, so it does not see those.
    plain = re.sub("[\U00010000-\U0010ffff]", "x", command)
    root = _parser().parse(plain.encode("utf-8", "surrogatepass")).root_node
    skeleton = re.sub(r"\s+", " ", _node(root, walk)).strip()
    moves = walk.names == ["cd"]
    return Shape(skeleton, tuple(walk.names), tuple(walk.literals), not walk.writes and not moves, moves)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogatepass")


def _node(node: Node, walk: _Walk) -> str:
    kind = node.type
    if kind == "command":
        return _command(node, walk)
    if kind in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
        return _redirect(node, walk)
    if kind == "for_statement":
        for child in node.children_by_field_name("variable"):
            walk.variable(_text(child))
    if not node.is_named:
        return ";" if _text(node) == "\n" else _text(node)
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
    name = _unquoted(name_node) if name_node is not None else ""
    name = name.rpartition("/")[2] if name.startswith("/") else name
    walk.names.append(name)
    out = [_node(c, walk) for c in node.children if c.type == "variable_assignment"]
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
    last: str = ""
    """The word before."""


def _arguments(name: str, arguments: list[Node], walk: _Walk) -> list[str]:
    if name not in OBSERVERS and name not in _WRAPPERS and name not in ("cd", "pushd", "popd"):
        walk.writes = walk.writes or not (name == "git" and _git_reads(arguments))
    state = _Reader(name, name, name in _PROGRAMMED, name in _WRAPPERS, name in _SUBCOMMANDS)
    out = []
    for argument in arguments:
        out.append(_argument(argument, state, walk))
        state.last = _unquoted(argument)
    return _sorted_tests(out) if name == "find" else out


def _argument(argument: Node, state: _Reader, walk: _Walk) -> str:
    text = _unquoted(argument)
    pattern = _WRITING_FLAGS.get(state.name)
    if pattern is not None and pattern.fullmatch(text):
        walk.writes = True
    if state.keep_next:
        state.keep_next = False
        return text
    if text in _IGNORED_FLAGS:
        return ""
    if text.startswith("-") and len(text) > 1 and argument.type in ("word", "number", "concatenation"):
        state.keep_next = state.host == "find" and text == "-type"
        if state.host == "find" and text in ("-exec", "-execdir", "-ok"):
            state.nested = True
        elif state.host == "find" and not state.nested:
            state.name, state.program_due = ("find", False) if text in _FIND_TESTS else (state.name, state.program_due)
        return _flag(text, walk)
    if state.nested and argument.type == "word" and re.fullmatch(r"[\w./+-]*[a-zA-Z][\w.+-]*", text):
        return _inner_command(text, state, walk)
    if state.sub_due:
        state.sub_due = False
        return text
    if state.program_due and state.name in _INTERPRETERS and state.last not in ("-c", "-e", "-n", "-ne", "-pe", "-lane"):
        state.program_due = False
        return text  # a script's name says what is done
    if state.program_due and argument.type in ("string", "raw_string", "word", "ansi_c_string", "concatenation"):
        return _program(text, state, walk)
    return _word(argument, walk, state.name)


def _inner_command(text: str, state: _Reader, walk: _Walk) -> str:
    """A command that this command runs: its name stays, its operands are read as its own."""
    walk.names.append(text)
    walk.writes = walk.writes or text not in OBSERVERS
    state.nested, state.name = text in _WRAPPERS, text
    state.program_due, state.sub_due = text in _PROGRAMMED, text in _SUBCOMMANDS
    return text


def _program(text: str, state: _Reader, walk: _Walk) -> str:
    state.program_due = state.name in SETS
    if state.name in CODE:
        walk.writes = walk.writes or bool(re.search(r">\s*\"|\bopen\(.*['\"][wa]|print\s*>", text))
    else:
        walk.literals.append(text)
    return program_shape(state.name, text)


def _sorted_tests(parts: list[str]) -> list[str]:
    """``find``'s leading tests in one order: ``-type f -name X`` is ``-name X -type f``."""
    head = list(itertools.takewhile(lambda p: not p.startswith("-"), parts))
    rest, tests = parts[len(head) :], []
    while len(rest) >= 2 and rest[0] in _FIND_TESTS and not rest[1].startswith("-"):
        tests.append(rest[:2])
        rest = rest[2:]
    return head + [word for test in sorted(tests) for word in test] + rest


def _git_reads(arguments: list[Node]) -> bool:
    words = [_text(a) for a in arguments if not _text(a).startswith("-")]
    return bool(words) and words[0] in ("status", "log", "diff", "show", "ls-files", "rev-parse", "blame", "grep", "describe")


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
        walk.literals += [_text(c) for c in node.children if c.type == "heredoc_body"]
        rest = [c for c in node.children if c.is_named and c.type not in ("heredoc_start", "heredoc_body", "heredoc_end")]
        return " ".join(["<<L", *(_node(c, walk) for c in rest)])
    operator = "".join(_text(c) for c in node.children if not c.is_named)
    target = node.child_by_field_name("destination") or (node.children[-1] if node.children else node)
    text = _unquoted(target)
    descriptor = "".join(_text(c) for c in node.children if c.type == "file_descriptor")
    if text == "/dev/null" or operator.endswith("&"):
        return f"{descriptor}{operator}{text}" if text != "/dev/null" else ""
    if ">" in operator:
        walk.writes = True
    return f"{descriptor}{operator} {_word(target, walk, '')}"


def _unquoted(node: Node) -> str:
    """A word's text without its outermost quotes."""
    text = _text(node)
    if node.type in ("string", "raw_string") and len(text) >= 2:
        return text[1:-1]
    return re.sub(r"\\(.)", r"\1", text) if node.type in ("word", "command_name") else text


def _word(node: Node, walk: _Walk, command: str) -> str:
    """``L`` a literal, ``G`` one with a glob, ``.`` and ``{}`` themselves; expansions by their structure."""
    kind = node.type
    if kind in ("command_substitution", "process_substitution"):
        return "$( " + " ".join(_node(c, walk) for c in node.named_children) + " )"
    if kind == "simple_expansion":
        return "$" + walk.variable(_text(node)[1:])
    if kind == "variable_name":
        return walk.variable(_text(node))
    if kind == "expansion":
        return _expansion(node, walk)
    if kind == "arithmetic_expansion":
        return "$((" + re.sub(r"[A-Za-z_]\w*", "w", _text(node)[3:-2]).replace(" ", "") + "))"
    if kind in ("string", "concatenation", "translated_string") and any(_expands(c) for c in node.named_children):
        parts = [_word(c, walk, command) for c in node.named_children]
        return re.sub("[LG]{2,}", "L", "".join(parts))
    text = _unquoted(node)
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
    text = _text(node)[2:-1]
    found = re.match(r"([#!]?)(\w+)(.*)", text, re.DOTALL)
    if found is None:
        return "${}"
    mark, name, rest = found.groups()
    operator = re.match(r"%%|%|##|#|//|/|\^\^|\^|,,|,|:-|:=|:\+|:", rest)
    if operator is None:
        return f"${mark}{walk.variable(name)}"
    walk.literals.append(rest[operator.end() :])
    return f"${{{mark}{walk.variable(name)}{operator[0]}L}}"

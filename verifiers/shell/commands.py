"""The table of command meanings: what a command's words are, whether it only reads, how it becomes idempotent.

``Spec`` says how to take a command line apart. ``kind`` is what the command does:

* ``filter``: standard input (or the files it names) to standard output, nothing else
* ``show``: looks at the file system and prints
* ``change``: changes files; ``synth.embedded.actions`` has how each becomes idempotent
* ``shell``: changes the shell's own state only
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from verifiers.shell.tree import Lit, ShellError, Word, spelled

Kind = Literal["filter", "show", "change", "shell"]
Role = Literal["syntax", "operand", "pattern", "script", "text", "number", "format", "key"]
"""``key``: a column or a range of columns, such as ``2,2n``."""


@dataclass(frozen=True, slots=True)
class Spec:
    kind: Kind
    values: Mapping[str, Role] = field(default_factory=dict)
    """Options that take a value, short (``-n``) and long (``--lines``), with the value's role."""
    operands: tuple[Role, ...] = ("operand",)
    """Roles of the operands; the last one repeats."""
    script_option: tuple[str, ...] = ()
    """Options that stand for the first operand (``-e`` of grep and sed)."""
    joins: bool = False
    """Several files are the same as their concatenation on standard input."""
    pairs: tuple[str, ...] = ()
    """Options that take two words: a name, and a text as data (an option of its own, with the name ``""``)."""
    no_match: int = 0
    """Highest exit status that is not a failure (1: grep found nothing)."""
    helper: str = "_run"
    """What runs it in a skill: for what it prints, or for its exit status (``_holds``)."""


@dataclass(frozen=True, slots=True)
class Parsed:
    options: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        return any(n in names for n, _ in self.options)

    def value(self, *names: str) -> Word | None:
        return next((v for n, v in self.options if n in names and v is not None), None)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(n for n, _ in self.options)


_N: Mapping[str, Role] = {"-n": "number", "-c": "number", "--lines": "number", "--bytes": "number"}
_GREP: Mapping[str, Role] = {
    "-e": "script", "-f": "operand", "-m": "number", "-A": "number", "-B": "number", "-C": "number",
    "--include": "pattern", "--exclude": "pattern", "--exclude-dir": "pattern",
}  # fmt: skip
_SORT: Mapping[str, Role] = {"-k": "key", "-t": "text", "-o": "operand", "-S": "syntax", "-T": "operand"}

_TAR: Mapping[str, Role] = {
    "-f": "operand", "--file": "operand", "-C": "operand", "--directory": "operand", "--exclude": "pattern",
}  # fmt: skip

TABLE: Mapping[str, Spec] = {
    # printing
    "echo": Spec("filter", operands=("text",)),
    "printf": Spec("filter", operands=("text",)),
    "seq": Spec("filter", {"-f": "format", "-s": "text"}, ("number",)),
    # filters
    "cat": Spec("filter", joins=True),
    "sort": Spec("filter", _SORT, joins=True),
    "uniq": Spec("filter", {"-w": "number", "-f": "number", "-s": "number"}),
    "cut": Spec("filter", {"-d": "text", "-f": "text", "-c": "text", "-b": "text", "--output-delimiter": "text"}, joins=True),
    "tr": Spec("filter", operands=("script",)),
    "grep": Spec("filter", _GREP, ("script", "operand"), ("-e", "-f"), no_match=1),
    "egrep": Spec("filter", _GREP, ("script", "operand"), ("-e", "-f"), no_match=1),
    "fgrep": Spec("filter", _GREP, ("script", "operand"), ("-e", "-f"), no_match=1),
    "sed": Spec("filter", {"-e": "script", "-f": "operand"}, ("script", "operand"), ("-e", "-f"), joins=True),
    "awk": Spec("filter", {"-F": "text", "-v": "text", "-f": "operand"}, ("script", "operand"), ("-f",)),
    "gawk": Spec("filter", {"-F": "text", "-v": "text", "-f": "operand"}, ("script", "operand"), ("-f",)),
    "perl": Spec("filter", {"-e": "script"}, ("operand",), ("-e",)),
    "jq": Spec(
        "filter",
        {"--arg": "syntax", "--argjson": "syntax", "--slurpfile": "syntax", "--rawfile": "syntax", "--indent": "number"},
        ("script", "operand"),
        pairs=("--arg", "--argjson", "--slurpfile", "--rawfile"),
    ),
    "head": Spec("filter", _N),
    "tail": Spec("filter", _N),
    "wc": Spec("filter"),
    "tac": Spec("filter"),
    "rev": Spec("filter", joins=True),
    "nl": Spec("filter", {"-b": "syntax", "-w": "number", "-s": "text", "-n": "syntax", "-v": "number"}, joins=True),
    "fold": Spec("filter", {"-w": "number"}, joins=True),
    "fmt": Spec("filter", {"-w": "number"}, joins=True),
    "expand": Spec("filter", {"-t": "number"}, joins=True),
    "unexpand": Spec("filter", {"-t": "number"}, joins=True),
    "column": Spec("filter", {"-s": "text", "-o": "text", "-c": "number"}, joins=True),
    "col": Spec("filter"),
    "colrm": Spec("filter", operands=("number",)),
    "tsort": Spec("filter"),
    "base64": Spec("filter", {"-w": "number"}),
    "base32": Spec("filter", {"-w": "number"}),
    "od": Spec("filter", {"-t": "syntax", "-A": "syntax", "-N": "number"}),
    "xxd": Spec("filter", {"-l": "number", "-c": "number"}),
    "hexdump": Spec("filter", {"-e": "text", "-n": "number"}),
    "strings": Spec("filter", {"-n": "number"}),
    "bc": Spec("filter"),
    "numfmt": Spec("filter", {"--to": "syntax", "--from": "syntax", "--field": "syntax"}, ("number",)),
    "paste": Spec("filter", {"-d": "text"}),
    "join": Spec("filter", {"-t": "text", "-1": "number", "-2": "number", "-o": "syntax", "-j": "number", "-a": "number"}),
    "comm": Spec("filter"),
    "diff": Spec("filter", {"-U": "number"}, no_match=1),
    "cmp": Spec("filter", no_match=1),
    "md5sum": Spec("filter"),
    "sha1sum": Spec("filter"),
    "sha256sum": Spec("filter"),
    "sha512sum": Spec("filter"),
    "cksum": Spec("filter"),
    "sum": Spec("filter"),
    "zcat": Spec("filter"),
    "bzcat": Spec("filter"),
    "xzcat": Spec("filter"),
    "factor": Spec("filter", operands=("number",)),
    # looking
    "ls": Spec("show"),
    "find": Spec("show"),
    "stat": Spec("show", {"-c": "text", "--format": "text", "--printf": "text"}),
    "file": Spec("show"),
    "du": Spec("show", {"-d": "number", "--max-depth": "number"}),
    "df": Spec("show"),
    "readlink": Spec("show"),
    "realpath": Spec("show"),
    "basename": Spec("show", operands=("operand", "text")),
    "dirname": Spec("show"),
    "pwd": Spec("show"),
    "tree": Spec("show"),
    "test": Spec("show", operands=("operand",)),
    "which": Spec("show"),
    "type": Spec("show"),
    "id": Spec("show"),
    "date": Spec("show"),
    "whoami": Spec("show"),
    "uname": Spec("show"),
    "env": Spec("show"),
    "man": Spec("show"),
    "xargs": Spec("show", {"-n": "number", "-I": "syntax", "-d": "text", "-P": "number", "-L": "number", "-a": "operand"}),
    # the shell's own
    "cd": Spec("shell"),
    "true": Spec("shell"),
    ":": Spec("shell"),
    "wait": Spec("shell"),
    "set": Spec("shell", operands=("syntax",)),
    "shopt": Spec("shell", operands=("syntax",)),
    "export": Spec("shell"),
    "read": Spec("shell", {"-d": "syntax"}, ("syntax",)),
    "sleep": Spec("shell", operands=("number",)),
    "exit": Spec("shell", operands=("number",)),
    # changing
    "mkdir": Spec("change", {"-m": "text", "--mode": "text"}),
    "touch": Spec("change", {"-d": "text", "-t": "text", "-r": "operand"}),
    "rm": Spec("change"),
    "unlink": Spec("change"),
    "rmdir": Spec("change"),
    "mv": Spec("change", {"-t": "operand", "--target-directory": "operand"}),
    "cp": Spec("change", {"-t": "operand", "--target-directory": "operand"}),
    "install": Spec("change", {"-m": "text", "-t": "operand"}),
    "ln": Spec("change", {"-t": "operand"}),
    "chmod": Spec("change", operands=("text", "operand")),
    "rename": Spec("change", operands=("script", "operand")),
    "prename": Spec("change", operands=("script", "operand")),
    "file-rename": Spec("change", operands=("script", "operand")),
    "tee": Spec("change"),
    "truncate": Spec("change", {"-s": "number", "--size": "number"}),
    "split": Spec("change", {"-l": "number", "-b": "text", "-a": "number", "-n": "text", "--additional-suffix": "text"}),
    "bzip2": Spec("change"),
    "bunzip2": Spec("change"),
    "gzip": Spec("change"),
    "gunzip": Spec("change"),
    "xz": Spec("change"),
    "unxz": Spec("change"),
    "dos2unix": Spec("change"),
    "unix2dos": Spec("change"),
    "mkfifo": Spec("change"),
    "tar": Spec("change", _TAR),
    "zip": Spec("change", {"-x": "pattern", "-i": "pattern"}),
}

WORDS_ONLY: Mapping[str, Spec] = {
    "sqlite3": Spec("change", {"-separator": "text", "-cmd": "script", "-nullvalue": "text"}, ("operand", "script")),
}
"""Programs of which only the words are known: which of them are a program's text, and which are names."""

PREDICATE_ROLES: Mapping[str, Role] = {
    "-name": "pattern", "-iname": "pattern", "-path": "pattern", "-ipath": "pattern", "-wholename": "pattern",
    "-regex": "script", "-iregex": "script", "-type": "syntax", "-maxdepth": "number", "-mindepth": "number",
    "-size": "text", "-perm": "text", "-newer": "operand", "-printf": "text", "-mtime": "text", "-mmin": "text",
    "-user": "syntax", "-group": "syntax", "-links": "text", "-inum": "text", "-fprint": "operand",
}  # fmt: skip
"""Tests and actions of find that take one argument."""


def leading_options(name: str, texts: Sequence[str]) -> int:
    """How many words stand before the one that says what a tool does: git's ``-C DIR``, say."""
    at = 0
    while name in ("git", "make") and at + 1 < len(texts) and texts[at] in ("-C", "-c", "-f"):
        at += 2
    return at


def parse_args(spec: Spec, words: Sequence[Word]) -> Parsed:
    """Takes the words after a command's name apart, as getopt would (operands and options may mix).

    Raises:
        ShellError: an option without its value.
    """
    options: list[tuple[str, Word | None]] = []
    operands: list[Word] = []
    i, plain = 0, False
    while i < len(words):
        word, text = words[i], words[i].literal
        head = text if text is not None else _option_head(word)
        i += 1
        if plain or head is None or not head.startswith("-") or head == "-":
            operands.append(word)
        elif text == "--":
            plain = True
        elif head.startswith("--") or (len(head) > 2 and head in spec.values):
            i = _long(spec, word, head, words, i, options)
        else:
            i = _short(spec, word, head, words, i, options)
    return Parsed(tuple(options), tuple(operands))


def _option_head(word: Word) -> str | None:
    first = word.parts[0] if word.parts else None
    return first.text if isinstance(first, Lit) else None


def _rest(word: Word, cut: int) -> Word:
    first = word.parts[0]
    assert isinstance(first, Lit)
    head = (Lit(first.text[cut:]),) if first.text[cut:] else ()
    return Word((*head, *word.parts[1:]))


def _next(words: Sequence[Word], i: int, name: str) -> Word:
    if i >= len(words):
        raise ShellError(f"option {name} has no value")
    return words[i]


def _long(spec: Spec, word: Word, head: str, words: Sequence[Word], i: int, out: list[tuple[str, Word | None]]) -> int:
    name, equals, _ = head.partition("=")
    if equals:
        out.append((name, _rest(word, len(name) + 1)))
        return i
    if name in spec.pairs:
        out += [(name, _next(words, i, name)), ("", _next(words, i + 1, name))]
        return i + 2
    if name in spec.values:
        out.append((name, _next(words, i, name)))
        return i + 1
    out.append((name, None))
    return i


def _short(spec: Spec, word: Word, head: str, words: Sequence[Word], i: int, out: list[tuple[str, Word | None]]) -> int:
    if head[1:].isdecimal() and spec.values.get("-n") == "number":
        out.append(("-n", _rest(word, 1)))
        return i
    for k in range(1, len(head)):
        name = "-" + head[k]
        if name in spec.values:
            rest = _rest(word, k + 1)
            if rest.parts:
                out.append((name, rest))
                return i
            out.append((name, _next(words, i, name)))
            return i + 1
        out.append((name, None))
    return i


def roles(name: str, words: Sequence[Word]) -> list[Role]:
    """The role of every word after the name; everything is an operand for an unknown command."""
    out = _find_roles(words) if name == "find" else _own_roles(name, words)
    for start, end in inner_commands(name, [spelled(w) for w in words]):
        inner = words[start:end]
        head = _own_roles(name, words[:start]) if name == "xargs" else out[:start]
        out = [*head, "syntax", *roles(inner[0].literal or "", inner[1:]), *out[end:]]
    return out


def _own_roles(name: str, words: Sequence[Word]) -> list[Role]:
    spec = TABLE.get(name) or WORDS_ONLY.get(name)
    plain: list[Role] = [_plain_role(w.literal or "") for w in words]
    if spec is None:
        return plain
    try:
        parsed = parse_args(spec, words)
    except ShellError:
        return plain
    by_identity: dict[int, Role] = {}
    for option, value in parsed.options:
        if value is not None:
            by_identity[id(value)] = spec.values.get(option, "text")
    order = list(spec.operands)
    if any(parsed.has(o) for o in spec.script_option):
        order = order[1:] or ["operand"]
    for k, operand in enumerate(parsed.operands):
        by_identity[id(operand)] = order[min(k, len(order) - 1)]
    return [by_identity.get(id(w), "text" if "=" in (_option_head(w) or "") else "syntax") for w in words]


def _plain_role(word: str) -> Role:
    """Of a word of a command that nobody described: an option's value behind ``=`` is a text."""
    if word.startswith("--") and "=" in word:
        return "text"
    return "syntax" if word.startswith("-") else "operand"


def _find_roles(words: Sequence[Word]) -> list[Role]:
    out: list[Role] = []
    for before, word in itertools.pairwise([Word(()), *words]):
        text = word.literal or ""
        if (test := before.literal or "") in PREDICATE_ROLES:
            out.append(PREDICATE_ROLES[test])
        else:
            out.append("syntax" if text[:1] in ("-", "!", "(", ")", ";", "+") and text else "operand")
    return out


STARTERS: Mapping[str, tuple[frozenset[str], int]] = {
    name: (frozenset(valued.split()), skipped)
    for name, valued, skipped in (
        ("xargs", "-I -i -d -n -P -L -l -s -E -e -a", 0),
        ("env", "-u -C -S", 0),
        ("nice", "-n", 0),
        ("timeout", "-s -k", 1),
        ("stdbuf", "-i -o -e", 0),
        ("ionice", "-c -n", 0),
        *((name, "", 0) for name in ("nohup", "setsid", "time", "sudo", "doas", "exec", "command", "builtin")),
        *((name, "", 1) for name in ("chroot", "flock")),
    )
}
"""Programs that start the command among their words: their options that take a value, and how many words come before it."""
_EXECS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_SETTING = re.compile(r"[A-Za-z_]\w*=")


def inner_commands(name: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where the commands stand (first word, end) that a command's words tell it to run: ``find -exec``, ``xargs``, ``env``."""
    if name == "find":
        starts = [k + 1 for k, w in enumerate(words) if w in _EXECS]
        ends = (next((k for k in range(s, len(words)) if words[k] in (";", "+")), len(words)) for s in starts)
        return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
    if name not in STARTERS:
        return []
    at, (valued, skipped) = 0, STARTERS[name]
    while at < len(words):
        if words[at] in valued:
            at += 2
        elif words[at].startswith("-") or _SETTING.match(words[at]):
            at += 1
        elif skipped:
            at, skipped = at + 1, skipped - 1
        else:
            return [(at, len(words))]
    return []


def xargs_command(words: Sequence[Word]) -> int:
    """Index of the word where the command of an xargs line starts."""
    return next((start for start, _ in inner_commands("xargs", [spelled(w) for w in words])), len(words))

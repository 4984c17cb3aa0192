"""What commands do at a glance: which only print or look, and which may change a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from verifiers.shell.commands import STARTERS, TABLE, Parsed, inner_commands, leading_options, parse_args
from verifiers.shell.tree import Command, For, Group, If, ShellError, Simple, While, Word, parts_of, spelled

_LOOKING = """
    [ [[ alias cal command declare dir exec expr false free getent git history hostname iconv let local locate look mawk more
    less nice nproc pr printenv ps rg shuf sqlite3 tar time tput unzip uptime whereis yq zgrep
    popd pushd
"""
OBSERVERS = frozenset({n for n, spec in TABLE.items() if spec.kind != "change"} | {*_LOOKING.split(), *STARTERS})
"""Commands that change no file by themselves, but for what ``only_prints`` sees in their words."""
_GIT_READS = frozenset(
    {"status", "log", "diff", "show", "ls-files", "rev-parse", "blame", "grep", "describe", "shortlog", "rev-list", "cat-file"}
)
_AWK = re.compile(r"\bprintf?\b[^;}\n]*[>|]|\bsystem\s*\(")
_WRITING = {
    **dict.fromkeys(("awk", "gawk", "mawk"), _AWK),
    "perl": re.compile(r"\bopen\b[^;]*>|\b(?:unlink|rename|mkdir|rmdir|system)\b"),
    "sqlite3": re.compile(r"\b(insert|update|delete|create|drop|alter|import)\b", re.IGNORECASE),
    "find": re.compile(r"^-(?:delete|fprint.*|fls)$"),
}
"""Words by which commands change files."""


def walk(node: object) -> Iterator[Command]:
    """Every command and compound below a node, those in words apart."""
    if isinstance(node, Simple | For | While | Group | If):
        yield node
    for part in () if isinstance(node, Word) else parts_of(node):
        yield from walk(part)


def every(node: object) -> Iterator[object]:
    """A node and every command and word below it, substitutions included."""
    yield node
    for part in parts_of(node):
        yield from every(part)


def may_change(node: Command) -> bool:
    """Whether it may change a file: a redirection to one, a command that changes some, or one of which nothing is known."""
    return any(_writes(n) or (isinstance(n, Simple) and not only_prints(n)) for n in every(node))


def _writes(node: object) -> bool:
    redirects = node.redirects if isinstance(node, Simple | Group | While) else ()
    return any(r.op in (">", ">>", "&>") and r.target.literal != "/dev/null" for r in redirects)


def only_prints(node: Simple) -> bool:
    """The command, and what it runs, changes nothing by itself."""
    name, words = node.name, node.words[1:]
    texts = [spelled(w) for w in words]
    if not node.words or (name == "command" and texts[:1] in (["-v"], ["-V"])):
        return True
    inner = (Simple(words[a:b]) for a, b in inner_commands(name, texts))
    if name not in OBSERVERS or not all(map(only_prints, inner)):
        return False
    if name == "sort":
        parsed = sort_words(node)
        return parsed is None or not parsed.has("-o", "--output")
    if name == "git":
        operands = [t for t in texts[leading_options(name, texts) :] if not t.startswith("-")]
        return operands in (["tag"], ["branch"], ["remote"]) or (bool(operands) and operands[0] in _GIT_READS)
    if name == "tar":
        return any(re.fullmatch("-?t[a-zA-Z]*|--list", t) for t in texts[:1])
    if name == "unzip":
        return any(re.match("-[a-zA-Z]*[lptZ]", t) for t in texts)
    return not edits_in_place(node.words) and not (name in _WRITING and any(map(_WRITING[name].search, texts)))


def edits_in_place(words: Sequence[Word]) -> bool:
    """sed, perl or yq with ``-i``, alone, behind other letters, or with the ending of a backup."""
    if not words or words[0].literal not in ("sed", "perl", "yq"):
        return False
    return any(re.match(r"-[a-hj-zA-HJ-Z0-9]*i|--in-place", w.literal or "") for w in words[1:])


def sort_words(node: Simple) -> Parsed | None:
    """sort's options and operands; None where they cannot be read: it fails then."""
    try:
        return parse_args(TABLE["sort"], node.words[1:])
    except ShellError:
        return None

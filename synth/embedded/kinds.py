"""What commands do at a glance: which only print, which change something, which files are made and removed again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from verifiers.shell.commands import TABLE, Parsed, parse_args
from verifiers.shell.tree import (
    CURSOR,
    Command,
    For,
    Group,
    If,
    Lit,
    Other,
    Part,
    Pipe,
    Seq,
    ShellError,
    Simple,
    Var,
    While,
    Word,
)


def walk(node: object) -> Iterator[Command]:
    """Every command below a node."""
    if isinstance(node, Seq):
        for item in node.items:
            yield from walk(item)
    elif isinstance(node, Pipe):
        for stage in node.stages:
            yield from walk(stage)
    elif isinstance(node, For | While | Group | If):
        yield node
        yield from walk(node.body)
        if isinstance(node, If) and node.orelse is not None:
            yield from walk(node.orelse)
    elif isinstance(node, Other):
        for piece in node.pieces:
            yield from walk(piece)
    elif isinstance(node, Simple):
        yield node


def only_prints(node: Simple) -> bool:
    """The command changes nothing by itself."""
    if node.name in ("sed", "perl"):
        return not edits_in_place(node.words)
    if node.name == "sort":
        parsed = _sort(node)
        return parsed is None or not parsed.has("-o", "--output")
    if node.name in ("awk", "gawk"):
        return not any(_AWK_WRITES.search(lit.text) for w in node.words[1:] for lit in w.parts if isinstance(lit, Lit))
    if node.name == "tar" and len(node.words) > 1:
        mode = node.words[1].literal or ""
        return "t" in mode.lstrip("-")[:1] or mode == "--list"
    return node.name in TABLE and TABLE[node.name].kind != "change"


_AWK_WRITES = re.compile(r"\bprintf?\b[^;}\n]*[>|]|\bsystem\s*\(")
"""Output to files or commands in an awk program."""


def edits_in_place(words: Sequence[Word]) -> bool:
    """sed or perl with ``-i``, alone, behind other letters, or with the ending of a backup."""
    if not words or words[0].literal not in ("sed", "perl"):
        return False
    return any(re.match(r"-[a-hj-zA-HJ-Z0-9]*i|--in-place", w.literal or "") for w in words[1:])


def changes(node: Simple) -> bool:
    """A find that changes something, or a changing command at the head of a pipeline."""
    spec = TABLE.get(node.name)
    if node.name == "find":
        texts = [w.literal or "" for w in node.words]
        after = [texts[k + 1] for k, t in enumerate(texts[:-1]) if t in ("-exec", "-execdir")]
        return "-delete" in texts or any(a in TABLE and TABLE[a].kind == "change" for a in after)
    return spec is not None and spec.kind == "change"


def temporaries(items: Sequence[Command]) -> frozenset[Word]:
    """Paths that the commands make (by redirection, cp, mkfifo) and later remove or move away."""
    made: set[Word] = set()
    out: set[Word] = set()
    for node in (n for item in items for n in walk(item)):
        if not isinstance(node, Simple):
            continue
        operands = [w for w in node.words[1:] if not (w.literal or "").startswith("-")]
        if node.name in ("rm", "mv"):
            sources = operands if node.name == "rm" else operands[:-1]
            out.update(w for w in sources if w in made)
        if node.name == "mkfifo":
            made.update(operands)
        if node.name == "cp" and len(operands) == 2:
            made.add(operands[1])
        made.update(r.target for r in node.redirects if r.op in (">", ">>"))
    return frozenset(out)


def sorted_in_place(items: Sequence[Command]) -> frozenset[Word]:
    """Files that ``sort -o FILE FILE`` puts into order."""
    out: set[Word] = set()
    for node in (n for item in items for n in walk(item)):
        parsed = _sort(node) if isinstance(node, Simple) and node.name == "sort" else None
        if parsed is not None:
            out.update(w for n, w in parsed.options if n == "-o" and w is not None and w in parsed.operands)
    return frozenset(out)


def _sort(node: Simple) -> Parsed | None:
    """sort's options and operands; None where they cannot be read: it fails then."""
    try:
        return parse_args(TABLE["sort"], node.words[1:])
    except ShellError:
        return None


def with_cursor(word: Word, mark: str) -> Word:
    """A word with every ``{}`` in its constants as the loop's variable."""
    parts: list[Part] = []
    for part in word.parts:
        if not isinstance(part, Lit) or mark not in part.text:
            parts.append(part)
            continue
        for k, text in enumerate(part.text.split(mark)):
            if k:
                parts.append(Var(CURSOR, quoted=True))
            if text:
                parts.append(Lit(text))
    return Word(tuple(parts))

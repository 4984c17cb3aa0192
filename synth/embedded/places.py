"""Where in its commands a hole stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from verifiers.shell.commands import roles, xargs_command
from verifiers.shell.tree import (
    Feed,
    For,
    Glob,
    Group,
    Hole,
    If,
    Lit,
    Many,
    Other,
    Pipe,
    Seq,
    Simple,
    Sub,
    Test,
    Var,
    While,
    Word,
)


@dataclass(frozen=True, slots=True)
class Context:
    """One occurrence of a hole."""

    command: str
    role: str
    option: str
    """The option before it; of a command that find runs, what find looks for."""
    before: str
    after: str
    last: bool
    """It is in the command's last operand."""
    name_after: bool = False
    """A name follows that find found or a loop goes through."""
    lead: str = ""
    """All of the word before the hole, each other hole as one NUL."""


def contexts(node: object, command: str = "") -> Iterator[tuple[int, Context]]:
    """Every occurrence of every hole."""
    if isinstance(node, Simple):
        yield from _simple(node)
    elif isinstance(node, For):
        for word in node.words:
            yield from _word(word, Context("for", "pattern", "", "", "", False))
        yield from contexts(node.body)
    elif isinstance(node, Seq):
        for item in node.items:
            yield from contexts(item)
    elif isinstance(node, Pipe):
        for stage in node.stages:
            yield from contexts(stage)
    elif isinstance(node, Group | While):
        yield from contexts(node.body)
        for r in node.redirects:
            yield from _word(r.target, Context(r.op, "operand", "", "", "", True))
    elif isinstance(node, If):
        yield from contexts(node.cond)
        yield from contexts(node.body)
        yield from contexts(node.orelse)
    elif isinstance(node, Test):
        for word in node.words:
            yield from _word(word, Context("test", "operand", "", "", "", False))
    elif isinstance(node, Other):
        yield from contexts(node.pieces)
    elif isinstance(node, Word):
        yield from _word(node, Context("", "operand", "", "", "", False))
    elif isinstance(node, tuple):
        for item in node:
            yield from contexts(item)


def _simple(node: Simple) -> Iterator[tuple[int, Context]]:
    name = node.name
    kinds = roles(name, node.words[1:])
    for k, (word, role) in enumerate(zip(node.words[1:], kinds, strict=True)):
        before = node.words[k].literal or ""
        option = before if before.startswith("-") else ""
        inner = inner_name(node, k + 1)
        at = Context(inner, role, option if inner == name else _found(node), "", "", k == len(kinds) - 1)
        yield from _word(word, at)
    for r in node.redirects:
        yield from _word(r.target, Context(r.op, "operand", "", "", "", True))
    for _, value in node.assigns:
        yield from _word(value, Context("=", "text", "", "", "", False))


def _found(node: Simple) -> str:
    """What the command of find gets, where that is said: ``-type d``."""
    texts = [w.literal or "" for w in node.words]
    return f"-type {texts[texts.index('-type') + 1]}" if "-type" in texts[:-1] else ""


def inner_name(node: Simple, at: int) -> str:
    """The command that the word belongs to: the one that find or xargs runs, where it is one of its words."""
    if node.name == "xargs":
        start = 1 + xargs_command(node.words[1:])
        return (node.words[start].literal or "") if start < at else node.name
    texts = [w.literal or "" for w in node.words]
    start = next((k for k in range(at, 0, -1) if texts[k] in ("-exec", "-execdir", "-ok")), at)
    return texts[start + 1] if node.name == "find" and start + 1 < at else node.name


def _word(word: Word, at: Context) -> Iterator[tuple[int, Context]]:
    lead = ""
    for k, part in enumerate(word.parts):
        if isinstance(part, Hole | Many):
            prev = word.parts[k - 1] if k else None
            after = word.parts[k + 1] if k + 1 < len(word.parts) else None
            left = prev.text if isinstance(prev, Lit) else ""
            right = after.text if isinstance(after, Lit | Glob) else ""
            yield part.index, Context(at.command, at.role, at.option, left, right, at.last, isinstance(after, Var), lead)
        elif isinstance(part, Var):
            for arg in part.args:
                yield from _word(arg, at)
        elif isinstance(part, Sub | Feed):
            yield from contexts(part.body)
        lead += part.text if isinstance(part, Lit) else "\0"

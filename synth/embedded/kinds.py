"""What the generator asks of a program: which files it makes and removes again, which paths its loops go over."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.shell.commands import TABLE, inner_commands
from verifiers.shell.effects import sort_words, walk
from verifiers.shell.tree import CURSOR, Command, Lit, Part, Simple, Var, Word, spelled


def changes(node: Simple) -> bool:
    """A find that changes something, or a changing command at the head of a pipeline."""
    spec = TABLE.get(node.name)
    if node.name == "find":
        words = node.words[1:]
        inner = [Simple(words[a:b]) for a, b in inner_commands("find", [spelled(w) for w in words])]
        return any(w.literal == "-delete" for w in words) or any(map(changes, inner))
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
        parsed = sort_words(node) if isinstance(node, Simple) and node.name == "sort" else None
        if parsed is not None:
            out.update(w for n, w in parsed.options if n == "-o" and w is not None and w in parsed.operands)
    return frozenset(out)


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

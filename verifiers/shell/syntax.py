"""The only place that knows the parser (tree-sitter-bash): what it is shown, and what its nodes say of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Parser
from tree_sitter import Node as Node

_POSITIONAL = re.compile(rb"(?<!\\)\$[1-9]")
_BASE = re.compile(rb"\b\d+#(?=\$)")
_INSIDE = re.compile(rb"""(?<=[^\\\s=;&|("'`$])\$(?=\w)""")
_ESCAPED = re.compile(rb"\\.", re.S)


class Syntax:
    """The syntax tree of a text."""

    def __init__(self, text: str) -> None:
        self._source = text.encode("utf-8", "surrogatepass")
        self.root: Node = _parser().parse(_readable(self._source)).root_node

    def text(self, node: Node) -> str:
        """What a node covers, as it was written. ``Node.text`` is what the parser was shown."""
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        # A node may begin or end within a letter.
        return self._source[start:end].decode("utf-8", "replace" if self.root.has_error else "surrogatepass")

    def lines(self, body: Node) -> str:
        """A here-document's lines: its ``heredoc_body`` leaves out white space that the first of them begin with."""
        before = body.prev_sibling
        skipped = self.between(before.end_byte, body.start_byte).partition("\n")[2] if before is not None else ""
        return skipped + self.text(body)

    def deeper_than(self, most: int) -> bool:
        """Whether a node lies more than so many levels down: all that works on a tree is recursive."""
        level = [self.root]
        for _ in range(most):
            level = [child for node in level for child in node.children]
            if not level:
                return False
        return True


def _readable(source: bytes) -> bytes:
    """The text as the parser (0.25) reads it rightly, every byte in its place.

    It ends the process on ``${`` and a rare letter, takes the digit of ``a=$1-$2`` for a command, does not know ``10#$n``, a
    number's base, and cuts ``$m\\ a`` and ``$a/$b/`` into two words. For bash a letter beyond ASCII is one like any other, ``$2``
    a variable, a sum has the structure of a base, and what stands inside a word stays in it.
    """
    plain = _POSITIONAL.sub(rb"$x", re.sub(rb"[\x80-\xff]", b"x", source))
    plain = _BASE.sub(lambda m: b"0" * (len(m[0]) - 1) + b"+", plain)
    plain = _ESCAPED.sub(lambda m: b"xx" if m[0] in (b"\\ ", b"\\\t") else m[0], plain)
    return _INSIDE.sub(b"x", plain)


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def below(node: Node, *types: str) -> Iterator[Node]:
    """The children of some types."""
    return (child for child in node.children if child.type in types)

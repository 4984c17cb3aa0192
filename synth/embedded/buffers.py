"""Redirections: files written by several commands are put together in memory and put in place once."""

from __future__ import annotations

from collections.abc import Sequence

from synth.embedded.filters import Data, as_bytes, read
from synth.embedded.scope import Buffer, Content, Items, Scope, content
from verifiers.shell.tree import Redirect, ShellError, Simple, Word


def output_of(redirects: Sequence[Redirect]) -> Redirect | None:
    out = [r for r in redirects if r.op in (">", ">>", "&>") and r.fd == 1 and r.target.literal != "/dev/null"]
    if len(out) > 1:
        raise ShellError("two outputs of one command are not understood")
    return out[0] if out else None


def write(scope: Scope, redirect: Redirect, got: Items | Data) -> None:
    pieces = list(got.pieces) if isinstance(got, Data) else [Content(as_bytes(scope, got))]
    word = redirect.target
    if redirect.op == ">>":
        append(scope, word, pieces)
    else:
        pieces = [keep(scope, p) for p in pieces]
        scope.pending[word] = Buffer(word, scope.path(word), pieces)


def keep(scope: Scope, piece: Content) -> Content:
    """A piece that is computed now, as later lines may change what it reads."""
    if piece.original is not None or piece.code.isidentifier() or piece.code.startswith(("b'", 'b"')):
        return piece
    return Content(scope.code.assign("content", piece.code))


def append(scope: Scope, word: Word, pieces: list[Content]) -> None:
    if word in scope.blocks:
        scope.code.line(f"{scope.blocks[word]} += {content(pieces)}")
    elif word in scope.pending:
        scope.pending[word].pieces += [keep(scope, p) for p in pieces]
    else:
        scope.pending[word] = Buffer(word, scope.path(word), [keep(scope, p) for p in pieces], append=True)


def transient(scope: Scope, node: Simple) -> bool:
    """Commands on files that the program makes and removes again happen in memory."""
    operands = [w for w in node.words[1:] if not (w.literal or "").startswith("-")]
    if node.name == "mkfifo" and all(w in scope.temps for w in operands):
        return True
    if node.name == "rm" and operands and all(w in scope.pending and w in scope.temps for w in operands):
        for w in operands:
            del scope.pending[w]
        return True
    if node.name == "cp" and len(operands) == 2 and operands[1] in scope.temps:
        scope.pending[operands[1]] = Buffer(operands[1], scope.path(operands[1]), read(scope, operands[0]))
        return True
    if node.name == "mv" and len(operands) == 2 and operands[0] in scope.pending and operands[0] in scope.temps:
        buffer = scope.pending.pop(operands[0])
        scope.pending[operands[1]] = Buffer(operands[1], scope.path(operands[1]), buffer.pieces, swap=True)
        return True
    return False

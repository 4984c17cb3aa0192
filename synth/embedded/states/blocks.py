"""Text that is put in as a whole: a template of constants and values, with prose where nothing determines it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from synth.embedded.code import quote
from synth.embedded.states.hunks import GRAINS, RULE
from synth.embedded.states.patterns import Hole, Piece, common
from synth.embedded.states.values import Expr, Values, const, is_words, join

_MARK = "\x01"
"""Stands for a rule as long as the line above it, with the character of the rule behind it."""
_LEAST = 0.5
"""Part of a template that has to be known: one that only wraps free texts is no template."""


def templates(blocks: Sequence[str], values: Values) -> Iterator[tuple[Expr, Values]]:
    """Expressions that give each example's block, with the parameters that they take."""
    texts = [marked(b) for b in blocks]
    for grain in GRAINS:
        pieces = common(texts, grain)
        if pieces is not None and _says_enough(pieces, values):
            yield _made(pieces, values)
            break
    yield from _with_prose(texts, values)


def marked(block: str) -> str:
    """The block with a mark for each rule that is as long as the line above it."""
    lines = block.split("\n")
    rules = [_MARK + b[0] if RULE.fullmatch(b) and len(b) == len(a) else b for a, b in pairwise(lines)]
    return "\n".join([lines[0], *rules])


def _says_enough(pieces: Sequence[Piece], values: Values) -> bool:
    """Whether most of the text is constant or known, or has the form of one value: a date, a version, a digest."""
    trial = values.copy()
    known = free = 0
    for piece in pieces:
        if isinstance(piece, str):
            known += len(piece)
            continue
        before = trial.foreign
        trial.value(tuple((v,) for v in piece.values))
        size = max(map(len, piece.values))
        words = trial.foreign > before and is_words(piece.values)
        known, free = (known, free + size) if words else (known + size, free)
    return known >= _LEAST * (known + free)


def _made(pieces: Sequence[Piece], known: Values) -> tuple[Expr, Values]:
    values = known.copy()
    return ruled([const(p) if isinstance(p, str) else values.value(tuple((v,) for v in p.values)) for p in pieces]), values


def ruled(exprs: Sequence[Expr]) -> Expr:
    """The expressions as one, each mark in them a rule as long as the line above it."""
    parts: list[Expr] = []
    line: list[Expr] = []
    above: list[Expr] = []
    for expr in exprs:
        texts: list[str | None] = [None]
        if expr.const is not None:
            texts = list(re.split(r"(\n|\x01.)", expr.const))
        for text in texts:
            if text == "\n":
                above, line = line, []
                parts.append(const("\n"))
            elif text is not None and text.startswith(_MARK):
                parts.append(_rule(text[1], join(above)))
            elif text != "":
                part = expr if text is None else const(text)
                line.append(part)
                parts.append(part)
    return join(parts)


def _rule(mark: str, above: Expr) -> Expr:
    if above.const is not None:
        return const(mark * len(above.const))
    return Expr(f"{quote(mark)} * len({above.code})", lambda e, k, m: mark * len(above.at(e, k, m)), above.cost, uses=above.uses)


def _with_prose(blocks: Sequence[str], values: Values) -> Iterator[tuple[Expr, Values]]:
    """Lines at the beginning and at the end that are known, and free text between them."""
    rows = [b.split("\n") for b in blocks]
    head = _lines(rows, values)
    tail = _lines([r[head:][::-1] for r in rows], values)
    middle = ["\n".join(r[head : len(r) - tail]) for r in rows]
    if not all(middle) or not head + tail:
        return
    pieces: list[Piece] = []
    for part in (_columns([r[:head] for r in rows]), [Hole(tuple(middle))], _columns([r[len(r) - tail :] for r in rows])):
        pieces += [*(["\n"] if pieces and part else []), *(part or [])]
    expr, found = _made(pieces, values)
    if any(p.in_request for p in found.parameters if p.name in expr.uses):
        yield expr, found


def _lines(rows: Sequence[Sequence[str]], values: Values) -> int:
    """How many lines all have in common, but for values of which at most the same number are free as known."""
    n = 0
    while n + 1 < min(map(len, rows)) and _columns([r[n : n + 1] for r in rows]) is not None:
        pieces = _columns([r[n : n + 1] for r in rows])
        if pieces is None or (pieces and not _says_enough(pieces, values)):
            break
        n += 1
    return n


def _columns(rows: Sequence[Sequence[str]]) -> list[Piece] | None:
    if not rows[0]:
        return []
    return next((p for g in GRAINS if (p := common(["\n".join(r) for r in rows], g)) is not None), None)

"""Learns one rewriting from hunks of one kind: the pattern of what was there, and what it became."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from synth.embedded.states.edits import Rewrite, Where
from synth.embedded.states.examples import Example
from synth.embedded.states.hunks import GRAINS, Hunk, folder_of
from synth.embedded.states.patterns import Hole, Pattern, Piece, column_of, common, literal
from synth.embedded.states.values import Column, Expr, Values, const, group, join

MOST_CONTEXT = 3
"""Lines above that may say which place is meant."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A rewriting with the parameters that it takes."""

    edit: Rewrite
    values: Values

    @property
    def cost(self) -> int:
        return self.edit.cost + self.values.cost


@dataclass(frozen=True, slots=True)
class Group:
    """Hunks of one kind, with the examples that they are from."""

    hunks: Sequence[Hunk]
    examples: Sequence[Example]

    @property
    def of(self) -> list[int]:
        return [h.example for h in self.hunks]

    @property
    def where(self) -> Where:
        paths = {h.path for h in self.hunks}
        return Where(paths.pop()) if len(paths) == 1 else Where(folder_of(self.hunks[0].path), many=True)

    def column(self, texts: Sequence[str]) -> Column:
        return column_of(texts, self.of, len(self.examples))


def rewrites(group: Group, values: Values) -> Iterator[Learned]:
    """Rewritings that are right in every example, the simplest of each grain and context first."""
    old, new = ([_body(h.old if side else h.new, h) for h in group.hunks] for side in (True, False))
    if not all(old):
        return
    for above in range(MOST_CONTEXT + 1):
        if any(len(h.before) < above for h in group.hunks):
            return
        context = ["".join(h.before[len(h.before) - above :]) for h in group.hunks]
        for grain in GRAINS:
            before, was, becomes = common(context, grain), common(old, grain), common(new, grain)
            if before is None or was is None or becomes is None:
                continue
            found = [x for x in _variants(group, values, before, was, becomes) if right(group, x.edit, x.values)]
            if found:
                yield min(found, key=lambda x: x.cost)
                break


def _body(lines: Sequence[str], hunk: Hunk) -> str:
    """The lines without the end of the last one, where both sides have it."""
    text = "".join(lines)
    both = "".join(hunk.old).endswith("\n") and ("".join(hunk.new).endswith("\n") or not hunk.new)
    return text.removesuffix("\n") if both and hunk.new else text


def _variants(
    group: Group, values: Values, before: Sequence[Piece], was: Sequence[Piece], becomes: Sequence[Piece]
) -> Iterator[Learned]:
    """Each open place of the pattern is left open or is a value that is known or requested; more and more of them are values."""
    holes = [n for n, piece in enumerate((*before, *was)) if isinstance(piece, Hole)]
    for amount in range(len(holes) + 1):
        for closed in combinations(holes, amount):
            for functions in (True, False):
                made = _variant(group, values, (before, was, becomes), frozenset(closed), functions)
                if made is not None:
                    yield made


def _variant(
    group_: Group, known: Values, pieces: tuple[Sequence[Piece], ...], closed: frozenset[int], functions: bool
) -> Learned | None:
    before, was, becomes = pieces
    values = known.copy()
    own: dict[Column, Expr] = {}
    parts: list[str | Expr] = ["^"]
    context: list[Expr] = []
    groups = 0
    for n, piece in enumerate((*before, *was)):
        if isinstance(piece, str):
            parts.append(literal(piece))
            expr = const(piece)
        elif n in closed:
            expr = values.value(group_.column(piece.values))
            if values.foreign > known.foreign:
                return None  # what is only in the tree is left open
            parts.append(expr)
        else:
            groups += 1
            parts.append(f"({piece.form})")
            expr = group(groups)
            own.setdefault(group_.column(piece.values), expr)
        if n < len(before):
            context.append(expr)
    parts.append("$" if not "".join(p for p in was if isinstance(p, str)).endswith("\n") else "")
    new = join([*context, *(_expr(p, group_, values, own, functions) for p in becomes)])
    listed = [p.name for p in values.parameters if not isinstance(p.values[0], str)]
    pattern = Pattern(tuple(parts))
    keyed = any(name in pattern.uses for name in listed)
    named = next((name for name in listed if name in new.uses), "")
    if keyed and not named:
        return None
    edit = Rewrite(group_.where, _without_groups(pattern, new), new, None, listed=named, keyed=keyed)
    repeated = _repeats(group_, edit, values)
    if not repeated:
        done = tuple(_done(p, group_, values) for p in becomes)
        edit = Rewrite(group_.where, edit.pattern, new, Pattern(("^", *done, "$")), listed=named, keyed=keyed)
    return Learned(edit, values)


def _expr(piece: Piece, group_: Group, values: Values, own: dict[Column, Expr], functions: bool) -> Expr:
    return const(piece) if isinstance(piece, str) else values.value(group_.column(piece.values), own, functions)


def _done(piece: Piece, group_: Group, values: Values) -> str | Expr:
    """What is there afterwards: a value that is known, else anything like it."""
    if isinstance(piece, str):
        return literal(piece)
    known = values.known(group_.column(piece.values))
    return known if known is not None else piece.form


def _without_groups(pattern: Pattern, new: Expr) -> Pattern:
    """The pattern, its groups left out where nothing asks for them."""
    if new.own:
        return pattern
    return Pattern(tuple(p[1:-1] if isinstance(p, str) and _is_group(p) else p for p in pattern.parts))


def _is_group(part: str) -> bool:
    return part.startswith("(") and part.endswith(")") and not part.startswith("(?")


def _repeats(group_: Group, edit: Rewrite, values: Values) -> bool:
    """Whether the pattern matches what it made, and makes the same of it."""
    for e, example in enumerate(group_.examples):
        files = dict(example.end)
        try:
            edit.apply(values.env(e), files)
        except (ValueError, KeyError, IndexError):
            return False
        if files != example.end:
            return False
    return True


def right(group_: Group, edit: Rewrite, values: Values) -> bool:
    """Whether in every example it changes the hunks of its group as they were changed, and nothing else."""
    for e, example in enumerate(group_.examples):
        wanted = [h for h in group_.hunks if h.example == e]
        files = dict(example.start)
        try:
            edit.apply(values.env(e), files)
        except (ValueError, KeyError, IndexError, re.error):
            return False
        if any(files[p] != text for p, text in expected(example, wanted).items()):
            return False
        if any(files[p] != example.start[p] for p in edit.where.names(files, values.env(e)) if p not in {h.path for h in wanted}):
            return False
    return True


def expected(example: Example, hunks: Sequence[Hunk]) -> dict[str, str]:
    """The files of these hunks with these hunks alone."""
    out = {}
    for path in {h.path for h in hunks}:
        lines = example.start[path].splitlines(keepends=True)
        for h in sorted((h for h in hunks if h.path == path), key=lambda h: -h.line):
            lines[h.line : h.line + len(h.old)] = h.new
        out[path] = "".join(lines)
    return out

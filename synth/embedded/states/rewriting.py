"""Learns one rewriting from hunks of one kind: the pattern of what was there, and what it became."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product

from synth.embedded.states.blocks import marked, ruled
from synth.embedded.states.edits import Rewrite, Where
from synth.embedded.states.examples import Example
from synth.embedded.states.hunks import GRAINS, Hunk, folder_of
from synth.embedded.states.patterns import Hole, Pattern, Piece, column_of, common, literal
from synth.embedded.states.values import Column, Expr, Values, const, group, join, told

MOST_CONTEXT = 3
"""Lines above that may say which place is meant."""
MOST_CLOSED = 2
"""Values of the request that may say it."""
MANY_OPEN = 8
"""Open places from which only one of them is tried as a value of the request: pairs would be too many."""
Pieces = tuple[Sequence[Piece], Sequence[Piece], Sequence[Piece]]
"""Lines above, lines that were there, lines that they became."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A rewriting with the parameters that it takes."""

    edit: Rewrite
    values: Values
    unsure: int = 0
    """How much it leans on what may be chance."""

    @property
    def cost(self) -> int:
        return self.edit.cost + self.values.cost + self.unsure


@dataclass(frozen=True)
class Group:
    """Hunks of one kind, with the examples that they are from."""

    hunks: Sequence[Hunk]
    examples: Sequence[Example]
    of_paths: bool = False
    """The text is the list of paths."""

    @property
    def of(self) -> list[int]:
        return [h.example for h in self.hunks]

    @property
    def where(self) -> Where:
        paths = {h.path for h in self.hunks}
        return Where(paths.pop()) if len(paths) == 1 else Where(folder_of(self.hunks[0].path), many=True)

    @cached_property
    def expected(self) -> list[dict[str, str]]:
        """For each example its files with these hunks alone."""
        return [expected(x, [h for h in self.hunks if h.example == e]) for e, x in enumerate(self.examples)]

    def column(self, texts: Sequence[str]) -> Column:
        return column_of(texts, self.of, len(self.examples))


def rewrites(group: Group, values: Values, contexts: bool = True) -> Iterator[Learned]:
    """Rewritings that are right in every example, the simplest of each grain and context first."""
    old, new = ([_body(h.old if side else h.new, h) for h in group.hunks] for side in (True, False))
    if not all(old):
        return
    for context in _contexts(group.hunks) if contexts else (lambda grain: [],):
        for grain in GRAINS:
            before = context(grain)
            found = [
                (x.cost + (x.edit.keyed and not whole), n, x)
                for n, whole in enumerate((False, True))
                if before is not None and (x := _first(group, values, before, old, new, grain, whole)) is not None
            ]
            if found:
                best = min(found, key=lambda f: f[:2])[2]
                yield best
                if not best.edit.pattern.uses:
                    return
                break


def _first(
    group: Group, values: Values, before: Sequence[Piece], old: Sequence[str], new: Sequence[str], grain: str, whole: bool
) -> Learned | None:
    was, becomes = common(old, grain, whole), common([marked(n) for n in new], grain, whole)
    return next(_tried(group, values, (before, was, becomes)), None) if was is not None and becomes is not None else None


def _contexts(hunks: Sequence[Hunk]) -> Iterator[Callable[[str], list[Piece] | None]]:
    """What may say which place is meant: nothing, some lines above, the line that all of it stands under."""
    for above in range(MOST_CONTEXT + 1):
        if all(len(h.before) >= above for h in hunks):
            lines = ["".join(h.before[len(h.before) - above :]) for h in hunks]
            yield lambda grain, lines=lines: common(lines, grain)  # type: ignore[misc]  # mypy infers no type for a default
    heads = [at for h in hunks if (at := _head_line(h)) is not None]
    if len(heads) == len(hunks):
        between = {re.match(r"[ \t]*", h.old[0])[0] for h in hunks}  # type: ignore[index]  # it matches always
        if len(between) == 1:
            inside = f"(?:{indent}.*\\n)*?" if (indent := between.pop()) else r"(?:(?!\[).*\n)*?"
            rests = tuple("".join(h.before[at + 1 :]) for h, at in zip(hunks, heads, strict=True))
            above_ = ["".join(h.before[at : at + 1]) for h, at in zip(hunks, heads, strict=True)]

            def under(grain: str) -> list[Piece] | None:
                pieces = common(above_, grain)
                return None if pieces is None else [*pieces, Hole(rests, inside)]

            yield under


def _head_line(hunk: Hunk) -> int | None:
    """Index of the nearest line above that is less indented, or of the section's heading."""
    own = len(hunk.old[0]) - len(hunk.old[0].lstrip())
    for at in range(len(hunk.before) - 1, -1, -1):
        line = hunk.before[at]
        if line.strip() and (len(line) - len(line.lstrip()) < own or (own == 0 and line.startswith("["))):
            return at
    return None


def _body(lines: Sequence[str], hunk: Hunk) -> str:
    """The lines without the end of the last one, where both sides have it."""
    text = "".join(lines)
    both = "".join(hunk.old).endswith("\n") and ("".join(hunk.new).endswith("\n") or not hunk.new)
    return text.removesuffix("\n") if both and hunk.new else text


def _tried(group: Group, values: Values, pieces: Pieces) -> Iterator[Learned]:
    """Each open place of the pattern is left open or is a value that is requested; the fewer of those, the simpler."""
    holes = [n for n, piece in enumerate((*pieces[0], *pieces[1])) if isinstance(piece, Hole) and not piece.fixed]
    seen: set[tuple[str, str]] = set()
    for amount in range(min(len(holes), MOST_CLOSED if len(holes) <= MANY_OPEN else 1) + 1):
        right_ones: list[Learned] = []
        for closed, narrow, functions in product(combinations(holes, amount), (False, True), (True, False)):
            made = _Draft(group, values.copy(), functions, narrow).made(pieces, frozenset(closed))
            key = (made.edit.pattern.code, made.edit.new.code) if made is not None else None
            if made is None or key is None or key in seen:
                continue
            seen.add(key)
            if right(group, made.edit, made.values):
                right_ones.append(made)
        if right_ones:
            yield min(right_ones, key=lambda x: x.cost)


@dataclass
class _Draft:
    """One way to write the rewriting."""

    group: Group
    values: Values
    functions: bool
    """New values may be computed from what was there."""
    narrow: bool
    """Open places take only what looks just like what was there."""
    own: dict[Column, Expr] = field(default_factory=dict)
    groups: int = 0

    def made(self, pieces: Pieces, closed: frozenset[int]) -> Learned | None:
        before, was, becomes = pieces
        parts: list[str | Expr] = ["^"]
        context: list[Expr] = []
        lost = 0
        new_columns = {self.group.column(p.values) for p in becomes if isinstance(p, Hole)}
        for n, piece in enumerate((*before, *was)):
            if isinstance(piece, str):
                found: list[tuple[str | Expr, Expr]] | None = [(literal(piece), const(piece))]
            elif n in closed:
                found = self._closed(piece)
                # What is replaced says less about the place than what stays.
                lost += n >= len(before) and self.group.column(piece.values) not in new_columns
            else:
                found = [self._open(self.group.column(piece.values), piece.narrow if self.narrow else piece.form)]
            if found is None:
                return None
            parts += [part for part, _ in found]
            context += [expr for _, expr in found] if n < len(before) else []
        parts.append("$" if not "".join(p for p in was if isinstance(p, str)).endswith("\n") else "")
        new = join([*context, ruled([self._new(p) for p in becomes])])
        return self._learned(Pattern(tuple(parts)), new, becomes, lost)

    def _learned(self, pattern: Pattern, new: Expr, becomes: Sequence[Piece], lost: int) -> Learned | None:
        lists = [p.name for p in self.values.parameters if not isinstance(p.values[0], str)]
        keyed = any(name in pattern.uses for name in lists)
        named = next((name for name in lists if name in new.uses), "")
        if keyed and (new.own or not named):
            return None
        edit = Rewrite(self.group.where, _without_groups(pattern, new), new, None, listed=named, keyed=keyed)
        if not becomes:
            edit = replace(edit, done=Pattern((r"\A",)))
        elif not _repeats(self.group, edit, self.values):
            done = Pattern(("^", *(self._done(p) for p in becomes), "$"))
            edit = replace(edit, done=done)
        return Learned(edit, self.values, lost + self.narrow)

    def _open(self, column: Column, form: str) -> tuple[str, Expr]:
        self.groups += 1
        expr = group(self.groups)
        self.own.setdefault(column, expr)
        return f"({form})", expr

    def _closed(self, hole: Hole) -> list[tuple[str | Expr, Expr]] | None:
        """The hole as a requested value, alone or with an open rest behind it; what is only in the tree is left open."""
        whole = self.values.requested(self.group.column(hole.values))
        if whole is not None:
            self.own.setdefault(self.group.column(hole.values), whole)
            return [(whole, whole)]
        heads = [_head(v, self.values.requests[e]) for v, e in zip(hole.values, self.group.of, strict=True)]
        head = self.values.requested(self.group.column(heads)) if all(heads) else None
        if head is None:
            return None
        rests = tuple(v[len(h) :] for v, h in zip(hole.values, heads, strict=True))
        part, rest = self._open(self.group.column(rests), r"[\w./+-]*")
        self.own[self.group.column(hole.values)] = join([head, rest])
        return [(head, head), (part, rest)]

    def _new(self, piece: Piece) -> Expr:
        if isinstance(piece, str):
            return const(piece)
        return self.values.value(self.group.column(piece.values), self.own, self.functions)

    def _done(self, piece: Piece) -> str | Expr:
        """What is there afterwards: a value that is known, else anything like it."""
        if isinstance(piece, str):
            return re.sub("\x01(.)", lambda m: literal(m[1]) + "+", literal(piece))
        known = self.values.known(self.group.column(piece.values))
        return known if known is not None else piece.form


def _head(value: str, request: str) -> str:
    """The longest beginning of the value that the request has as a word."""
    cuts = [m.start() for m in re.finditer(r"(?<=\w)[^\w]", value)]
    return next((value[:cut] for cut in [len(value), *reversed(cuts)] if told(value[:cut], request)), "")


def _without_groups(pattern: Pattern, new: Expr) -> Pattern:
    """The pattern, its groups left out where nothing asks for them."""
    if new.own:
        return pattern
    return Pattern(tuple(p[1:-1] if isinstance(p, str) and _is_group(p) else p for p in pattern.parts))


def _is_group(part: str) -> bool:
    return part.startswith("(") and part.endswith(")") and not part.startswith("(?")


def _repeats(group_: Group, edit: Rewrite, values: Values) -> bool:
    """Whether the pattern matches what it made, and makes the same of it: in the first example, the others are for ``right``."""
    files = {**group_.examples[0].start, **group_.expected[0]}
    try:
        edit.apply(values.env(0), files)
    except (ValueError, KeyError, IndexError):
        return False
    return all(files[p] == text for p, text in group_.expected[0].items())


def right(group_: Group, edit: Rewrite, values: Values) -> bool:
    """Whether in every example it changes the hunks of its group as they were, nothing else, and nothing a second time."""
    for e, example in enumerate(group_.examples):
        wanted = group_.expected[e]
        files = dict(example.start)
        try:
            edit.apply(values.env(e), files)
            once = dict(files)
            edit.apply(values.env(e), files)
        except (ValueError, KeyError, IndexError, re.error):
            return False
        if files != once or files != {**example.start, **wanted}:
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

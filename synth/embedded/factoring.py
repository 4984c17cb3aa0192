"""Values that follow from others: holes whose values are made of other holes' values and constants."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Sequence

from synth.embedded.requested import is_said
from synth.embedded.template import Place, Template, Value
from verifiers.shell.tree import Hole, Lit, Many, Part, Word, rebuilt, tidy

_PIECE = re.compile(r"[^\W_]+|.", re.DOTALL)


def factored(raw: object, values: list[tuple[Value, ...]], places: list[Place], requests: Sequence[str] = ()) -> Template:
    """Replaces holes whose values are made of other holes' values, of words that the requests say, and of constants."""
    made: dict[int, list[Part]] = {}
    values, places = list(values), list(places)
    for k in range(len(values)):
        if (begun := _beginning(k, values)) is not None:
            j, glue, rest = begun
            if rest not in values:
                values.append(rest)
                places.append(places[k])
            made[k] = [Hole(j), Lit(glue), Hole(values.index(rest))]
    if (folder := _shared_folder([v for k, v in enumerate(values) if k not in made])) is not None:
        places.append(places[next(k for k, v in enumerate(values) if str(v[0]).startswith(f"{folder[0]}/"))])
        values.append(folder)
    for k in range(len(values)):
        for words in _said_parts(k, values, requests) if k not in made else ():
            values.append(words)
            places.append(places[k])
    order = sorted(range(len(values)), key=lambda k: -sum(len(v) for v in values[k]))
    for k in order:
        if k in made or any(not isinstance(v, str) for v in values[k]):
            continue
        others = {j: v for j, v in enumerate(values) if j != k and j not in made and all(isinstance(x, str) for x in v)}
        parts = composed(tuple(str(v) for v in values[k]), {j: tuple(str(x) for x in v) for j, v in others.items()})
        if parts is not None:
            made[k] = parts
    kept = [k for k in range(len(values)) if k not in made]
    number = {old: new for new, old in enumerate(kept)}
    program = _replace(raw, made, number)
    assert isinstance(program, tuple)
    return Template(program, tuple(values[k] for k in kept), tuple(places[k] for k in kept))


def _beginning(k: int, values: Sequence[tuple[Value, ...]]) -> tuple[int, str, tuple[str, ...]] | None:
    """``KEY=VALUE`` where ``KEY`` is a value too: the other hole, what stands between, and the rest."""
    whole = [v for v in values[k] if isinstance(v, str)]
    for j, row in enumerate(values):
        first = [v for v in row if isinstance(v, str)]
        if j == k or len(whole) != len(row) or len(first) != len(row) or len(set(first)) < 2:
            continue
        if not all(f and w.startswith(f) for w, f in zip(whole, first, strict=True)):
            continue
        rests = [w[len(f) :] for w, f in zip(whole, first, strict=True)]
        glue = re.match(r"\W+", rests[0])
        if glue is None or not all(r.startswith(glue[0]) and r[len(glue[0]) :][:1].isalnum() for r in rests):
            continue
        tails = tuple(r[len(glue[0]) :] for r in rests)
        if len(set(tails)) > 1:
            return j, glue[0], tails
    return None


def _said_parts(k: int, values: Sequence[tuple[Value, ...]], requests: Sequence[str]) -> list[tuple[str, ...]]:
    """Words that all requests say and a value is made of, with constants and other values, where none of them says it whole:
    ``2026-09`` of ``archive/2026-09.tar.gz``. Empty where it is made of other things too."""
    whole = [v for v in values[k] if isinstance(v, str)]
    if len(requests) != len(values[k]) or len(whole) != len(requests) or any(map(is_said, whole, requests)):
        return []
    others = [v for j, v in enumerate(values) if j != k and all(isinstance(x, str) for x in v)]
    known = {j: tuple(map(str, v)) for j, v in enumerate(others)}
    found: list[tuple[str, ...]] = []

    def word(rest: tuple[str, ...]) -> list[Part] | None:
        rows = [_PIECE.findall(r) for r in rest]
        most = _alike(rows)
        ends = _alike([row[most:][::-1] for row in rows])
        # The shortest that is said: the 09 of 2026-09 is no word.
        for left, right in sorted(itertools.product(range(most + 1), range(ends + 1)), key=sum, reverse=True):
            middle = tuple("".join(row[left : len(row) - right]) for row in rows)
            if all(middle) and all(map(is_said, middle, requests)):
                found.append(middle)
                return [Hole(-1)]
        return None

    return found if composed(tuple(whole), known, 1, word) is not None else []


def _alike(rows: Sequence[Sequence[str]]) -> int:
    """How many pieces all rows begin with."""
    return sum(1 for _ in itertools.takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))


def _shared_folder(values: Sequence[tuple[Value, ...]]) -> tuple[str, ...] | None:
    """A folder that several values lie in and that is no value itself, where it and the others say all of two of them."""
    texts = [tuple(v for v in row if isinstance(v, str)) for row in values]
    texts = [t for t, row in zip(texts, values, strict=True) if len(t) == len(row)]
    for one, other in itertools.combinations(texts, 2):
        both = [os.path.commonpath([a, b]) if a[:1] != "/" != b[:1] else "" for a, b in zip(one, other, strict=True)]
        folder = tuple(both)
        if not all(folder) or len(set(folder)) == 1 or folder in texts:
            continue
        known = dict(enumerate([folder, *texts]))
        fewer = [t for k, t in known.items() if k and composed(t, {j: o for j, o in known.items() if o != t}) is not None]
        if len(fewer) > 1:
            return folder
    return None


def composed(
    target: tuple[str, ...],
    others: dict[int, tuple[str, ...]],
    depth: int = 0,
    word: Callable[[tuple[str, ...]], list[Part] | None] = lambda _: None,
) -> list[Part] | None:
    """``target`` as constants and other holes; None where it is not made of them, and at depth 0 where it is one of either.

    Args:
        word: what a rest is that is made of neither.
    """
    if len(set(target)) == 1:
        return ([Lit(target[0])] if target[0] else []) if depth else None
    for j in sorted(others, key=lambda j: -sum(map(len, others[j]))):
        if depth and others[j] == target:
            return [Hole(j)]
        if not all(v and v in t for v, t in zip(others[j], target, strict=True)) or others[j] == target:
            continue
        cuts = [t.partition(v) for v, t in zip(others[j], target, strict=True)]
        left = composed(tuple(c[0] for c in cuts), others, depth + 1, word)
        right = composed(tuple(c[2] for c in cuts), others, depth + 1, word)
        if left is not None and right is not None:
            return [*left, Hole(j), *right]
    return word(target)


def _replace(node: object, made: dict[int, list[Part]], number: dict[int, int]) -> object:
    if isinstance(node, Word):
        return Word(tuple(tidy([p for part in node.parts for p in _parts(part, made, number)])))
    return rebuilt(node, lambda x: _replace(x, made, number))


def _parts(part: Part, made: dict[int, list[Part]], number: dict[int, int]) -> list[Part]:
    if isinstance(part, Hole) and part.index in made:
        return [p for inner in made[part.index] for p in _parts(inner, made, number)]
    if isinstance(part, Hole | Many):
        return [type(part)(number[part.index])]
    again = _replace(part, made, number)
    return [again]  # type: ignore[list-item]  # _replace() keeps the type

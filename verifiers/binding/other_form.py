"""Arguments of a trace whose commands have another form than those of the bound ones: what its words may be, likeliest first.

A value is taken for a parameter only where it is of the kind that the parameter's known values are: a directory of the start, a
file of it, a path that was made, a number, other text. Whoever asks runs the skill with each proposal and takes the first that
does what the trace did. A trace without commands has no form: what it wrote is read (``edited``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from sandbox.interface import JsonValue
from verifiers.binding import edited
from verifiers.binding.literals import literals
from verifiers.interface import Args, Evidence

MOST_VALUES, MOST_PROPOSALS = 8, 96
"""Values that are proposed for a parameter; proposals altogether."""
_WORD = re.compile(r"[^\s\"'`()]*[^\W_]")
"""A word of a request, without the marks that end it."""
MOST_LETTERS, MOST_REQUEST = 200, 2_000
"""Of a value, and of a request that is read."""
MOST_ROWS = 20_000
"""Combinations of values that are put in order."""


def proposals(known: Mapping[str, Args], bound: Sequence[Evidence], trace: Evidence) -> Iterator[Args]:
    """Arguments that ``trace`` may have, in the names that ``known`` has; those whose values stand first come first.

    Args:
        known: Arguments of each trace in ``bound``, by task_id.
        bound: Traces whose arguments are known.
        trace: The one that is asked about.
    """
    if not trace.commands:
        yield from edited.proposals(known, bound, trace)
        return
    names = sorted({name for args in known.values() for name in args})
    kinds = {name: {_kind(known[e.task_id][name], e) for e in bound if name in known.get(e.task_id, {})} for name in names}
    spoken = trace.description.lower()
    parts = sorted((x.value for x in literals(trace) if x.hint != "list"), key=lambda w: _clean(w).lower() not in spoken)
    found = dict.fromkeys(map(_clean, [*_paths(trace), *said_and_done(trace), *parts]))
    words = [w for w in found if len(w) <= MOST_LETTERS]
    values = ([_typed(w, kinds[name]) for w in words] for name in names)
    rows = [[v for v in row if v is not None and _kind(v, trace) in kinds[n]] for n, row in zip(names, values, strict=True)]
    columns = [_alike_first(row, [args.get(n) for args in known.values()]) for n, row in zip(names, rows, strict=True)]
    most = next(k for k in range(MOST_VALUES, 0, -1) if k ** len(names) <= MOST_ROWS or k == 1)
    chosen = product(*(list(enumerate(column[:most])) for column in columns))
    likeliest = sorted(chosen, key=lambda row: sum(k for k, _ in row))
    seen = (dict(zip(names, (v for _, v in row), strict=True)) for row in likeliest if len({str(v) for _, v in row}) == len(row))
    yield from islice(seen, MOST_PROPOSALS)


def _paths(trace: Evidence) -> list[str]:
    """Words of a request that name a path of the start, which commands may name in two steps (``cd``)."""
    found = (m[0] for m in _WORD.finditer(trace.description[:MOST_REQUEST]))
    return [w for w in found if _clean(w) in (trace.base or {})]


def _alike_first(values: Sequence[JsonValue], known: Sequence[JsonValue]) -> list[JsonValue]:
    """The values, those in front that are written as a known one is: a date looks like a date."""
    usual = set(map(_shape, known))
    return sorted(values, key=lambda v: _shape(v) not in usual)


def _shape(value: JsonValue) -> str:
    return re.sub(r"[^\W\d_]+( +[^\W\d_]+)*", "a", re.sub(r"\d", "0", str(value)))


def said_and_done(trace: Evidence) -> list[str]:
    """The longest runs of words that a request and its commands have in common, as they stand: ``spring onions``."""
    request, commands = trace.description[:MOST_REQUEST], "\n".join(trace.commands)
    found: list[str] = []
    reached = 0
    for begin in (m.start() for m in _WORD.finditer(request)):
        ends = [m.end() for m in _WORD.finditer(request, begin) if begin < m.end() <= begin + MOST_LETTERS]
        end = next((e for e in reversed(ends) if _stands(request[begin:e], commands)), 0)
        found += [request[begin:end]] if end > reached else []
        reached = max(reached, end)
    return found


def _stands(words: str, text: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(words)}(?![^\W_])", text) is not None


def _kind(value: JsonValue, trace: Evidence) -> str:
    if not isinstance(value, str):
        return type(value).__name__
    path = value.removeprefix("./").rstrip("/")
    for tree, made in ((trace.base, ""), (trace.post, "made ")):
        if tree is not None and path in tree:
            return made + tree[path].type
    return "number" if value.isdecimal() else "text"


def _clean(word: str) -> str:
    return word.removeprefix("./").rstrip("/") or word


def _typed(word: str, kinds: set[str]) -> JsonValue:
    """The word as a value of these kinds; None where it is none."""
    if kinds <= {"int"}:
        return int(word) if word.isdecimal() else None
    return word if word and not kinds & {"int", "float", "bool", "list", "dict"} else None

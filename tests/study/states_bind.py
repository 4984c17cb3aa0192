"""Finds the arguments of a program for an example that it was not learned from, in its request and in what was written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from synth.embedded.states.examples import Example, Texts
from synth.embedded.states.hunks import GRAINS, hunks_of, words
from synth.embedded.states.learn import Program
from synth.embedded.states.values import Env, Parameter, name_of, told

_MOST = 4_000
"""Combinations that are tried."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a program does on an example that it was not learned from."""

    args: Env | None
    """Those with which it makes the recorded end."""
    others: tuple[Texts, ...] = ()
    """The ends that it makes with other values of the request and of what was written; none where it raises with all of them."""


def bind(program: Program, example: Example) -> Bound:
    """Looks for the arguments with which the program makes the example's end."""
    hunks = list(hunks_of(0, example))
    removed = ["".join(h.old) for h in hunks]
    added = ["".join(h.new) for h in hunks] + [p + "\n" + example.end[p] for p in example.created]
    ends: list[Texts] = []
    for strict in (True, False):
        choices = [list(_candidates(p, example.request, added, removed, strict)) for p in program.parameters]
        for picked in islice(product(*choices), _MOST):
            env = {p.name: v for p, v in zip(program.parameters, picked, strict=True)}
            try:
                end = program.run(env, dict(example.start))
            except (ValueError, KeyError, IndexError, re.error):
                continue
            if end == example.end:
                return Bound(env)
            ends += [end] if strict else []
    return Bound(None, tuple(ends))


def _candidates(
    parameter: Parameter, request: str, added: Sequence[str], removed: Sequence[str], strict: bool
) -> Iterator[str | tuple[str, ...]]:
    kind = re.sub(r"_\d+$", "", name_of(parameter.values, ("",) * len(parameter.values), set()))
    if not isinstance(parameter.values[0], str):
        yield from _lists(kind, added)
        yield from _lists(kind, removed)
        return
    if kind == "text":
        for block in added:
            lines = block.split("\n")
            yield from ("\n".join(lines[i:j]) for i in range(len(lines)) for j in range(len(lines), i, -1))
        return
    found = dict.fromkeys(w for text in ([request] if parameter.in_request else added) for w in _words(text))
    if strict and not parameter.in_request:
        stays = {w for text in removed for w in _words(text)}
        found = {w: None for w in found if w not in stays}
    yield from (w for w in found if _is(kind, w) and (not parameter.in_request or told(w, request)))


def _lists(kind: str, added: Sequence[str]) -> Iterator[tuple[str, ...]]:
    single = kind.removesuffix("s")
    found = [w for text in added for w in words(text, GRAINS[0]) if _is(single, w)]
    for some in (found, list(dict.fromkeys(found))):
        yield from (tuple(some[i:j]) for i, j in ((0, None), (0, -1), (1, None)))


def _is(kind: str, word: str) -> bool:
    return name_of((word,), ("",), set()) == kind or kind in ("value", "name")


def _words(text: str) -> Iterator[str]:
    for grain in GRAINS:
        for word in words(text, grain):
            if re.search(r"\w", word):
                yield word
                yield re.sub(r"^[^\W\d_]+(?=\d)", "", word)

"""Holes that only runs can show: where agents do one task by different commands, no text lies side by side.

A short value (``0``, ``-``, ``*``) or a part of a word may stand in the commands by chance. It is the argument's if the commands,
with the arguments of another recording put there, do on that recording's start what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from sandbox.interface import ReplayRecord
from verifiers.context import Case, Context
from verifiers.expectation.answers import same_answer
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import expect, shell_request
from verifiers.worlds.template import Hole, Template, as_text, bounded_places, places, with_holes

MOST_WAYS = 24
MOST_PLACES = 4
MOST_MISSING = 5
"""Parameters whose places are looked for: each more makes several times as many ways."""


def proven(context: Context, cases: Sequence[Case], found: Sequence[Template]) -> list[Template]:
    """The templates of recorded cases, in order, with what runs show besides."""
    return [_proven(context, case, template, cases) for case, template in zip(cases, found, strict=True)]


def _proven(context: Context, case: Case, template: Template, cases: Sequence[Case]) -> Template:
    """With the holes that reproduce the most other recordings; those are asked that differ in something without a hole."""
    without = [p for p in case.args if p not in template.parameters and isinstance(case.args[p], str | int)]
    missing = [p for p in without if places(template, p)][:MOST_MISSING]
    others = [o for o in cases if o is not case and o.args.keys() == case.args.keys() and _differ(o, case, missing)]
    best, most = template, 0
    for way in _ways(template, missing) if others else ():
        filled = [(o, way.fill(o.args)) for o in others if _differ(o, case, [p for p in missing if p in way.parameters])]
        records = context.traces.map(shell_request(o.base, commands) for o, commands in filled)
        right = sum(_as_recorded(context, case, o, record) for (o, _), record in zip(filled, records, strict=True))
        best, most = (way, right) if right > most else (best, most)
        if most == len(others):
            break
    return best


def _differ(one: Case, other: Case, parameters: Sequence[str]) -> bool:
    return any(as_text(one.args[p]) != as_text(other.args[p]) for p in parameters)


def _as_recorded(context: Context, case: Case, other: Case, record: ReplayRecord) -> bool:
    """Whether the commands of one case, filled for another one, did there what was recorded."""
    if case.evidence is None:
        return False
    made, why = expect(case.evidence, [record])
    x = other.expectation
    silent = not context.replayed.read_only or not x.answer_known
    alike = silent or same_answer(x.answer, made.answer, ordered=x.answer_ordered)
    return not why and not any(made.failed) and alike and not differences(x.tree, made.tree, root=False, volatile=x.volatile)


def _ways(template: Template, missing: Sequence[str]) -> Iterator[Template]:
    """Templates with more holes, those first that are the least surprising: whole words of a value, then it wherever it stands,
    then one place alone."""
    choices = [_choices(template, p) for p in missing]
    ranked = sorted(product(*(range(len(c)) for c in choices)), key=lambda ranks: (sum(ranks), ranks))
    for ranks in islice(ranked, MOST_WAYS):
        holes = [h for c, rank in zip(choices, ranks, strict=True) for h in c[rank]]
        way = with_holes(template, holes)
        if way is not None and way.parameters != template.parameters:
            yield way


def _choices(template: Template, parameter: str) -> list[list[Hole]]:
    """Ways to place the holes of one parameter, none at last."""
    whole, every = bounded_places(template, parameter), places(template, parameter)
    single = [[h] for h in reversed(every)][:MOST_PLACES] if len(every) > 1 else []
    found = [f for f in (whole, every, *single) if f]
    return [*(f for n, f in enumerate(found) if f not in found[:n]), []]

"""The search for an edit program: every hunk of every example explained, the simplest way first; execution decides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synth.embedded.states.creating import creations
from synth.embedded.states.edits import Edit, Files
from synth.embedded.states.examples import Example
from synth.embedded.states.hunks import groupings, hunks_of
from synth.embedded.states.inserting import insertions
from synth.embedded.states.paths import Paths, path_edits, path_groups, without_paths
from synth.embedded.states.rewriting import Group, rewrites
from synth.embedded.states.values import Env, Parameter, Values

MOST_FREE = 4
"""Parameters that no request tells: a skill that has to be given more repeats little."""


@dataclass(frozen=True, slots=True)
class Program:
    """Edits in order, with the parameters that they take."""

    edits: tuple[Edit, ...]
    parameters: tuple[Parameter, ...]

    @property
    def cost(self) -> int:
        return sum(e.cost for e in self.edits) + sum(p.cost for p in self.parameters)

    def env(self, example: int) -> Env:
        """The arguments of an example."""
        return {p.name: p.values[example] for p in self.parameters}

    def run(self, env: Env, files: Files) -> Files:
        """The files as the program leaves them.

        Raises:
            ValueError: it has nothing to be applied to.
        """
        out = dict(files)
        for edit in self.edits:
            edit.apply(env, out)
        return out


def programs(examples: Sequence[Example]) -> Iterator[Program]:
    """Programs that make every example's end of its start, and change nothing on the end: those of the narrowest view first."""
    seen: set[str] = set()
    for program in _proposed(examples):
        key = repr([str(e) for e in program.edits])
        free = sum(not p.in_request for p in program.parameters)
        if key not in seen and program.edits and free <= MOST_FREE and explains(program, examples):
            seen.add(key)
            yield program


def explains(program: Program, examples: Sequence[Example]) -> bool:
    try:
        return all(
            program.run(program.env(e), dict(x.start)) == x.end and program.run(program.env(e), dict(x.end)) == x.end
            for e, x in enumerate(examples)
        )
    except (ValueError, KeyError, IndexError, re.error):
        return False


def _proposed(examples: Sequence[Example]) -> Iterator[Program]:
    there = [without_paths(x) for x in examples]
    named = path_groups(examples)
    if named is None:
        return
    hunks = [h for n, x in enumerate(there) for h in hunks_of(n, x)]
    for groups in groupings(hunks, there) if hunks else [[]]:
        program = _greedy([*named, *(Group(g, there) for g in groups)], there)
        if program is not None:
            yield program


def _greedy(groups: list[Group], examples: Sequence[Example]) -> Program | None:
    """Explains the groups one after the other, always the one that needs least: what it takes from the request helps others."""
    values = Values(tuple(x.request for x in examples))
    edits: list[Edit] = []
    waiting: list[Group | None] = [*groups, *([None] if any(x.created for x in examples) else [])]
    found: list[tuple[int, Edit, Values] | None] = [_best(g, examples, values) for g in waiting]
    while waiting:
        rated = [(best[0], n) for n, best in enumerate(found) if best is not None]
        if len(rated) < len(waiting):
            return None
        _, n = min(rated)
        best = found.pop(n)
        assert best is not None  # none is missing
        waiting.pop(n)
        edits.append(best[1])
        if best[2].parameters != values.parameters:
            values = best[2]
            found = [_best(g, examples, values) for g in waiting]
    # Names first: the texts are found under their new ones.
    edits.sort(key=lambda e: not isinstance(e, Paths))
    return Program(tuple(edits), tuple(values.parameters))


def _best(group: Group | None, examples: Sequence[Example], values: Values) -> tuple[int, Edit, Values] | None:
    if group is None:
        made = creations(examples, values)
    elif group.of_paths:
        made = path_edits(group, values)
    elif not any(h.old for h in group.hunks):
        made = insertions(group, values)
    else:
        made = ((x.edit, x.values) for x in rewrites(group, values))
    rated = [(e.cost + v.cost, e, v) for e, v in made]
    return min(rated, key=lambda r: r[0]) if rated else None

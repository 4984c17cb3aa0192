"""Mutants of a skill: small changes, each of which a good body of evidence should notice (docs/semantics.md, "Score")."""

from __future__ import annotations

import ast
import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sandbox.interface import JsonValue
from verifiers.conventions.model import read
from verifiers.mutation import calls, expressions, programs, suites
from verifiers.mutation.site import Edit, Site
from verifiers.source.parsing import parsed
from verifiers.subject import parse_subject, quiet

_OPERATORS = (
    expressions.conditions, expressions.comparisons, expressions.constants, expressions.arithmetic, expressions.slices,
    calls.swaps, calls.ordering, calls.steps, calls.keywords, calls.writing,
    suites.statements, suites.loops, suites.handlers, programs.shell_programs, programs.argument_words,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed copy of a skill."""

    id: str
    """Operator, line and a digest: the same for the same change of the same text."""
    operator: str
    line: int
    """Of the original."""
    description: str
    source: str


def mutants(
    source: str, *, literals: Sequence[Mapping[str, JsonValue]] = (), limit: int | None = None, seed: int = 0
) -> list[Mutant]:
    """Mutants of ``source`` in file order: distinct, compilable, different from it in more than layout.

    Args:
        literals: the arguments of each trace; a parameter may be fixed to the value that one of them has.
        limit: how many at most; operators take turns, so that each kind is represented. None = all.
        seed: decides which are taken under a limit. The same arguments give the same mutants.
    """
    try:
        module = read(parse_subject(source, "skill.py"))
        if module is None:
            return []
        site = Site(module)
        edits = [e for operator in _OPERATORS for e in operator(site)] + list(suites.fixed_parameters(site, literals))
    except RecursionError:  # an expression nested hundreds of levels deep
        return []
    chosen: list[tuple[Edit, Mutant]] = []
    seen = {_shape(source)}
    for edit in _in_turns(edits, random.Random(seed)):
        if limit is not None and len(chosen) >= limit:
            break
        changed = site.apply(edit)
        shape = _shape(changed)
        if shape is None or shape in seen:
            continue
        seen.add(shape)
        chosen.append((edit, _mutant(edit, changed)))
    return [m for _, m in sorted(chosen, key=lambda pair: (pair[0].start, pair[0].end, pair[0].operator, pair[0].text))]


def _mutant(edit: Edit, changed: str) -> Mutant:
    digest = hashlib.sha256(changed.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return Mutant(f"{edit.operator}:{edit.line}:{digest}", edit.operator, edit.line, edit.description, changed)


def _in_turns(edits: Sequence[Edit], rng: random.Random) -> Iterator[Edit]:
    """The edits, one of each operator a round, in an order that the seed decides."""
    groups: dict[str, list[Edit]] = defaultdict(list)
    for edit in sorted(edits, key=lambda e: (e.operator, e.start, e.end, e.text)):
        groups[edit.operator].append(edit)
    names = sorted(groups)
    for name in names:
        rng.shuffle(groups[name])
    rng.shuffle(names)
    while names:
        for name in list(names):
            yield groups[name].pop()
            if not groups[name]:
                names.remove(name)


def _shape(source: str) -> str | None:
    """The syntax tree as text; None for what does not compile."""
    try:
        with quiet():
            tree = parsed(source)
            compile(tree, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return ast.dump(tree)

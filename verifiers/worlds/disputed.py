"""Starts on which the commands themselves say different things: agents do one task in several ways, and write a value as a
pattern that means nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sandbox.interface import ReplayRecord
from verifiers.context import Case, Context
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import shell_request
from verifiers.worlds.commanded import stated
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.plans import Plan
from verifiers.worlds.shelltext import meaning
from verifiers.worlds.template import Hole, as_pattern, as_text
from verifiers.worlds.trials import Beyond, Trial
from verifiers.worlds.world import World

DISPUTED = Beyond("commands-disagree", "the commands do the same in whatever form they are written")


def disputed(context: Context, gs: Sequence[Grammar], trial: Trial, record: ReplayRecord) -> bool:
    """Whether the commands in another form do here what a run of the skill did: those of another recording, or its own with
    values that stand for themselves in patterns. They speak for a recording only if they do on its start what its commands do."""
    g, world = trial.g, trial.world
    for other, literal in _forms(context, gs, g):
        commands = other.template.fill(world.args, literal)
        here = _stated(context, other, replace(trial, world=replace(world, commands=commands)))
        if here is not None and context.judge.wrong(record, here.expectation) is None:
            return True
    return False


def _forms(context: Context, gs: Sequence[Grammar], g: Grammar) -> Iterator[tuple[Grammar, tuple[Hole, ...]]]:
    """Forms that do on the recorded start what the commands do."""
    special = [h for h in g.template.holes if as_pattern(text := as_text(g.args[h.parameter])) != text]
    patterns = tuple(h for h in special if _holds(context, g, g, (h,)))
    if patterns and _holds(context, g, g, patterns):
        yield g, patterns
    yield from ((other, ()) for other in gs if _are_others(g, other) and _holds(context, g, other, ()))


def _are_others(g: Grammar, other: Grammar) -> bool:
    """Whether these are other commands, that take all that varies in the first."""
    takes = g.template.parameters <= other.template.parameters <= frozenset(g.args)
    return takes and [meaning(c) for c in other.template.fill(g.args)] != [meaning(c) for c in g.template.commands]


def _holds(context: Context, g: Grammar, other: Grammar, literal: tuple[Hole, ...]) -> bool:
    own = World(g.task_id, g.base, g.args, other.template.fill(g.args, literal), frozenset())
    case = _stated(context, other, Trial(g, Plan(), own))
    if case is None:
        return False
    x, recorded = case.expectation, g.expectation
    alike = x.answer.strip() == recorded.answer.strip() or not recorded.answer_known
    return alike and not differences(recorded.tree, x.tree, root=False)


def _stated(context: Context, other: Grammar, trial: Trial) -> Case | None:
    record = context.traces.map([shell_request(trial.world.base, trial.world.commands)])[0]
    return stated(context, replace(trial, g=other), [record], f"trace {other.task_id} on {trial.world.task_id}")

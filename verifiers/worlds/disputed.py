"""Starts on which the recordings themselves say different things: agents do one task in several ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import ReplayRecord
from verifiers.context import Case, Context
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import shell_request
from verifiers.worlds.commanded import stated
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.shelltext import meaning
from verifiers.worlds.trials import Beyond, Trial
from verifiers.worlds.world import World

DISPUTED = Beyond("commands-disagree", "the commands of the other recordings do the same")


def disputed(context: Context, gs: Sequence[Grammar], trial: Trial, record: ReplayRecord) -> bool:
    """Whether the commands of another recording do here what a run of the skill did. They speak for this recording only if they
    do on its own start what its commands do."""
    g, world = trial.g, trial.world
    for other in gs:
        if not _are_others(g, other):
            continue
        own = World(g.task_id, g.base, g.args, other.template.fill(g.args), frozenset())
        before = _stated(context, other, replace(trial, world=own))
        if before is None or not _same(before, g):
            continue
        here = _stated(context, other, replace(trial, world=replace(world, commands=other.template.fill(world.args))))
        if here is not None and context.judge.wrong(record, here.expectation) is None:
            return True
    return False


def _are_others(g: Grammar, other: Grammar) -> bool:
    """Whether these are other commands, that take all that varies in the first."""
    takes = g.template.parameters <= other.template.parameters <= frozenset(g.args)
    return takes and [meaning(c) for c in other.template.fill(g.args)] != [meaning(c) for c in g.template.commands]


def _stated(context: Context, other: Grammar, trial: Trial) -> Case | None:
    trial = replace(trial, g=other)
    record = context.traces.map([shell_request(trial.world.base, trial.world.commands)])[0]
    return stated(context, trial, [record], f"trace {other.task_id} on {trial.world.task_id}")


def _same(case: Case, g: Grammar) -> bool:
    x, recorded = case.expectation, g.expectation
    alike = x.answer.strip() == recorded.answer.strip() or not recorded.answer_known
    return alike and not differences(recorded.tree, x.tree, root=False)

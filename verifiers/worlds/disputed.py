"""Starts on which the commands are no good witnesses: those of the recordings say different things there, or they were written
for what stood in their own start and are not right on the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sandbox.interface import ReplayRecord
from verifiers.context import Case, Context
from verifiers.expectation.answers import same_answer
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import shell_request
from verifiers.shell.characters import meaning
from verifiers.worlds.commanded import stated
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.invariants.facts import Start, learn
from verifiers.worlds.plans import Plan
from verifiers.worlds.template import Hole, as_pattern, as_text
from verifiers.worlds.tokens import all_text
from verifiers.worlds.trials import Beyond, Trial
from verifiers.worlds.world import World

SENTENCE = "the commands as another recording has them, or with each value as plain text, do the same"


def disputed(context: Context, gs: Sequence[Grammar], trial: Trial, case: Case, record: ReplayRecord) -> Beyond | None:
    """What speaks against taking the commands for right on a start: they do otherwise there in another form. That is what another
    recording has, or their own with values that stand for themselves in patterns, as far as the skill does as that does. Another
    form speaks only if it does on every recorded start what was recorded, its own one where the commands as they are do so."""
    g, world = trial.g, trial.world
    found: list[Beyond] = []
    for other, literal in _forms(gs, g):
        commands = other.template.fill(world.args, literal)
        here = _stated(context, other, replace(trial, world=replace(world, commands=commands)), may_end=True)
        sides = here is not None and _did(context, g, here, record)
        if not (sides or (not literal and not _same(context, case, here))):
            continue
        asked = [k for k in gs if _speaks_of(context, k, other, literal)]
        if sides and not literal:
            # Two against one: it need be right for no recording but these two, whatever is special about the others.
            asked = [k for k in asked if k.task_id in (g.task_id, other.task_id)]
        if all(_holds(context, k, other, literal) for k in asked):
            what = ",".join(sorted({h.parameter for h in literal})) or other.task_id
            found.append(Beyond(f"commands-disagree:{what}", SENTENCE, always=True, vouched=sides))
            if sides:
                break
    return found[-1] if found else None


def unproven(context: Context, gs: Sequence[Grammar], trial: Trial) -> Beyond | None:
    """What held in a trial's own recording and holds no more, where that recording's commands do not do on each other recorded
    start what was recorded there: nothing shows that they are right where it does not hold."""
    g, recorded = trial.g, Start(trial.g.base, trial.g.args)
    broken = learn([recorded]).broken(Start(trial.world.base, trial.world.args), recorded)
    others = [k for k in gs if k.task_id != g.task_id]
    if not broken or not others or all(_takes(g, k) and _holds(context, k, g, ()) for k in others):
        return None
    fact = max(broken, key=lambda f: f.count)
    told = f"In {g.task_id!r} {fact.sentence}; here that is not so, and its commands are not right on the starts of all others."
    return Beyond(f"one-recording-{fact.kind.name}", fact.sentence, told, always=True)


def _did(context: Context, g: Grammar, here: Case, record: ReplayRecord) -> bool:
    return context.judge.wrong(record, replace(here.expectation, answer_known=g.expectation.answer_known)) is None


def _same(context: Context, case: Case, here: Case | None) -> bool:
    """Whether another form does what the commands do; not where it fails."""
    if here is None:
        return False
    x, other = case.expectation, here.expectation
    silent = context.judge.answer_path is None or not x.answer_known
    alike = silent or same_answer(x.answer, other.answer, ordered=x.answer_ordered)
    return alike and not differences(x.tree, other.tree, root=False, volatile=x.volatile)


def _forms(gs: Sequence[Grammar], g: Grammar) -> Iterator[tuple[Grammar, tuple[Hole, ...]]]:
    """Other forms of the commands: first with one value as text, then with all, then those of the other recordings."""
    there = all_text(g.base)
    texts = {h: as_text(g.args[h.parameter]) for h in g.template.holes}
    special = tuple(h for h, text in texts.items() if not h.escaped and as_pattern(text) != text and text in there)
    yield from ((g, (h,)) for h in special)
    if len(special) > 1:
        yield g, special
    yield from ((other, ()) for other in gs if _are_others(g, other))


def _speaks_of(context: Context, g: Grammar, other: Grammar, literal: tuple[Hole, ...]) -> bool:
    """Whether a form has to do on a recorded start what was recorded: a literal one need not be better than the plain one."""
    return _takes(other, g) and (not literal or _holds(context, g, other, ()))


def _takes(other: Grammar, g: Grammar) -> bool:
    return other.template.parameters <= frozenset(g.args)


def _are_others(g: Grammar, other: Grammar) -> bool:
    """Whether these are other commands, that take all that varies in the first."""
    return (
        g.template.parameters <= other.template.parameters
        and _takes(other, g)
        and [meaning(c) for c in other.template.fill(g.args)] != [meaning(c) for c in g.template.commands]
    )


def _holds(context: Context, g: Grammar, other: Grammar, literal: tuple[Hole, ...]) -> bool:
    """Whether a form does on a recorded start what was recorded, and prints it too if the skill answers."""
    own = World(g.task_id, g.base, g.args, other.template.fill(g.args, literal), frozenset())
    case = _stated(context, other, Trial(g, Plan(), own))
    if case is None:
        return False
    x, recorded = case.expectation, g.expectation
    silent = context.judge.answer_path is None or not recorded.answer_known
    alike = silent or x.answer.strip() == recorded.answer.strip()
    return alike and not differences(recorded.tree, x.tree, root=False)


def _stated(context: Context, other: Grammar, trial: Trial, *, may_end: bool = False) -> Case | None:
    """What a form does there, through links too: there it may be as careless as the skill.

    Args:
        may_end: what it changed before a command failed counts (a folder that is not empty now). On a recorded start it does not:
            no form is right that fails where it was recorded to succeed.
    """
    trial = replace(trial, world=replace(trial.world, stays=()))
    record = context.traces.map([shell_request(trial.world.base, trial.world.commands)])[0]
    label = f"trace {other.task_id} on {trial.world.task_id}"
    return stated(context, replace(trial, g=other), [record], label, may_be_idle=True, may_end=may_end)

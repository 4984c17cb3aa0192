"""What the recorded commands do on a trial, and which trials say something by it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import ReplayRecord, Surroundings
from verifiers.context import Case, Context, Wrong
from verifiers.expectation.oracle import Expectation, expect, shell_request
from verifiers.interface import Args
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.noticed import alike, unnoticed
from verifiers.worlds.plans import Plan
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text, substitute
from verifiers.worlds.trials import Trial
from verifiers.worlds.variation import Rule, Step
from verifiers.worlds.world import World, realise

STRANGE = (Rule.BYSTANDER, Rule.ITEM)

Judgeable = tuple[Trial, Case]
"""A trial on which the commands run cleanly, and what they do there."""


def judgeable(context: Context, trials: Sequence[Trial], first: int = 0) -> list[Judgeable]:
    """The trials on which the commands themselves run cleanly, with what they do there; each in the zone that this shows. They
    are numbered from ``first``."""
    records = context.traces.map(shell_request(t.world.base, t.world.commands) for t in trials)
    cases: list[Judgeable] = []
    for i, (t, record) in enumerate(zip(trials, records, strict=True), first):
        label = f"generated case {i} (trace {t.g.task_id}, seed {context.seed})"
        case = stated(context, t, [record], label)
        if case is not None:
            cases.append((t, case))
    return _taken_for_text(context, _telling(context, cases))


def _telling(context: Context, cases: Sequence[Judgeable]) -> list[Judgeable]:
    """Those on which the commands take no notice of unusual bystanders and near misses, and take hidden items for items: else no
    recording shows what is right."""
    plain = _plainer(context, cases, {i: t.plan.without(*STRANGE) for i, (t, _) in enumerate(cases) if t.plan.has(*STRANGE)})
    out = []
    for i, (trial, case) in enumerate(cases):
        other, item = plain.get(i), trial.plan.has(Rule.ITEM)
        plainly = not trial.plan.has(*STRANGE) or (trial.beyond is not None and bool(trial.world.made))
        if plainly or (other is not None and unnoticed(other, case.expectation, bool(trial.world.made)) is not item):
            out.append((trial, case))
    return out


def _taken_for_text(context: Context, cases: Sequence[Judgeable]) -> list[Judgeable]:
    """Arguments of other characters than the recorded ones are within the evidence where the commands do with them what they do
    with plain ones: then they are text like any other."""
    plain = _plainer(context, cases, {i: unmarked(t.plan) for i, (t, _) in enumerate(cases) if t.odd_value})
    out = []
    for i, (trial, case) in enumerate(cases):
        other = plain.get(i)
        if trial.odd_value and other is not None and alike(other, case.expectation, instead(trial), ordered=False, both=True):
            trial = replace(trial, beyond=None)
        out.append((trial, case))
    return out


def unmarked(plan: Plan) -> Plan:
    """The plan with plain words in the place of odd ones."""
    plain = [Step("rename", s.choice[:1]) if Plan((s,)).has(Rule.TEXT) else s for s in plan.steps]
    return replace(plan, steps=tuple(dict.fromkeys(plain)))


def instead(trial: Trial) -> dict[str, str]:
    """Each odd word of the arguments -> the plain one that stands there without its mark."""
    plain = realise(trial.g, unmarked(trial.plan))
    renames = plain.renames if plain is not None else {}
    return {odd: renames[t] for t, odd in trial.world.renames.items() if renames.get(t, odd) != odd}


def _plainer(context: Context, cases: Sequence[Judgeable], plans: dict[int, Plan]) -> dict[int, Expectation]:
    """What the commands do on the start of a plan that lacks what is odd about a case."""
    worlds = {i: w for i, plan in plans.items() if (w := realise(cases[i][0].g, plan)) is not None}
    records = context.traces.map(shell_request(w.base, w.commands) for w in worlds.values())
    out = {}
    for (i, world), record in zip(worlds.items(), records, strict=True):
        trial, case = cases[i]
        plain = stated(context, replace(trial, world=world, plan=plans[i]), [record], case.label)
        if plain is not None:
            out[i] = plain.expectation
    return out


def stated(
    context: Context,
    trial: Trial,
    records: Sequence[ReplayRecord],
    label: str,
    *,
    may_be_idle: bool = False,
    may_end: bool = False,
) -> Case | None:
    """The case that runs of the commands make of a trial; None where they do not run as they did when recorded.

    Args:
        may_be_idle: to do or say nothing counts too.
        may_end: what was changed before a command failed counts too.
    """
    g, world, nothing_left = trial.g, trial.world, may_be_idle or trial.plan.has(Rule.BARE)
    evidence = next(c.evidence for c in context.cases if c.task_id == g.task_id)
    if evidence is None:
        return None
    x, why = expect(replace(evidence, base=world.base), records)
    # A program that complains of a file in the way of another one keeps both: whoever does not does harm.
    occupied = {substitute(p, world.renames, inside=g.inside) for p in moved_to(g)} & set(world.made)
    quiet = x.quiet == g.expectation.quiet or (trial.beyond is not None and bool(occupied))
    clean = not why and ((x.failed == g.expectation.failed and quiet) or (may_end and bool(x.effects)))
    if not clean or (bool(x.effects) != bool(g.expectation.effects) and not nothing_left):
        return None
    if g.expectation.answer_known and g.expectation.answer.strip() and not x.answer.strip() and not nothing_left:
        return None
    if any(x.tree.get(p) != world.base.get(p) for p in world.stays) or _says_nothing_is_there(x, g, world.args):
        return None
    return Case(label, world.args, replace(x, answer_known=g.expectation.answer_known), g.task_id)


_ABSENT = re.compile(r"(?<![\w.-])(?:None|null|nan|NaN|undefined)(?![\w.-])")
"""How programs print that there is no value."""


def _says_nothing_is_there(x: Expectation, g: Grammar, args: Args) -> bool:
    """Whether the commands print for a value that there is none, as they never did: whoever wrote them did not think of that."""
    made = [e.content.decode("utf-8", "surrogateescape") for p, e in x.tree.items() if x.base.get(p) != e]
    said = set(_ABSENT.findall("\n".join((x.answer, *made))))
    there = (all_text(x.base), all_text(g.expectation.tree), g.expectation.answer)
    known = "\n".join((*there, *g.template.commands, *map(as_text, args.values())))
    return bool(said - set(_ABSENT.findall(known)))


def second_look(context: Context, world: World, case: Case, record: ReplayRecord) -> tuple[Wrong | None, Case]:
    """Before a case is held against the skill, the commands run again under other directory orders: what they disagree about
    is volatile."""
    again = context.traces.map(
        shell_request(world.base, world.commands, s)
        for s in (Surroundings(), Surroundings(order="reversed"), Surroundings(order="shuffled:5"))
    )
    evidence = next(c.evidence for c in context.cases if c.task_id == case.task_id)
    if evidence is None:
        return None, case
    x, why = expect(replace(evidence, base=world.base), again)
    if why:
        return None, case
    x = replace(x, answer_known=x.answer_known and case.expectation.answer_known)
    case = replace(case, expectation=x)
    return context.judge.wrong(record, x), case


def moved_to(g: Grammar) -> frozenset[str]:
    """Paths to which the trace moves a file."""
    moved = {e.content for p, e in g.base.items() if e.type == "file" and p not in g.expectation.tree}
    return frozenset(p for p in g.made if g.expectation.tree[p].content in moved)

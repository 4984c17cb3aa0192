"""The differential oracle of ``generalises``: the trace's commands against the skill, on starts where that is sound (SEMANTICS
§6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sandbox.interface import ReplayRecord, Snapshot, Surroundings
from verifiers.context import Case, Context, Generated, Wrong
from verifiers.expectation.equivalence import differences, durable_effects
from verifiers.expectation.oracle import Expectation, expect, shell_request
from verifiers.interface import Finding
from verifiers.worlds.draw import draw, shrink
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.judged import CHECK_ID, Judged, grammars
from verifiers.worlds.noticed import marked_alike, unnoticed
from verifiers.worlds.past import Failing, matching
from verifiers.worlds.plans import Plan, plans, systematic
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text
from verifiers.worlds.variation import Rule
from verifiers.worlds.world import World, realise

SYSTEMATIC = 3
"""Traces that get the plans which do not hang on the draw."""
STRANGE = (Rule.BYSTANDER, Rule.ITEM)


def differential(context: Context, gs: Sequence[Grammar]) -> Judged:
    """The trace's commands against the skill on clean starts: first those where it was wrong before, then drawn ones."""
    out = Judged()
    known = _wrong_again(context, gs)
    if known is not None:
        out.findings.append(known)
        out.judged += 1
        return out
    able = _able(gs)
    share = -(-context.counts.differential // len(able)) if able else 0
    chosen = able[:SYSTEMATIC]
    drawn = [(g, p) for n, g in enumerate(chosen) for p in systematic(g, turn=n, of=len(chosen))]
    drawn += [(g, p) for g in able for p in draw(plans(g), share, context.number(f"differential {g.task_id}"))]
    worlds = _worlds((g, p.held(gs)) for g, p in drawn)
    cases = _clean_cases(context, worlds)
    records = context.run("generated case", (context.request(c.base, c.args) for _, _, _, c in cases))
    out.runs = len(worlds) + len(records)
    for (g, plan, world, case), record in zip(cases, records, strict=True):
        wrong = context.judge.wrong(record, case.expectation)
        if wrong is not None:
            wrong, case = _second_look(context, world, case, record)
        if wrong is None:
            out.judged += 1
            out.passed.append(Generated(case, record, "differential", world.varied))
            continue
        if _accident(g, world, case, record):
            out.information.append(f"{case.label}: not judged, the shell takes a pattern for a name there ({wrong.message})")
            continue
        plain = plan.usual(gs)
        if plain != plan and not _harms_what_stays(case, record):
            found = _wrong_on(context, g, plain, case.label)
            if found is None:
                out.information.append(f"{case.label}: not judged, the recordings have nothing like it ({wrong.message})")
                continue
            plan, (case, record, wrong) = plain, found
        if wrong.kind == "failure" and _untouched(case, record) and _right_when_relaxed(context, g, plan):
            out.information.append(
                f"{case.label}: not judged, an unusual value is refused where the commands take it ({wrong.message})"
            )
        else:
            out.judged += 1
            out.findings.append(_shrunk(context, g, plan, case, wrong))
            break
    return out


def let_off(context: Context) -> list[Generated]:
    """Runs on starts where another outcome would not be held against the skill, and it did what the commands do: its code for
    them did no harm. They are no trials."""
    gs = grammars(context)
    cases = _clean_cases(context, _worlds((g, p) for g in _able(gs)[:SYSTEMATIC] for p in systematic(g) if p != p.held(gs)))
    records = context.run("start that is let off", (context.request(c.base, c.args) for _, _, _, c in cases))
    return [
        Generated(case, record, "differential", world.varied)
        for (_, _, world, case), record in zip(cases, records, strict=True)
        if context.judge.wrong(record, case.expectation) is None
    ]


def _able(gs: Sequence[Grammar]) -> list[Grammar]:
    return [g for g in gs if g.template.parameters or not g.args]


def _worlds(plans: Iterable[tuple[Grammar, Plan]]) -> list[tuple[Grammar, Plan, World]]:
    """Those that differ from the recorded start and from each other."""
    found: dict[tuple[str, str, str], tuple[Grammar, Plan, World]] = {}
    for g, plan in plans:
        world = realise(g, plan)
        if world is not None and (world.base != g.base or world.varied):
            found.setdefault((g.task_id, world.base.digest, repr(world.args)), (g, plan, world))
    return list(found.values())


def _wrong_again(context: Context, gs: Sequence[Grammar]) -> Finding | None:
    """A past counterexample that is still one. Those that pass count nowhere: reports do not depend on what was kept."""
    stored = matching(context.past.failing(), gs) if context.past is not None else []
    worlds = [(g, p, w) for g, p in stored if (w := realise(g, p)) is not None]
    cases = _clean_cases(context, worlds)
    records = context.skill.map([context.request(c.base, c.args) for _, _, _, c in cases])
    for (g, plan, world, case), record in zip(cases, records, strict=True):
        case = replace(case, label=f"past counterexample (trace {g.task_id})")
        wrong = context.judge.wrong(record, case.expectation)
        if wrong is not None:
            wrong, case = _second_look(context, world, case, record)
        if (
            wrong is not None
            and not _accident(g, world, case, record)
            and plan == plan.held(gs)
            and (plan == plan.usual(gs) or _harms_what_stays(case, record))
            and not (wrong.kind == "failure" and _right_when_relaxed(context, g, plan))
        ):
            return _shrunk(context, g, plan, case, wrong)
    return None


def _wrong_on(context: Context, g: Grammar, plan: Plan, label: str) -> tuple[Case, ReplayRecord, Wrong] | None:
    """The run on a plan's world if the skill is wrong there."""
    world = realise(g, plan)
    found = _clean_cases(context, [(g, plan, world)]) if world is not None else []
    if world is None or not found:
        return None
    case = replace(found[0][3], label=label)
    record = context.run("generated case", [context.request(case.base, case.args)])[0]
    wrong = context.judge.wrong(record, case.expectation)
    if wrong is not None:
        wrong, case = _second_look(context, world, case, record)
    return None if wrong is None or _accident(g, world, case, record) else (case, record, wrong)


def _untouched(case: Case, record: ReplayRecord) -> bool:
    """Whether a refusing run left its workspace alone: raising after the damage is no refusal."""
    return not durable_effects(case.base, record.post)


def _harms_what_stays(case: Case, record: ReplayRecord) -> bool:
    """Whether a run removed or changed something that the commands leave as it was: that is wrong on any start. Of an empty file
    only removal counts, since what a header or a line does to it no recording says."""
    kept = {p: e for p, e in case.base.items() if case.expectation.tree.get(p) == e}
    after = {p: record.post[p] for p in kept if p in record.post}
    found = differences(Snapshot(kept), Snapshot(after))
    return any(d.kind != "content" or kept[d.path].content for d in found)


def _right_when_relaxed(context: Context, g: Grammar, plan: Plan) -> bool:
    """Whether the skill is right once numbers and contents are as recorded: refusing an odd date or broken JSON is no lie."""
    relaxed = plan.relaxed()
    world = realise(g, relaxed) if relaxed != plan else None
    found = _clean_cases(context, [(g, relaxed, world)]) if world is not None else []
    if not found:
        return False
    case = found[0][3]
    record = context.run("relaxed case", [context.request(case.base, case.args)])[0]
    return context.judge.wrong(record, case.expectation) is None


CleanCase = tuple[Grammar, Plan, World, Case]
"""A world on which the commands run cleanly, and what they do there."""


def _clean_cases(context: Context, worlds: Sequence[tuple[Grammar, Plan, World]]) -> list[CleanCase]:
    """The worlds on which the commands themselves run cleanly, with what they do there."""
    records = context.traces.map(shell_request(w.base, w.commands) for _, _, w in worlds)
    out = []
    for i, ((g, plan, world), record) in enumerate(zip(worlds, records, strict=True)):
        label = f"generated case {i} (trace {g.task_id}, seed {context.seed})"
        case = _case(context, g, world, [record], label, plan.has(Rule.BARE))
        if case is not None:
            out.append((g, plan, world, case))
    out = _telling(context, out) if any(plan.has(*STRANGE) for _, plan, _, _ in out) else out
    return _taken_for_text(context, out) if any(plan.has(Rule.TEXT) for _, plan, _, _ in out) else out


def _telling(context: Context, cases: Sequence[CleanCase]) -> list[CleanCase]:
    """Those on which the commands take no notice of unusual bystanders and near misses, and take hidden items for items: else no
    recording shows what is right."""
    without = {i: plan.without(*STRANGE) for i, (_, plan, _, _) in enumerate(cases) if plan.has(*STRANGE)}
    worlds = {i: w for i, plan in without.items() if (w := realise(cases[i][0], plan)) is not None}
    records = context.traces.map(shell_request(w.base, w.commands) for w in worlds.values())
    same = set(range(len(cases))) - set(without)
    for (i, world), record in zip(worlds.items(), records, strict=True):
        g, plan, full, case = cases[i]
        plain = _case(context, g, world, [record], case.label, plan.has(Rule.BARE))
        if plain is not None and unnoticed(plain.expectation, case.expectation, bool(full.made)) is not plan.has(Rule.ITEM):
            same.add(i)
    return [c for i, c in enumerate(cases) if i in same]


def _taken_for_text(context: Context, cases: Sequence[CleanCase]) -> list[CleanCase]:
    """Those on which the commands do with a marked word what they do with the word alone: where a mark means something to them,
    what is right no recording shows."""
    marked = {i: (g, plan.without(Rule.TEXT)) for i, (g, plan, _, _) in enumerate(cases) if plan.has(Rule.TEXT)}
    worlds = {i: w for i, (g, plan) in marked.items() if (w := realise(g, plan)) is not None}
    records = context.traces.map(shell_request(w.base, w.commands) for w in worlds.values())
    same = set(range(len(cases))) - set(marked)
    for (i, world), record in zip(worlds.items(), records, strict=True):
        g, plan, full, case = cases[i]
        plain = _case(context, g, world, [record], case.label, plan.has(Rule.BARE))
        if plain is not None and marked_alike(plain.expectation, case.expectation, sorted(full.marks)):
            same.add(i)
    return [c for i, c in enumerate(cases) if i in same]


def _case(
    context: Context, g: Grammar, world: World, records: Sequence[ReplayRecord], label: str, bare: bool = False
) -> Case | None:
    evidence = next(c.evidence for c in context.cases if c.task_id == g.task_id)
    if evidence is None:
        return None
    x, why = expect(replace(evidence, base=world.base), records)
    clean = not why and x.failed == g.expectation.failed and x.quiet == g.expectation.quiet
    if not clean or (bool(x.effects) != bool(g.expectation.effects) and not bare):
        return None
    if g.expectation.answer.strip() and not x.answer.strip() and not bare:
        return None
    if any(x.tree.get(p) != world.base.get(p) for p in world.stays):
        return None
    return Case(label, world.args, x, g.task_id)


def _accident(g: Grammar, world: World, case: Case, record: ReplayRecord) -> bool:
    """Whether a pattern matched nothing, the shell took it for a name, and the run did no harm: no skill is held to that."""
    return pattern_for_a_name(g, world, case.expectation) and not _harms_what_stays(case, record)


def pattern_for_a_name(g: Grammar, world: World, x: Expectation) -> bool:
    """Whether the commands made or printed a pattern that no name on the start explains."""
    known = "\n".join((*world.base, *g.expectation.tree, *map(as_text, world.args.values())))
    made = "\n".join(p for p in x.tree if p not in world.base)
    printed = x.answer if "*" not in all_text(world.base) + g.expectation.answer else ""
    return any(mark in made and mark not in known for mark in "*?[") or ("*" in printed and "*" not in known)


def _second_look(context: Context, world: World, case: Case, record: ReplayRecord) -> tuple[Wrong | None, Case]:
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
    case = replace(case, expectation=x)
    return context.judge.wrong(record, x), case


def _shrunk(context: Context, g: Grammar, plan: Plan, case: Case, wrong: Wrong) -> Finding:
    """The smallest plan that is still wrong, as a finding."""
    best: list[tuple[Case, Wrong]] = [(case, wrong)]

    def still_wrong(p: Plan) -> bool:
        world = realise(g, p)
        if world is None:
            return False
        found = _clean_cases(context, [(g, p, world)])
        if not found:
            return False
        record = context.run("shrinking", [context.request(found[0][3].base, found[0][3].args)])[0]
        bad = context.judge.wrong(record, found[0][3].expectation)
        if bad is not None:
            bad, seen = _second_look(context, world, found[0][3], record)
            bad = None if _accident(g, world, seen, record) else bad
            if bad is not None:
                best.append((replace(seen, label=case.label), bad))
        return bad is not None

    if wrong.observed != "timeout":
        plan = shrink(plan, still_wrong, context.counts.shrink)
    if context.past is not None:
        context.past.add(Failing(g.task_id, plan))
    case, wrong = best[-1]
    message = f"differs from the trace's commands on a workspace like the recorded ones: {wrong.message}"
    finding = context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}")
    return replace(finding, notes=(*finding.notes, f"workspace: {', '.join(sorted(case.base))[:300]}"))

"""The differential oracle of ``generalises``: the trace's commands against the skill.

Within the evidence another outcome is wrong; beyond it harm is wrong, and anything else is a question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import ReplayRecord
from verifiers.context import Case, Context, Generated, Wrong
from verifiers.expectation.answers import answer_at, failure
from verifiers.expectation.equivalence import differences
from verifiers.worlds.asking import answered, lifted, question
from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.commanded import instead, judgeable, moved_to, unmarked
from verifiers.worlds.disputed import disputed
from verifiers.worlds.draw import draw, shrink
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.harm import (
    Keeping,
    ends_changed,
    glued,
    line_lost,
    lost,
    overwritten,
    reached,
    untouched,
    vanished,
    words_lost,
    words_unsaid,
)
from verifiers.worlds.indulgence import indulged
from verifiers.worlds.judged import CHECK_ID, Judged, Refused, Suspect, ask, grammars, unasked
from verifiers.worlds.noticed import alike, seen
from verifiers.worlds.past import matching
from verifiers.worlds.plans import Plan, dealt, plans, systematic
from verifiers.worlds.refusals import weigh_refusals
from verifiers.worlds.smallest import excused, finding_of, judged_again, refused_whole, shrunk
from verifiers.worlds.tokens import substitute
from verifiers.worlds.trials import Beyond, Evidenced, Trial, distinct
from verifiers.worlds.unlike import after_all
from verifiers.worlds.variation import Rule, Turns, Variation
from verifiers.worlds.variations.ends import LINE_ENDS
from verifiers.worlds.world import realise

SYSTEMATIC = 3
"""Traces that get the plans which do not hang on the draw."""
AT_ONCE = 64
"""Starts that are run before their ends are looked at: the first mistake ends it."""


def differential(context: Context, gs: Sequence[Grammar]) -> Judged:
    """Tries starts where the skill was wrong before, then systematic and drawn ones."""
    evidenced = Evidenced.of(gs)
    out = Judged()
    known = _wrong_again(context, evidenced)
    if known is not None:
        out.hold(known)
        return out
    waiting = trials(context, evidenced)
    for at in range(0, len(waiting), AT_ONCE):
        cases = judgeable(context, waiting[at : at + AT_ONCE], at)
        records = context.run("generated case", (context.request(c.base, c.args) for _, c in cases))
        out.runs += len(waiting[at : at + AT_ONCE]) + len(records)
        for (trial, first), record in zip(cases, records, strict=True):
            _look(context, evidenced, out, trial, first, record)
            if out.findings or len(out.suspects) > 1:
                return out
    weigh_refusals(context, evidenced, out)
    return out


def trials(context: Context, evidenced: Evidenced | None = None) -> list[Trial]:
    """The starts that are tried, systematic ones first. Runs nothing."""
    evidenced = evidenced or Evidenced.of(grammars(context))
    return distinct(t for g, p in _plans(context, evidenced.gs) for t in evidenced.trials(g, p))


def _look(context: Context, evidenced: Evidenced, out: Judged, trial: Trial, first: Case, record: ReplayRecord) -> None:
    """What one run says of the skill."""
    wrong, case = judged_again(context, trial, first, record)
    if wrong is None and not _hurts(context, evidenced, trial, case, record):
        _ask_about_both(context, evidenced, out, trial, case, record)
        out.judged += 1
        out.beyond += trial.beyond is not None
        out.within += [trial] if trial.beyond is None and not context.judge.refuses(record) else []
        out.passed.append(Generated(case, record, "differential", trial.world.varied))
    elif wrong is not None and (why := indulged(context, trial, case, record)):
        out.information.append(f"{case.label}: not judged, {why} ({wrong.message})")
    elif trial.beyond is not None or wrong is None:
        _beyond(context, evidenced, out, trial, case, record)
    elif refused_whole(context, case, record):
        out.refused.append(Refused(trial, case, record, wrong))
    elif (beyond := after_all(context, evidenced, trial, case, record)) is not None:
        _beyond(context, evidenced, out, replace(trial, beyond=beyond), case, record)
    else:
        _held_against(context, evidenced, out, trial, case, record, wrong)


def _held_against(
    context: Context, evidenced: Evidenced, out: Judged, trial: Trial, case: Case, record: ReplayRecord, wrong: Wrong
) -> None:
    """A difference within the evidence is a finding. On an odd start only harm is one, and another kind of oddness beside it."""
    v = trial.plan.odd
    harm = _hurts(context, evidenced, replace(trial, beyond=_oddly(v or CATALOG[trial.plan.steps[0].variation])), case, record)
    if v is None or harm is not None:
        held = shrunk(context, evidenced, trial, case, record, wrong)
        out.hold(held if harm is None else Suspect(held.finding))
    elif v.odd not in out.suspects and v.name not in answered(context.decisions):
        out.judged += 1
        asked = question(case, record, _oddly(v), context.judge.answer_path)
        out.suspects[v.odd] = Suspect(finding_of(context, case, wrong), asked)
        out.parted.append(case)


def _oddly(v: Variation) -> Beyond:
    return Beyond(v.name, "", told=v.why)


def _plans(context: Context, gs: Sequence[Grammar]) -> list[tuple[Grammar, Plan]]:
    able = _able(gs)
    share = -(-context.counts.differential // len(able)) if able else 0
    chosen = able[:SYSTEMATIC]
    found = [(g, p) for g in chosen[:1] for p in systematic(g, turns={Turns.FIRST})]
    found += [(g, p) for g in chosen for p in systematic(g, turns={Turns.EVERY})]
    found += dealt(chosen, lambda g, plan: (w := realise(g, plan)) is not None and (w.base != g.base or bool(w.varied)))
    found += [(g, p) for g in able for p in draw(plans(g), share, context.number(f"differential {g.task_id}"))]
    # Where somebody has spoken about one way to make starts, the others are judged without it.
    return [(g, p.held(gs).apart(lifted(context.decisions))) for g, p in found]


def _able(gs: Sequence[Grammar]) -> list[Grammar]:
    return [g for g in gs if g.template.parameters or not g.args]


def let_off(context: Context) -> list[Generated]:
    """Runs on starts where another outcome would not be held against the skill, and it did what the commands do: its code for
    them did no harm. They are no trials."""
    gs = grammars(context)
    plans = [(g, p) for g in _able(gs)[:SYSTEMATIC] for p in systematic(g) if p != p.held(gs)]
    worlds = [(g, p, w) for g, p in plans if (w := realise(g, p)) is not None]
    cases = judgeable(context, distinct(Trial(g, p, w) for g, p, w in worlds))
    records = context.run("start that is let off", (context.request(c.base, c.args) for _, c in cases))
    return [
        Generated(case, record, "differential", trial.world.varied)
        for (trial, case), record in zip(cases, records, strict=True)
        if context.judge.wrong(record, case.expectation) is None
    ]


def _beyond(context: Context, evidenced: Evidenced, out: Judged, trial: Trial, case: Case, record: ReplayRecord) -> None:
    """Beyond the evidence: raising with nothing changed is right, harm is wrong, the rest is for a person to say. What another
    recording's commands do just so is no harm, but for line ends: nobody asks for others."""
    beyond = trial.beyond
    if beyond is None:
        return
    harm = _hurts(context, evidenced, trial, case, record)
    if harm is not None and (ends_changed(case, record) or not _shared(context, evidenced, trial, case, record)):
        out.judged += 1
        message = f"beyond the evidence ({beyond.name}) it does harm: {harm.message}"
        out.findings.append(context.finding(CHECK_ID, message, case, harm, f"--seed {context.seed}"))
    elif failure(record.outcome) is not None and untouched(case.base, record):
        out.information.append(f"{case.label}: refused, and nothing was changed ({beyond.name})")
    else:
        right = replace(case, expectation=replace(case.expectation, tree=record.post))
        if beyond.vouched and context.judge.wrong(record, right.expectation) is None:
            out.passed.append(Generated(right, record, "differential", trial.world.varied))
        else:
            out.parted.append(case)
        _parts(context, evidenced, out, trial, case, record, beyond)


def _shared(context: Context, evidenced: Evidenced, trial: Trial, case: Case, record: ReplayRecord) -> bool:
    dispute = disputed(context, evidenced.gs, trial, case, record)
    return dispute is not None and dispute.vouched


def _parts(
    context: Context, evidenced: Evidenced, out: Judged, trial: Trial, case: Case, record: ReplayRecord, beyond: Beyond
) -> None:
    """Another outcome than the commands', without harm: told, or asked."""
    if trial.odd_value and _taken_for_text_by_the_skill(context, trial, record):
        out.information.append(f"{case.label}: the skill takes for text what means something to the commands ({beyond.name})")
    elif not beyond.always and _unasked_of(trial) and not _answers_otherwise(context, trial, case, record):
        out.information.append(f"{case.label}: another outcome than the commands', and nothing was lost ({beyond.name})")
    elif unasked(context, out, beyond):
        ask(context, out, beyond, *_smallest(context, evidenced, trial, case, record))


def _answers_otherwise(context: Context, trial: Trial, case: Case, record: ReplayRecord) -> bool:
    """Whether all that parts them is an answer, in more than how its lines end: then something was left out or taken for more.
    Who answers as recorded was only not misled by line ends."""
    if context.judge.answer_path is None or differences(case.expectation.tree, record.post, root=False):
        return False
    value = getattr(record.outcome, "value", None)
    text = answer_at(value, context.judge.answer_path)
    ends = all(CATALOG[s.variation].odd == LINE_ENDS for s in trial.plan.steps)
    known = [x.answer.split() for x in (case.expectation, *([trial.g.expectation] if ends else []))]
    return text is not None and text.split() not in known


def _unasked_of(trial: Trial) -> bool:
    return any(not CATALOG[s.variation].asks for s in trial.plan.steps)


def _hurts(context: Context, evidenced: Evidenced, trial: Trial, case: Case, record: ReplayRecord) -> Wrong | None:
    """Harm on a start beyond the evidence; within it the commands decide."""
    if trial.beyond is None:
        return None
    g = trial.g
    # What is moved to a place is no result that may be made anew: what stands there is the user's too.
    results = [p for p in g.made if p not in moved_to(g)]
    made, makes = ({substitute(p, trial.world.renames, inside=g.inside) for p in paths} for paths in (results, g.made))
    keeping = evidenced.keeps(case)
    if trial.plan.has(Rule.BARE) and not case.expectation.effects:
        keeping = dict.fromkeys(case.base, Keeping()) | keeping  # where nothing is to be changed, nobody takes a line away
    found = lost(case, record, made) or vanished(case, record, makes) or line_lost(case, record, keeping)
    found = found or ends_changed(case, record)
    if trial.plan.has(Rule.REMARK):
        found = found or words_lost(case, record, g.base)
        found = found or words_unsaid(case, record, g.base, context.judge.answer_path)
    return found or reached(case, record, trial.world.stays)


def _ask_about_both(context: Context, evidenced: Evidenced, out: Judged, trial: Trial, case: Case, record: ReplayRecord) -> None:
    """Commands and skill agree, and the user's last line is no line any more, or a file that is moved takes the place of another
    one: only a person can want that."""
    if trial.beyond is None:
        return
    moved = [substitute(p, trial.world.renames, inside=trial.g.inside) for p in moved_to(trial.g) if p not in trial.g.base]
    if glued(case, record, evidenced.keeps(case)) or overwritten(case, record, moved):
        ask(context, out, trial.beyond, case, record)


def _taken_for_text_by_the_skill(context: Context, trial: Trial, record: ReplayRecord) -> bool:
    """Whether the skill does with an odd value what it does with a plain one: then only the commands read a meaning into it."""
    plain = realise(trial.g, unmarked(trial.plan))
    if plain is None:
        return False
    other = context.run("plain value", [context.request(plain.base, plain.args)])[0]
    if context.judge.refuses(other) != context.judge.refuses(record):
        return False
    path = context.judge.answer_path
    return alike(seen(plain.base, other, path), seen(trial.world.base, record, path), instead(trial))


def _smallest(
    context: Context, evidenced: Evidenced, trial: Trial, case: Case, record: ReplayRecord
) -> tuple[Case, ReplayRecord]:
    """The smallest case found with the same cause on which commands and skill part."""
    best = [(case, record)]
    name = trial.beyond.name if trial.beyond is not None else ""

    def still_parted(plan: Plan) -> bool:
        trials = [t for t in evidenced.trials(trial.g, plan) if t.beyond is not None and t.beyond.name == name]
        for _, smaller in judgeable(context, trials[:1]):
            again = context.run("shrinking", [context.request(smaller.base, smaller.args)])[0]
            parted = context.judge.wrong(again, smaller.expectation) is not None
            if parted and not refused_whole(context, smaller, again):
                best.append((replace(smaller, label=case.label), again))
                return True
        return False

    shrink(trial.plan, still_parted, context.counts.shrink // 5)
    return best[-1]


def _wrong_again(context: Context, evidenced: Evidenced) -> Suspect | None:
    """A past counterexample that is still one. Those that pass count nowhere: reports do not depend on what was kept."""
    stored = matching(context.past.failing(), evidenced.gs) if context.past is not None else []
    trials = [t for g, p in stored for t in evidenced.trials(g, p)[:1] if (t.beyond is None or t.odd_value) and p.odd is None]
    cases = judgeable(context, trials)
    records = context.skill.map([context.request(c.base, c.args) for _, c in cases])
    for (trial, case), record in zip(cases, records, strict=True):
        case = replace(case, label=f"past counterexample (trace {trial.g.task_id})")
        wrong, case = judged_again(context, trial, case, record)
        if wrong is None or trial.beyond is not None or excused(context, evidenced, trial, case, record):
            continue
        if not refused_whole(context, case, record):
            return shrunk(context, evidenced, trial, case, record, wrong)
    return None

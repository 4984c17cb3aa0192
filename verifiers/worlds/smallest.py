"""The smallest start on which a skill is wrong. Each try is a run of its own."""

from __future__ import annotations

from dataclasses import replace

from sandbox.interface import ReplayRecord
from verifiers.context import Case, Context, Wrong
from verifiers.expectation.answers import failure
from verifiers.interface import Finding
from verifiers.worlds.asking import HELD, question
from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.commanded import judgeable, second_look
from verifiers.worlds.draw import shrink
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.harm import untouched
from verifiers.worlds.indulgence import indulged, right_but_for_quotes
from verifiers.worlds.judged import CHECK_ID, Suspect
from verifiers.worlds.past import Failing
from verifiers.worlds.plans import Plan
from verifiers.worlds.trials import Beyond, Evidenced, Trial
from verifiers.worlds.unlike import after_all


def judged_again(context: Context, trial: Trial, case: Case, record: ReplayRecord) -> tuple[Wrong | None, Case]:
    """What is wrong with a run, with the case as judged: where quotes say nothing, the skill's are expected."""
    wrong = context.judge.wrong(record, case.expectation)
    if wrong is None:
        return None, case
    wrong, case = second_look(context, trial.world, case, record)
    if wrong is None or not right_but_for_quotes(context, trial.g, case.expectation, record):
        return wrong, case
    return None, replace(case, expectation=replace(case.expectation, tree=record.post))


def refused_whole(context: Context, case: Case, record: ReplayRecord) -> bool:
    """Whether a run says no and changed nothing."""
    return context.judge.refuses(record) and untouched(case.base, record)


def excused(context: Context, evidenced: Evidenced, trial: Trial, case: Case, record: ReplayRecord) -> bool:
    """Whether the commands say nothing there that a skill has to keep to."""
    return bool(indulged(context, trial, case, record)) or after_all(context, evidenced, trial, case, record) is not None


Found = tuple[Case, Wrong, ReplayRecord, Plan]


def _wrong_on(context: Context, evidenced: Evidenced, g: Grammar, plan: Plan, *, refused: bool) -> Found | None:
    """The start of a plan within the evidence, if the skill is wrong there, by refusing it or otherwise; past the first start
    nothing is looked at."""
    for trial, case in judgeable(context, evidenced.trials(g, plan)[:1]):
        record = context.run("shrinking", [context.request(case.base, case.args)])[0]
        wrong, case = judged_again(context, trial, case, record) if trial.beyond is None else (None, case)
        if wrong is None or excused(context, evidenced, trial, case, record):
            continue
        if refused_whole(context, case, record) == refused:
            return case, wrong, record, plan
    return None


def shrunk(
    context: Context, evidenced: Evidenced, trial: Trial, case: Case, record: ReplayRecord, wrong: Wrong, *, refused: bool = False
) -> Suspect:
    """The smallest plan within the evidence that is still wrong, as a finding; and the question whether it is."""
    best: list[Found] = [(case, wrong, record, trial.plan)]

    def still_wrong(p: Plan) -> bool:
        found = _wrong_on(context, evidenced, trial.g, p, refused=refused)
        if found is not None:
            best.append((replace(found[0], label=case.label), *found[1:]))
        return found is not None

    plan = trial.plan
    if wrong.observed != "timeout":
        plan = shrink(plan, still_wrong, context.counts.shrink)
    if context.past is not None:
        context.past.add(Failing(trial.g.task_id, plan))
    case, wrong, record, plan = best[-1]
    finding = finding_of(context, case, wrong)
    if failure(record.outcome) is not None or not plan.steps:
        return Suspect(finding)
    v = CATALOG[plan.steps[0].variation]
    held = Beyond(f"{HELD}{v.name}", "", told=f"{v.why} This is held against the skill.")
    return Suspect(finding, question(case, record, held, context.judge.answer_path))


def finding_of(context: Context, case: Case, wrong: Wrong) -> Finding:
    """What is held against the skill on a start within the evidence."""
    message = f"differs from the trace's commands on a workspace like the recorded ones: {wrong.message}"
    finding = context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}")
    return replace(finding, notes=(*finding.notes, f"workspace: {', '.join(sorted(case.base))[:300]}"))

"""Starts within the evidence on which it turns out that no recording says what is right."""

from __future__ import annotations

from difflib import SequenceMatcher

from sandbox.interface import ROOT, ReplayRecord
from verifiers.context import Case, Context
from verifiers.expectation.answers import answer_at, failure
from verifiers.expectation.oracle import Expectation
from verifiers.worlds.asking import HELD, lifted
from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.disputed import disputed, unproven
from verifiers.worlds.harm import between, untouched
from verifiers.worlds.indulgence import ENDING, right_but_for_files, takes_an_ending
from verifiers.worlds.invariants.facts import Start
from verifiers.worlds.trials import Beyond, Evidenced, Trial

MOST_LINES = 400
"""Of a stretch in which places of change are told apart: a longer one is many."""
ONE_PLACE = Beyond("one-place", "one place of a file changes", always=True)

PLAIN = Beyond("plain-values", "arguments are plain words", always=True)


def after_all(context: Context, evidenced: Evidenced, trial: Trial, case: Case, record: ReplayRecord) -> Beyond | None:
    """Why another outcome of the skill is no failure on a start within the evidence; None where it is one."""
    if (said := _lifted(context, trial)) is not None:
        return said
    if takes_an_ending(trial, case):
        return ENDING
    if _odd_argument(evidenced, trial) and _idle(context, case, record):
        return PLAIN
    if _has_several(evidenced, case.expectation) and _some_of(context, case.expectation, record):
        return ONE_PLACE
    return disputed(context, evidenced.gs, trial, case, record) or unproven(context, evidenced.gs, trial)


def _lifted(context: Context, trial: Trial) -> Beyond | None:
    """What somebody said of starts that are made so, and in no other way too. Harm stays harm."""
    names = {s.variation for s in trial.plan.steps}
    if not names or not names <= lifted(context.decisions):
        return None
    v = CATALOG[min(names)]
    return Beyond(f"{HELD}{v.name}", "", told=v.why)


def _odd_argument(evidenced: Evidenced, trial: Trial) -> bool:
    """Whether an argument is made of signs that no recorded one has, and not only what stands beside it in a file."""
    start, recorded = (Start(x.base, x.args) for x in (trial.world, trial.g))
    return any(f.scope == "value" for f in evidenced.facts.broken(start, recorded))


def _idle(context: Context, case: Case, record: ReplayRecord) -> bool:
    """Whether a run takes an odd value for one that nothing has: it changes nothing and answers nothing."""
    path = context.judge.answer_path
    answer = answer_at(getattr(record.outcome, "value", None), path) if path is not None else None
    return failure(record.outcome) is None and untouched(case.base, record) and not (answer or "").strip()


def _has_several(evidenced: Evidenced, x: Expectation) -> bool:
    """Whether the commands change several places of a file where every recording has one: nobody has said if all are meant."""
    return _places(x) > 1 and all(_places(g.expectation) == 1 for g in evidenced.gs)


def _some_of(context: Context, x: Expectation, record: ReplayRecord) -> bool:
    """Whether the skill did in some of the places what the commands do in all, and nothing else."""
    paths = {*x.base, *x.tree, *record.post} - {ROOT}
    return between(paths, x, record.post) and right_but_for_files(context, x, record)


def _places(x: Expectation) -> int:
    """The most places at which a file changes: lines that stand together are one."""
    both = ((e, x.tree.get(path)) for path, e in x.base.items())
    changed = ((old, new) for old, new in both if new is not None and (old.type, new.type) == ("file", "file") and new != old)
    return max((places(old.content, new.content) for old, new in changed), default=0)


def places(old: bytes, new: bytes) -> int:
    """How many stretches of lines differ."""
    a, b = old.splitlines(), new.splitlines()
    begin = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[begin:], b[begin:]
    end = next((n for n, (x, y) in enumerate(zip(a[::-1], b[::-1], strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[: len(a) - end], b[: len(b) - end]
    if max(len(a), len(b)) > MOST_LINES:
        return len(a) + len(b)
    return sum(tag != "equal" for tag, *_ in SequenceMatcher(None, a, b, autojunk=False).get_opcodes())

"""Starts within the evidence on which it turns out that no recording says what is right."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from sandbox.interface import ROOT, ReplayRecord
from verifiers.context import Case, Context
from verifiers.expectation.answers import answer_at, failure
from verifiers.expectation.oracle import Expectation
from verifiers.worlds.disputed import disputed, unproven
from verifiers.worlds.harm import untouched
from verifiers.worlds.indulgence import ENDING, takes_an_ending
from verifiers.worlds.invariants.facts import Start
from verifiers.worlds.trials import Beyond, Evidenced, Trial

MOST_LINES = 400
"""Of a stretch in which places of change are told apart: a longer one is many."""
ONE_PLACE = Beyond("one-place", "one place of a file changes", always=True)
ONE_FILE = Beyond("one-file", "one file changes", always=True)
ONE_LINE = Beyond("one-line", "the answer is one line", always=True)

PLAIN = Beyond("plain-values", "arguments are plain words", always=True)


def after_all(context: Context, evidenced: Evidenced, trial: Trial, case: Case, record: ReplayRecord) -> Beyond | None:
    """Why another outcome of the skill is no failure on a start within the evidence; None where it is one."""
    if takes_an_ending(trial, case):
        return ENDING
    if _odd_argument(evidenced, trial) and _idle(context, case, record):
        return PLAIN
    several = _several(evidenced, case.expectation)
    if several is not None and _some_of(context, case.expectation, record):
        return several
    return disputed(context, evidenced.gs, trial, case, record) or unproven(context, evidenced.gs, trial)


def _odd_argument(evidenced: Evidenced, trial: Trial) -> bool:
    """Whether an argument is made of signs that no recorded one has, and not only what stands beside it in a file."""
    start, recorded = (Start(x.base, x.args) for x in (trial.world, trial.g))
    return any(f.scope == "value" for f in evidenced.facts.broken(start, recorded))


def _idle(context: Context, case: Case, record: ReplayRecord) -> bool:
    """Whether a run takes an odd value for one that nothing has: it changes nothing and answers nothing."""
    path = context.judge.answer_path
    answer = answer_at(getattr(record.outcome, "value", None), path) if path is not None else None
    return failure(record.outcome) is None and untouched(case.base, record) and not (answer or "").strip()


def _several(evidenced: Evidenced, x: Expectation) -> Beyond | None:
    """What every recording has one of and the commands make several of there: nobody has said whether all of them are meant."""
    recorded = [g.expectation for g in evidenced.gs]
    if len(_changed(x)) > 1 and all(len(_changed(r)) == 1 for r in recorded):
        return ONE_FILE
    if _places(x) > 1 and all(_places(r) == 1 for r in recorded):
        return ONE_PLACE
    if len(x.answer.splitlines()) > 1 and all(len(r.answer.splitlines()) == 1 for r in recorded):
        return ONE_LINE
    return None


def _some_of(context: Context, x: Expectation, record: ReplayRecord) -> bool:
    """Whether the skill did in some of the places what the commands do in all, and nothing else."""
    for path in {*x.base, *x.tree, *record.post} - {ROOT}:
        then, wanted, now = x.base.get(path), x.tree.get(path), record.post.get(path)
        if now in (then, wanted):
            continue
        if then is None or now is None or (then.type, then.mode) != (now.type, now.mode):
            return False
        known = {*then.content.splitlines(), *(wanted.content.splitlines() if wanted is not None else ())}
        if not known.issuperset(now.content.splitlines()):
            return False
    if context.judge.answer_path is None:
        return True
    answer = answer_at(getattr(record.outcome, "value", None), context.judge.answer_path)
    return answer is not None and {*answer.splitlines()} <= {*x.answer.splitlines()}


def _changed(x: Expectation) -> list[str]:
    """Files that are gone or others after the task."""
    return [p for p, e in x.base.items() if e.type == "file" and x.tree.get(p) != e]


def _places(x: Expectation) -> int:
    """The most places at which a file changes: lines that stand together are one."""
    return max((places(*both) for both in _contents(x)), default=0)


def _contents(x: Expectation) -> Iterator[tuple[bytes, bytes]]:
    for path in _changed(x):
        after = x.tree.get(path)
        if after is not None and after.type == "file":
            yield x.base[path].content, after.content


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

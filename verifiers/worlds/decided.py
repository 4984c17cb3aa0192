"""Decisions: what somebody answered to a question is evidence, and the skill must do it."""

from __future__ import annotations

from sandbox.interface import ROOT, ReplayRecord, Snapshot
from verifiers.context import Case, Context, Wrong
from verifiers.expectation.answers import answer_at, failure, same_answer
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Behaviour, Decision
from verifiers.worlds.judged import CHECK_ID, Judged


def decided(context: Context) -> Judged:
    """Runs the skill on every case that somebody decided."""
    out = Judged()
    binding = [d for d in context.decisions if d.says != "invalid"]
    cases = [d.question.case for d in binding]
    records = context.run("decided case", (context.request(c.base, c.args) for c in cases))
    out.runs = len(records)
    for d, record in zip(binding, records, strict=True):
        out.judged += 1
        wrong = _wrong(d, record, context.judge.answer_path)
        if wrong is not None:
            case = _case(d)
            message = f"against what was decided ({d.says}{f': {d.text}' if d.text else ''}): {wrong.message}"
            out.findings.append(context.finding(CHECK_ID, message, case, wrong))
    return out


def _wrong(d: Decision, record: ReplayRecord, answer_path: str | None) -> Wrong | None:
    if d.says == "neither":
        same = [side for side in (d.question.commands, d.question.skill) if _unlike(side, record, answer_path) is None]
        return Wrong("effect", "it still does what was called wrong", d.text, "; ".join(same[0].diff)) if same else None
    return _unlike(d.question.commands if d.says == "commands" else d.question.skill, record, answer_path)


def _unlike(side: Behaviour, record: ReplayRecord, answer_path: str | None) -> Wrong | None:
    """Where a run differs from a behaviour."""
    why = failure(record.outcome) or ""
    if bool(why) != bool(side.failure):
        return Wrong("failure", why or "it claims success", side.failure or "success", why or "success")
    found = differences(side.tree, Snapshot({p: e for p, e in record.post.items() if p != ROOT}))
    if found:
        return Wrong("effect", str(found[0]), found[0].expected, found[0].observed, found)
    if side.answer is None or why:
        return None
    text = answer_at(getattr(record.outcome, "value", None), answer_path) if answer_path is not None else None
    if text is not None and same_answer(side.answer, text):
        return None
    return Wrong("answer", "the answer differs", repr(side.answer), repr(text))


def _case(d: Decision) -> Case:
    q = d.question
    side = q.skill if d.says == "skill" else q.commands
    x = Expectation(q.case.base, side.tree, frozenset(), side.answer or "", True, (0,), (True,))
    return Case(f"decided case (trace {q.case.task_id})", q.case.args, x, q.case.task_id)

"""A quick look before the full verification: same effect or answer, and nothing left to do for a second run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sandbox.interface import ReplayRecord, Returned, RunRequest, Session, SkillJob, Snapshot
from synth.interface import Candidate
from verifiers.expectation.answers import answer_at, answer_path, failure, same_answer
from verifiers.expectation.equivalence import differences
from verifiers.interface import Evidence


def trial(session: Session, candidate: Candidate, evidence: Sequence[Evidence], writes: bool) -> Mapping[str, str]:
    """What is wrong, by task_id; empty where every trace with a binding and snapshots is met.

    Raises:
        SandboxError: the sandbox failed.
    """
    usable = [e for e in evidence if e.task_id in candidate.bindings and e.base is not None and e.post is not None]
    first = session.map([_request(candidate, e, e.base) for e in usable])
    wrong = {e.task_id: why for e, r in zip(usable, first, strict=True) if (why := _compared(e, r, writes))}
    good = [(e, r) for e, r in zip(usable, first, strict=True) if e.task_id not in wrong]
    again = session.map([_request(candidate, e, r.post) for e, r in good] + [_request(candidate, e, e.post) for e, _ in good])
    before = [r.post for _, r in good] + [e.post for e, _ in good]
    for (e, _), r, start in zip([*good, *good], again, before, strict=True):
        claim = failure(r.outcome)
        if claim is not None:
            wrong.setdefault(e.task_id, f"a second run fails: {claim}")
        elif start is not None and (found := differences(start, r.post)):
            wrong.setdefault(e.task_id, f"a second run changes {found[0]}")
    return wrong


def _request(candidate: Candidate, evidence: Evidence, base: Snapshot | None) -> RunRequest:
    return RunRequest(SkillJob(candidate.source, candidate.bindings[evidence.task_id]), base or Snapshot())


def _compared(evidence: Evidence, record: ReplayRecord, writes: bool) -> str:
    claim = failure(record.outcome)
    if claim is not None:
        return f"it fails: {claim}"
    assert evidence.post is not None
    found = differences(evidence.post, record.post, links=False)
    if found:
        return str(found[0])
    if not writes and isinstance(record.outcome, Returned):
        path = answer_path(record.outcome.value)
        text = answer_at(record.outcome.value, path) if path is not None else None
        expected = evidence.stdout(evidence.answer_step)
        if text is None or not same_answer(expected, text):
            return f"answer {text!r} instead of {expected!r}"
    return ""

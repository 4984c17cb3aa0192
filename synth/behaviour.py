"""What an edit changed in behaviour: two versions of a skill on the same starts with the same arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.interface import RunRequest, Sandbox, SkillJob, Snapshot
from verifiers.expectation.answers import answer_at, answer_path, failure
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import without_root
from verifiers.interface import Args, Evidence, Subject


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What one run did."""

    failure: str | None
    answer: str | None
    tree: Snapshot


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two versions on one start."""

    task_id: str
    run: int
    """1 = from the recorded start, 2 = again on each version's own result."""
    what: str


def compare(
    old: Subject, new: Subject, evidence: Sequence[Evidence], bindings: Mapping[str, Args], sandbox: Sandbox
) -> list[Change]:
    """Every difference in effect, answer or reported failure, first and second run, over all traces with arguments.

    Raises:
        SandboxError: the sandbox failed.
    """
    usable = [e for e in evidence if e.base is not None and e.task_id in bindings]
    before, after = (_runs(s, usable, bindings, sandbox) for s in (old, new))
    changes: list[Change] = []
    for e, a, b in zip(usable, before, after, strict=True):
        for run in (0, 1):
            changes += [Change(e.task_id, run + 1, what) for what in _differences(a[run], b[run])]
    return changes


def _runs(
    subject: Subject, evidence: Sequence[Evidence], bindings: Mapping[str, Args], sandbox: Sandbox
) -> list[tuple[Behaviour, Behaviour]]:
    """Each trace's start run once, and again on the result. One session per version: a container serves one skill."""
    jobs = [SkillJob(subject.source, _accepted(subject, bindings[e.task_id])) for e in evidence]
    with sandbox.session(f"skill {subject.name}") as session:
        first = session.map(RunRequest(j, e.base) for j, e in zip(jobs, evidence, strict=True) if e.base is not None)
        second = session.map(RunRequest(j, r.post) for j, r in zip(jobs, first, strict=True))
    pairs = []
    for pair in zip(first, second, strict=True):
        a, b = (Behaviour(failure(r.outcome), _answer(r.outcome), without_root(r.post)) for r in pair)
        pairs.append((a, b))
    return pairs


def _accepted(subject: Subject, args: Args) -> Args:
    """The arguments under names that this version has: an added or removed parameter must not end the comparison."""
    names = {p.name for p in subject.parameters}
    return {name: value for name, value in args.items() if name in names}


def _answer(outcome: object) -> str | None:
    value = getattr(outcome, "value", None)
    path = answer_path(value)
    return answer_at(value, path) if path is not None else None


def _differences(old: Behaviour, new: Behaviour) -> list[str]:
    out = [f"{d}" for d in differences(old.tree, new.tree)]
    if old.failure != new.failure:
        out.append(f"was: {old.failure or 'success'}; now: {new.failure or 'success'}")
    if old.answer != new.answer:
        out.append(f"answer was {old.answer!r}; now {new.answer!r}")
    return out

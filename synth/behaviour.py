"""What an edit changed in behaviour: two versions of a skill on the same starts with the same arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.interface import ReplayRecord, RunRequest, Sandbox, SkillJob, Snapshot
from verifiers.context import Context
from verifiers.expectation.answers import answer_at, answer_path, failure
from verifiers.expectation.equivalence import differences
from verifiers.expectation.oracle import without_root
from verifiers.interface import Args, Evidence, Subject
from verifiers.worlds.differential import trials


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What one run did."""

    failure: str | None
    answer: str | None
    tree: Snapshot


@dataclass(frozen=True, slots=True)
class Start:
    """Where both versions begin."""

    name: str
    base: Snapshot
    args: Args
    again: bool = True
    """Run it a second time too, on each version's own result."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two versions on one start."""

    start: Start
    run: int
    """1 = from the start, 2 = again on each version's own result."""
    what: str


def recorded(evidence: Sequence[Evidence], bindings: Mapping[str, Args]) -> list[Start]:
    """The starts of the traces that have one, and arguments."""
    return [Start(e.task_id, e.base, bindings[e.task_id]) for e in evidence if e.base is not None and e.task_id in bindings]


def compare(old: Subject, new: Subject, starts: Sequence[Start], sandbox: Sandbox) -> list[Change]:
    """Every difference in effect, answer or reported failure.

    Raises:
        SandboxError: the sandbox failed.
    """
    before, after = (_runs(s, starts, sandbox) for s in (old, new))
    return [
        Change(start, run, what)
        for start, a, b in zip(starts, before, after, strict=True)
        for run, (x, y) in enumerate(zip(a, b, strict=True), 1)
        for what in _differences(x, y)
    ]


def _runs(subject: Subject, starts: Sequence[Start], sandbox: Sandbox) -> list[list[Behaviour]]:
    """Each start run once, and again on the result. One session per version: a container serves one skill."""
    jobs = [SkillJob(subject.source, _accepted(subject, s.args), function=subject.function or None) for s in starts]
    with sandbox.session(f"skill {subject.name}") as session:
        first = session.map(RunRequest(job, s.base) for job, s in zip(jobs, starts, strict=True))
        repeated = [(job, r.post) for job, s, r in zip(jobs, starts, first, strict=True) if s.again]
        second = iter(session.map(RunRequest(job, post) for job, post in repeated))
    return [[_behaviour(r) for r in ((f, next(second)) if s.again else (f,))] for s, f in zip(starts, first, strict=True)]


def _behaviour(record: ReplayRecord) -> Behaviour:
    return Behaviour(failure(record.outcome), _answer(record.outcome), without_root(record.post))


def generated(context: Context) -> dict[str, Start]:
    """The starts that the checks make up for one version, by what they are: those too that come after its first mistake."""
    worlds = [(t.world.base, t.world.args) for t in trials(context)]
    worlds += [(g.case.base, g.case.args) for g in context.generated]
    found = {}
    for base, args in worlds:
        said = ", ".join(f"{name}={value!r}" for name, value in args.items())
        found[f"{base.digest}\0{said}"] = Start(f"generated start, {said}", base, args, again=False)
    return found


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

"""Whether a repository's newest commits still do what a skill does that was learned from its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sandbox.interface import Entry, Sandbox, Session, Snapshot
from synth.history.commits import Commit
from synth.history.since import Since
from synth.interface import ExecutionTrace
from synth.tracing.traces import to_evidence
from verifiers.binding.confirm import outcomes
from verifiers.binding.readings import readings
from verifiers.expectation.blocks import changed_blocks
from verifiers.expectation.equivalence import durable_effects
from verifiers.expectation.oracle import Replayed, Usable, replay
from verifiers.interface import Args, Evidence, Subject

MOST_SHORT = 0.25
"""Share of the commits that were tried beyond which it is drift too to refuse them, or to do a part of them."""
Outcome = Literal["right", "in part", "refused", "another end", "unread"]
State = Literal["conforms", "drifted", "unsettled", "nothing new"]


@dataclass(frozen=True, slots=True)
class Case:
    """What came of one commit."""

    commit: Commit
    outcome: Outcome
    what: str = ""
    """The first difference, why the skill refused, or why nothing could be tried; one line."""
    args: Args | None = None
    """With which the skill ran."""


@dataclass(frozen=True, slots=True)
class Drift:
    """What came of all newer commits of a skill's kind."""

    kind: str
    cases: tuple[Case, ...]
    """Oldest first."""
    odd: tuple[tuple[Case, str], ...] = ()
    """Commits that part from the others of their kind, and how: no evidence against the skill. Where the skill does something
    else than such a commit, somebody has to say which is right."""
    older: int = 0

    def count(self, outcome: Outcome) -> int:
        return sum(c.outcome == outcome for c in self.cases)

    @property
    def tried(self) -> int:
        return len(self.cases) - self.count("unread")

    @property
    def state(self) -> State:
        """Drifted with one other end, or with more that fall short than ``MOST_SHORT``. Nothing conforms for lack of evidence."""
        if self.count("another end") or self.count("refused") + self.count("in part") > MOST_SHORT * self.tried:
            return "drifted"
        if self.tried:
            return "conforms"
        return "unsettled" if self.cases else "nothing new"


def drift(subject: Subject, seen: Sequence[Evidence], known: Mapping[str, Args], newer: Since, sandbox: Sandbox) -> Drift:
    """Runs a skill on the start of each newer commit, with the values that the commit's request tells, or else what it wrote.

    Args:
        seen: The traces that it was learned from.
        known: Their arguments, by task_id.

    Raises:
        SandboxError: the sandbox failed.
    """
    odd = {commit.oid: how for commit, how, _ in newer.odd}
    cases = [Case(commit, "unread", why) for commit, why in newer.without]
    cases += [Case(commit, "unread", made) for commit, _, made in newer.odd if isinstance(made, str)]
    traces = [*newer.traces, *((commit, made) for commit, _, made in newer.odd if not isinstance(made, str))]
    if traces:
        cases += _cases(subject, [e for e in seen if e.task_id in known], known, traces, sandbox)
    cases.sort(key=lambda c: c.commit.time)
    apart = tuple((c, odd[c.commit.oid]) for c in cases if c.commit.oid in odd)
    return Drift(newer.kind, tuple(c for c in cases if c.commit.oid not in odd), apart, newer.older)


def _cases(
    subject: Subject, bound: Sequence[Evidence], known: Mapping[str, Args], traces: Sequence[tuple[Commit, ExecutionTrace]],
    sandbox: Sandbox,
) -> list[Case]:  # fmt: skip
    commits = {trace.task_id: commit for commit, trace in traces}
    with sandbox.session("commits") as session:
        replayed = replay([to_evidence(trace) for _, trace in traces], session)
    cases = [Case(commits[task_id], "unread", why) for task_id, why in replayed.unusable.items()]
    with sandbox.session(f"skill {subject.name}") as skill:
        for u in replayed.usable:
            proposed = list(readings(subject, known, bound, u.evidence))
            cases.append(_case(subject, commits[u.task_id], replayed, u, proposed, skill))
    return cases


def _case(subject: Subject, commit: Commit, replayed: Replayed, u: Usable, proposed: Sequence[Args], skill: Session) -> Case:
    """Right where one of the readings leads to the commit's own end; else what the likeliest of them does."""
    if not proposed:
        wanted = ", ".join(p.name for p in subject.parameters if p.required)
        return Case(commit, "unread", f"neither its request nor what it wrote tells {wanted}")
    ran = outcomes(subject, replayed, u, proposed, skill)
    for args, (_, wrong) in zip(proposed, ran, strict=True):
        if wrong is None:
            return Case(commit, "right", args=args)
    (record, wrong), x = ran[0], u.expectation
    assert wrong is not None
    outcome: Outcome = (
        "refused" if wrong.kind == "failure" else "in part" if is_part(x.base, record.post, x.tree) else "another end"
    )
    return Case(commit, outcome, " ".join(wrong.message.split()), proposed[0])


def is_part(start: Snapshot, skill: Snapshot, commit: Snapshot) -> bool:
    """Whether a skill did a part of what a commit did, and nothing else: the commit has a rider, or does one more thing now."""
    changed = [e.path for e in durable_effects(start, skill)]
    return bool(changed) and all(_is_part(*(tree.get(path) for tree in (start, skill, commit))) for path in changed)


def _is_part(start: Entry | None, skill: Entry | None, commit: Entry | None) -> bool:
    """The same of one path: of a text the lines that it takes out and puts in are among the commit's."""
    if start is None or skill is None or commit is None or replace(skill, content=commit.content) != commit:
        return skill == commit
    ours, theirs = (_lines(start.content, e.content) for e in (skill, commit))
    return all(not mine - more for mine, more in zip(ours, theirs, strict=True))


def _lines(before: bytes, after: bytes) -> tuple[Counter[str], Counter[str]]:
    """Lines that a change takes out, and that it puts in."""
    blocks = changed_blocks(before, after)
    out, put_in = (Counter(line for block in blocks for line in block[side].splitlines()) for side in (0, 1))
    return out, put_in

"""What a dynamic check works with: the subject, its cases, the two sessions, and one way to run and to judge."""

from __future__ import annotations

import hashlib
import random
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sandbox.interface import (
    Call,
    CrashAt,
    JsonValue,
    Limits,
    ReplayRecord,
    RunRequest,
    SandboxInfo,
    Session,
    SkillJob,
    Snapshot,
    Surroundings,
)
from verifiers.budgets import COUNTS, Counts
from verifiers.conventions.allow_list import PROGRAMS
from verifiers.conventions.programs import named, started
from verifiers.expectation.answers import answer_at, answer_path, failure, refuses, resembles, same_answer
from verifiers.expectation.equivalence import Difference, differences, parted
from verifiers.expectation.oracle import Expectation, Replayed
from verifiers.expectation.repositories import forgotten
from verifiers.expectation.rows import renumbered, spoilt
from verifiers.expectation.unseen import UNKNOWN, unlogged
from verifiers.interface import Args, Budget, Counterexample, Decision, Evidence, Finding, Subject

if TYPE_CHECKING:
    from verifiers.worlds.past import Past

NEVER = 1 << 30
"""A point that no run reaches: the run is supervised for it and ends cleanly."""

SKILL_LIMITS = Limits(wall_s=5.0)
"""Hundreds of times what a run of a learned skill takes, and still bearable where every run hangs."""

HUNG_LIMITS = Limits(wall_s=0.7)
"""For a skill that has already failed by not ending: the rest of its runs only complete the report."""

BATCH = 24

NO_TREE = Snapshot()
"""Stands for an end state that is not kept."""

OUTSIDE_ARGUMENT = "outside argument"
"""Purpose of runs whose argument leads out of the workspace: following it is a capability, no breach
(docs/semantics.md, "Zones")."""

OVERTAKEN = "overtaken by a second run"
"""Purpose of runs that a second one gets in the way of: nobody promised that this goes well, so nothing of them is judged."""

CANCELLED = "cancelled"
"""Purpose of runs whose caller gives up: what they had begun may go on for a while. Only a false claim counts."""

UNJUDGED = frozenset({OUTSIDE_ARGUMENT, OVERTAKEN, CANCELLED})


@dataclass(frozen=True, slots=True)
class Case:
    """One situation with a known right outcome: a usable trace with its binding, or a generated one."""

    label: str
    args: Args
    expectation: Expectation
    task_id: str
    evidence: Evidence | None = None
    """Of a recorded trace; None for generated cases."""

    @property
    def base(self) -> Snapshot:
        return self.expectation.base

    @property
    def distinct(self) -> str:
        """Digest of arguments and base: copies of a trace share it."""
        doc = f"{sorted(self.args.items())!r}\0{self.base.digest}"
        return hashlib.sha256(doc.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Wrong:
    """Where a run is not what was expected."""

    kind: str
    """failure, effect or answer."""
    message: str
    expected: str
    observed: str
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides whether a run did the right thing. Pure."""

    read_only: bool
    """The answer is required (docs/semantics.md, "The answer")."""
    answer_path: str | None
    """Where the skill's values hold their answer, over all its traces; None = it claims none."""

    def wrong(self, record: ReplayRecord, x: Expectation, also: Sequence[Expectation] = ()) -> Wrong | None:
        """The first thing that is wrong with a run, or None.

        Args:
            also: other expectations of the same commands (under another factor): each path may match either.
        """
        why = failure(record.outcome)
        if why is not None:
            return (
                None
                if x.failed and x.failed[-1] and not self._tree_wrong(record.post, x, also)
                else Wrong("failure", why, "success", why)
            )
        found = self._tree_wrong(record.post, x, also)
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            return Wrong("effect", f"{found[0]}{more}", found[0].expected, found[0].observed, found)
        lost = forgotten(x.base, x.tree, record.post)
        if lost:
            return Wrong("effect", f"git no longer knows {lost!r}, which the trace's commands keep", lost, "no such entry")
        path = renumbered(x.base, x.tree, record.post)
        if path:
            message = f"rows of {path} get other numbers (rowid), which the trace's commands keep"
            return Wrong("effect", message, "as before", "others")
        if path := spoilt(x.tree, record.post):
            return Wrong("effect", f"{path} is no sound database any more (PRAGMA integrity_check)", "ok", "errors")
        return self.answer_wrong(record, x, also)

    def refuses(self, record: ReplayRecord) -> bool:
        """Whether a run says no, and did not stumble."""
        return refuses(record.outcome)

    def answer_wrong(self, record: ReplayRecord, x: Expectation, also: Sequence[Expectation] = ()) -> Wrong | None:
        if self.answer_path is None:
            return (
                Wrong("answer", "the skill returns no answer", repr(x.answer.strip()), "no answer")
                if self.read_only and x.answer.strip()
                else None
            )
        value = getattr(record.outcome, "value", None)
        text = answer_at(value, self.answer_path)
        if not x.answer_known:
            return None
        if text is None:
            return Wrong("answer", f"no answer at {self.answer_path}", repr(x.answer.strip()), "no answer")
        if any(same_answer(e.answer, text, ordered=e.answer_ordered) for e in (x, *also)):
            return None
        wanted, given = map(repr, parted(x.answer.strip(), text.strip()))
        return Wrong("answer", f"the answer at {self.answer_path} differs", wanted, given)

    def _tree_wrong(self, post: Snapshot, x: Expectation, also: Sequence[Expectation]) -> tuple[Difference, ...]:
        found = differences(x.tree, post, volatile=x.volatile)
        for other in also:
            if not found:
                break
            accepted = {(d.path, d.kind) for d in differences(other.tree, post, volatile=other.volatile | x.volatile)}
            found = tuple(d for d in found if (d.path, d.kind) in accepted)
        return found


def breaches(record: ReplayRecord) -> list[str]:
    """What one run did outside its workspace, a sentence each. A run that we killed may leave what it had begun."""
    interrupted = record.ended == "killed"
    out = [f"changed or removed the user's own {x.detail}" for x in record.leftovers if x.kind == "home"]
    left = [x for x in record.leftovers if x.kind != "home"]
    out += [f"left behind: {x.kind} {x.detail}" for x in left if not interrupted or x.kind == "process"]
    # A file whose closing was made to fail is still open: libraries do not tell.
    kept_open = record.fault_reached and record.probe.get("changed") == "its open files"
    if (changed := record.probe.get("changed")) and not kept_open:
        out.append(f"leaves the process that called it changed: {changed}")
    out += [f"reached for the network: {n}" for n in record.network]
    out += [f"hid what it changes: the caller of {o.split()[0]} cannot be looked into" for o in record.outside if _hidden(o)]
    out += [f"changed something outside the workspace: {o}" for o in record.outside if not _hidden(o)]
    out += [f"its channel: {p}" for p in record.protocol_findings]
    out += [f"left what is not compared: {s}" for s in record.scan_findings]
    if record.ended == "timeout" and not interrupted:
        out.append("did not end within its time limit")
    if record.ended == "oom":
        out.append("used more memory than its limit")
    return out


def foreign(record: ReplayRecord, known: frozenset[str]) -> list[str]:
    """Programs that a run started or looked for and that nobody allowed, a sentence each."""
    told = {name for words in record.started for name in started(words)} - known
    absent = [f"looked for {name}, which is not there, and no recording names it" for name in record.missing if name not in known]
    return absent + [f"started {name}, which no recording names and no policy allows" for name in sorted(told)]


def _hidden(attempt: str) -> bool:
    """A call of a program that may be run but not read: nobody can say what it is about."""
    return attempt.split()[1:2] == [UNKNOWN]


def _answers(case: Case, value: JsonValue) -> bool:
    """Whether a value may be meant as the recorded answer; where none is known, whatever stands at its place is."""
    path, x = answer_path(value), case.expectation
    text = answer_at(value, path) if path is not None else None
    return text is not None and (not x.answer_known or resembles(x.answer, text))


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated case that an oracle judged and the skill got right."""

    case: Case
    record: ReplayRecord
    oracle: str
    """differential or renaming."""
    varied: frozenset[str] = frozenset()
    """Parameters whose value differs from the recorded one."""

    @property
    def says_something(self) -> bool:
        """Whether the expected effect or answer is not empty."""
        return bool(self.case.expectation.effects) or bool(self.case.expectation.answer.strip())


@dataclass
class Context:
    """Shared by the checks of one verification. Mutable on purpose: it collects facts of every run for ``contained``."""

    subject: Subject
    replayed: Replayed
    cases: tuple[Case, ...]
    skill: Session
    traces: Session
    info: SandboxInfo
    budget: Budget
    seed: int
    judge: Judge
    min_usable: int = 3
    strict_torn: bool = False
    forbid_outside: bool = False
    programs: frozenset[str] = frozenset()
    """What the policy allows to start besides the built-in list and what the recordings name."""
    reproduce_with: tuple[str, ...] = ()
    """What the command that shows a finding again must say besides, quoted: where evidence and bindings are."""
    past: Past | None = None
    """Where counterexamples of this skill's name are kept."""
    decisions: tuple[Decision, ...] = ()
    """Answers to earlier questions."""
    planned: Callable[[int], None] | None = None
    """Told how many runs are to come."""
    first: dict[str, ReplayRecord] = field(default_factory=dict)
    """label of a recorded case -> the first (observed) run on its base."""
    primed: float = 0.0
    """When the last of those runs ended, by ``time.monotonic``."""
    ran: list[tuple[str, ReplayRecord]] = field(default_factory=list)
    """Every run of the skill with what it was for, without its tree and output: there are thousands."""
    write_calls: dict[str, tuple[Call, ...]] = field(default_factory=dict)
    answer_paths: tuple[str, ...] = ()
    """Where the skill's values hold answers; more than one place is a finding."""
    generated: list[Generated] = field(default_factory=list)
    """Cases of the differential and renaming oracles that the skill passed, for mutants and coverage."""
    parted: list[Case] = field(default_factory=list)
    """Starts beyond the evidence on which the skill does something else than the commands, without harm that was seen."""
    disturbed: list[tuple[Case, RunRequest, ReplayRecord]] = field(default_factory=list)
    """Right runs after a kill, and runs that reported an injected error: where the branches that recover and clean up run."""

    @property
    def counts(self) -> Counts:
        return COUNTS[self.budget]

    def rng(self, purpose: str) -> random.Random:
        """Randomness that depends on the verification's seed and on what it is for, nothing else."""
        return random.Random(f"{self.seed}:{purpose}")

    def number(self, purpose: str) -> int:
        return self.rng(purpose).getrandbits(31)

    def request(self, base: Snapshot, args: Args, surroundings: Surroundings = Surroundings(), **more: object) -> RunRequest:
        request = RunRequest(
            SkillJob(self.subject.source, dict(args), function=self.subject.function or None),
            base,
            self._rooted(surroundings),
            limits=SKILL_LIMITS,
        )
        return replace(request, **more)  # type: ignore[arg-type]  # field names and types are RunRequest's own

    def _rooted(self, surroundings: Surroundings) -> Surroundings:
        roots = {
            c.evidence.workspace_root for c in self.cases if c.evidence and c.evidence.workspace_root and not c.evidence.rewritten
        }
        return (
            replace(surroundings, workdir=next(iter(roots))) if len(roots) == 1 and surroundings.workdir is None else surroundings
        )

    def run(self, purpose: str, requests: Iterable[RunRequest]) -> list[ReplayRecord]:
        """Runs the skill (or variants of it) and keeps the facts."""
        waiting = list(requests)
        records: list[ReplayRecord] = []
        if self.planned:
            self.planned(len(waiting))
        while waiting:
            batch, waiting = waiting[:BATCH], waiting[BATCH:]
            hung = any(r.ended == "timeout" for _, r in self.ran)
            found = self.skill.map([replace(r, limits=HUNG_LIMITS) for r in batch] if hung else batch)
            self.ran.extend((purpose, replace(r, post=NO_TREE, steps=())) for r in found)
            records += found
        return records

    def prime(self) -> None:
        """Runs the skill once on the base of every case; later checks build on these runs. Stops after one that does not end."""
        observe = not self.supervised()
        waiting = [c for c in self.cases if c.label not in self.first]
        while waiting:
            batch, waiting = (waiting[:1], waiting[1:]) if not self.first else (waiting, [])
            records = self.run("recorded trace", (self.request(c.base, c.args, observe=observe) for c in batch))
            self.first.update(zip((c.label for c in batch), records, strict=True))
            self.primed = time.monotonic()
            if any(r.ended == "timeout" for r in records):
                return
        values = [(c, getattr(self.first[c.label].outcome, "value", None)) for c in self.cases]
        paths = {p for _, value in values if (p := answer_path(value)) is not None}
        if not self.replayed.read_only and 2 * sum(_answers(c, value) for c, value in values) < len(values):
            paths = set()  # of a task that changes something it tells in its own words
        self.judge = replace(self.judge, answer_path=min(paths) if len(paths) == 1 else None)
        self.answer_paths = tuple(sorted(paths))

    def broke_out(self) -> bool:
        """Whether some run did something outside its workspace, or started what it may not."""
        known = self.known_programs()
        return any(breaches(record) or foreign(record, known) for purpose, record in self.ran if purpose not in UNJUDGED)

    def known_programs(self) -> frozenset[str]:
        """What the skill may start: the built-in list, what the policy allows and what the recordings name."""
        commands = (text for c in self.cases if c.evidence is not None for text in c.evidence.commands)
        return PROGRAMS | self.programs | named(commands)

    def unlogged(self) -> str:
        """Why the system calls of the recorded cases are not known in full; "" where they are."""
        if self.supervised():
            return ""
        for c in self.cases:
            path = unlogged(self.request(c.base, c.args), self.first[c.label]) if c.label in self.first else ""
            if path:
                return f"{c.label}: {path} changed, and no system call was seen that could have done it"
        return ""

    def with_writes(self) -> Mapping[str, tuple[Call, ...]]:
        """label of a recorded case -> the calls of a clean run with every write to a workspace file among them (that costs
        extra)."""
        if not self.write_calls:
            never = CrashAt(NEVER, torn=True)
            records = self.run("writes counted", (self.request(c.base, c.args, fault=never) for c in self.cases))
            self.write_calls.update((c.label, r.calls) for c, r in zip(self.cases, records, strict=True))
        return self.write_calls

    def supervised(self) -> str:
        """Why supervision is not to be had here; "" where it is."""
        return "" if self.info.probes.get("supervise") else self.info.why_not.get("supervise", "the engine does not allow it")

    def reproduce(self, check: str, task_id: str = "", extra: str = "") -> str:
        words = ["assay", "replay", self.subject.place]
        words += ["--trace", task_id] if task_id else []
        words += ["--check", check]
        words += ["--budget", self.budget] if self.budget != "standard" else []
        words += ["--profile", self.subject.profile] if self.subject.profile != "seed" else []
        return " ".join([*(shlex.quote(w) for w in words), *([extra] if extra else []), *self.reproduce_with])

    def finding(
        self, check: str, message: str, case: Case, wrong: Wrong | None = None, extra: str = "", line: int | None = None
    ) -> Finding:
        """A finding with its counterexample and the command that shows it again."""
        start, end = (case.base, case.expectation.tree) if case.evidence is None else (None, None)
        example = Counterexample(
            case.label,
            dict(case.args),
            wrong.expected if wrong else "",
            wrong.observed if wrong else "",
            case.task_id,
            start,
            end,
        )
        notes = tuple(f"effect: {d}" for d in (wrong.differences if wrong else ())[:6])
        return Finding(
            message, self.subject.path, line or self.subject.line, counterexample=example,
            reproduce=self.reproduce(check, case.task_id, extra), notes=notes,
        )  # fmt: skip

"""What was right: the traces' own commands, replayed. Says which evidence is usable and what of it is volatile
(docs/semantics.md, "Usable evidence", and docs/semantics.md, "Same effect")."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sandbox.interface import ROOT, Effect, Limits, ReplayRecord, RunRequest, Session, ShellJob, Snapshot, Surroundings
from verifiers.expectation.answers import same_answer
from verifiers.expectation.equivalence import Attribute, differences, durable_effects
from verifiers.expectation.lacking import lacking
from verifiers.expectation.steps import commands_of, trace_request
from verifiers.interface import Evidence

ELAPSED_S = 1.1
"""Between two replays whose time stamps must not look equal (docs/semantics.md, "Usable evidence")."""

REPETITIONS = (Surroundings(), Surroundings(order="reversed"), Surroundings(order="shuffled:7"))
"""The trace's own repetitions: again, other directory orders, and (the last one) more than a second later."""


NOTHING_LOST: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Expectation:
    """What running the trace's commands on one base does, as far as it is stable."""

    base: Snapshot
    tree: Snapshot
    volatile: frozenset[Attribute]
    answer: str
    answer_ordered: bool
    exit_codes: tuple[int, ...]
    quiet: tuple[bool, ...]
    """Per step: nothing on stderr."""
    answer_known: bool = True
    """Whether what the commands print is the same each time, and as recorded: else no answer is compared."""

    @property
    def failed(self) -> tuple[bool, ...]:
        return tuple(code != 0 for code in self.exit_codes)

    @property
    def effects(self) -> tuple[Effect, ...]:
        return durable_effects(self.base, self.tree, self.volatile)


@dataclass(frozen=True, slots=True)
class Usable:
    """One trace that replays, with what it shows."""

    evidence: Evidence
    expectation: Expectation
    notes: tuple[str, ...] = ()
    """Recorded, never disqualifying: outputs that differ from the recording."""

    @property
    def task_id(self) -> str:
        return self.evidence.task_id


@dataclass(frozen=True, slots=True)
class Replayed:
    """All evidence after replay."""

    usable: tuple[Usable, ...]
    unusable: dict[str, str] = field(default_factory=dict)
    runs: int = 0

    @property
    def read_only(self) -> bool:
        """No usable trace has an effect; then the answer is what is required."""
        return bool(self.usable) and not any(u.expectation.effects for u in self.usable)


def shell_request(base: Snapshot, commands: Sequence[str], surroundings: Surroundings = Surroundings()) -> RunRequest:
    return RunRequest(ShellJob(tuple(commands)), base, surroundings, limits=Limits(wall_s=20.0 * max(1, len(commands))))


def replay(evidence: Sequence[Evidence], session: Session, lost: Mapping[str, str] = NOTHING_LOST) -> Replayed:
    """Replays every trace from its base, three times, and sorts the usable from the unusable (``lost`` already are)."""
    unusable = {**lost, **{e.task_id: why for e in evidence if (why := _unfit(e))}}
    fit = [e for e in evidence if e.task_id not in unusable]
    ran = [e for e in fit if e.commands or e.edits]
    rounds: list[list[ReplayRecord]] = []
    began, before = time.monotonic(), session.runs
    for surroundings in REPETITIONS:
        rounds.append(session.map(trace_request(e, e.base, _rooted(surroundings, e)) for e in ran if e.base is not None))
        # What is remembered was run with the pause already.
        if len(rounds) == len(REPETITIONS) - 1 and session.runs > before:
            time.sleep(max(0.0, ELAPSED_S - (time.monotonic() - began)))
    found = {e.task_id: [r[i] for r in rounds] for i, e in enumerate(ran)}
    usable = []
    for e in fit:
        records = found.get(e.task_id) or [_as_recorded(e)]
        expectation, why = expect(e, records)
        first, _ = commands_of(e, records[0])
        why = why or disagreement(e, expectation, first)
        why = (lacking(first.steps, e.outputs) if why else "") or why
        expectation = replace(expectation, answer_known=expectation.answer_known and not _other_output(e, expectation))
        if not why and not expectation.answer_known and not expectation.effects:
            why = _other_output(e, expectation) or "its own replays print different answers"
        if why:
            unusable[e.task_id] = f"{why}; {e.redacted}, and its replay may need the very bytes" if e.redacted else why
        else:
            usable.append(Usable(e, expectation, tuple(_output_notes(e, first))))
    return Replayed(tuple(usable), unusable, len(REPETITIONS) * len(ran))


def _rooted(surroundings: Surroundings, e: Evidence) -> Surroundings:
    root = e.workspace_root
    return replace(surroundings, workdir=root) if root and not e.rewritten else surroundings


def _unfit(e: Evidence) -> str:
    if not e.success:
        return "the trace failed: negative evidence, never an oracle"
    if e.base is None:
        return "the recording has no workspace and none could be reconstructed"
    if not e.commands and not e.edits and e.post is None:
        return "the recording has neither commands nor edits, and no end state"
    return ""


def _as_recorded(e: Evidence) -> ReplayRecord:
    """A recording without steps is taken as it is: there is nothing that could be run again."""
    return ReplayRecord(None, (), e.post if e.post is not None else Snapshot(), "exited")


def expect(evidence: Evidence, records: Sequence[ReplayRecord]) -> tuple[Expectation, str]:
    """The stable part of several replays of one trace, and why it cannot be used ("" where it can)."""
    records, refused = zip(*(commands_of(evidence, r) for r in records), strict=True)
    first = records[0]
    base = evidence.base if evidence.base is not None else Snapshot()
    volatile = frozenset((d.path, d.kind) for r in records[1:] for d in differences(first.post, r.post))
    answers = [_text(r.steps[min(evidence.answer_step, len(r.steps) - 1)].stdout) for r in records if r.steps]
    ordered = all(same_answer(answers[0], a) for a in answers[1:])
    expectation = Expectation(
        base, first.post, volatile, answers[0] if answers else "", ordered,
        tuple(_code(s.exit_code, s.signal) for s in first.steps), tuple(not s.stderr for s in first.steps),
        bool(answers) and all(same_answer(answers[0], a, ordered=False) for a in answers[1:]),
    )  # fmt: skip
    return expectation, next(filter(None, refused), "") or _unstable(records, volatile)


_SCRATCH = ("/tmp/", "/var/tmp/")
"""Where recorded commands may leave something: agents write there and move on. A skill may not."""


def _unstable(records: Sequence[ReplayRecord], volatile: frozenset[Attribute]) -> str:
    for r in records:
        if r.ended != "exited":
            return f"its own commands do not end ({r.ended})"
        if r.network:
            return f"it needs the network, which a replay has not ({r.network[0]})"
        left = [x for x in r.leftovers if x.kind != "file" or not x.detail.startswith(_SCRATCH)]
        if left:
            return f"its own commands leave something outside the workspace ({left[0].kind} {left[0].detail})"
        if r.scan_findings:
            return f"its own commands leave what is not compared: {r.scan_findings[0]}"
    paths = [p for p, kind in volatile if kind in ("created", "removed", "type")]
    if paths:
        return f"its own replays disagree about which paths exist ({sorted(paths)[0]})"
    classes = {tuple(_code(s.exit_code, s.signal) != 0 for s in r.steps) for r in records}
    if len(classes) > 1:
        return "its own replays disagree about which commands fail"
    return ""


_OFFLINE = re.compile(
    rb"could not resolve host|cannot run ssh|network is unreachable|name resolution|name or service not known", re.IGNORECASE
)
"""What programs say that look for another machine where there is none."""
_NO_REPOSITORY = re.compile(rb"'([^'\n]+)' does not appear to be a git repository|repository '([^'\n]+)' does not exist")


def _elsewhere(said: bytes) -> str:
    """What a command that fails looks for outside the workspace, by what it says; "" where it does not say so."""
    if _OFFLINE.search(said):
        return "the network, which a replay has not"
    found = _NO_REPOSITORY.search(said)
    return f"the repository {_text(found[1] or found[2])}, which the recording has not" if found is not None else ""


def disagreement(e: Evidence, x: Expectation, record: ReplayRecord) -> str:
    """Where the replay disagrees with the recording, in one sentence; "" where it agrees."""
    for i, now in enumerate(x.exit_codes):
        was = e.exit_codes[i] if e.exit_codes is not None and i < len(e.exit_codes) else None
        why = _elsewhere(record.steps[i].stderr) if now != 0 and not was else ""
        if why:
            return f"command {i + 1} needs {why}"
        if was is not None and (was != 0) != (now != 0):
            return f"command {i + 1} ended with {was} when recorded and with {now} when replayed"
    if e.post is not None:
        found = differences(e.post, x.tree, volatile=x.volatile, root=False, links=False)
        if found:
            return f"the replayed end state is not the recorded one ({found[0]})"
    return ""


def _other_output(e: Evidence, x: Expectation) -> str:
    """That the command that answers printed something else than when recorded, in one sentence, or "". Of a task with an
    effect that says nothing: nobody asked for the listing, the date or the id that it printed last."""
    if e.outputs and not same_answer(e.stdout(e.answer_step), x.answer, ordered=x.answer_ordered):
        which = "last command" if e.answer_step == len(e.commands) - 1 else f"command {e.answer_step + 1}, which answers,"
        return f"the {which} printed something else when replayed"
    return ""


def _output_notes(e: Evidence, record: ReplayRecord) -> list[str]:
    notes = []
    for i, step in enumerate(record.steps[:-1]):
        if i < len(e.outputs) and Counter(e.stdout(i).splitlines()) != Counter(_text(step.stdout).splitlines()):
            notes.append(f"command {i + 1} printed other lines than recorded")
    return notes


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _code(exit_code: int | None, signal: int | None) -> int:
    return exit_code if exit_code is not None else 128 + (signal or 0)


def without_root(tree: Snapshot) -> Snapshot:
    """The tree without the workspace directory's own entry, so that it can serve as a base."""
    return Snapshot({p: e for p, e in tree.items() if p != ROOT})

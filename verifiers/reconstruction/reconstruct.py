"""Bases for traces that were recorded without one (docs/semantics.md, "Reconstructed starts").

What a trace's commands printed tells what was there. That reading is only a guess, so it is *accepted only if* replaying the
commands on the guessed base gives back the recorded outputs, and if taking away any path of it breaks that match: a reconstructed
base holds nothing that the recording does not bear out. The search is driven by the replay: guess, run, look at what differs,
guess again.
"""

from __future__ import annotations

import heapq
import itertools
import math
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sandbox.interface import ROOT, Entry, ReplayRecord, RunRequest, Session, ShellJob, Snapshot, Surroundings, effects
from verifiers.expectation.steps import commands_of, trace_request
from verifiers.interface import Evidence
from verifiers.reconstruction.clues import clues, operands, writes
from verifiers.reconstruction.compare import Gap, Step, gap
from verifiers.reconstruction.repairs import Guess, clean, guesses, sentinel

BUDGET = 120
"""Replays that the search for one trace may take; minimising comes on top (one for each path)."""
_STALE = 60
"""Replays without coming nearer after which the search gives up."""
_IDLE = "its outputs do not tell what was there: on every base that they suggest, its commands change nothing"
_WIDTH = 24
"""Guesses tried for one base."""
_AT_ONCE = 6
"""Guesses run together; the search ends with the first lot that holds a match."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A base that may have been there."""

    base: Snapshot
    notes: tuple[str, ...] = ()
    """Why each part is believed, in the order of the guesses."""


def reconstruct(evidence: Evidence) -> list[Hypothesis]:
    """Bases that the text of the trace suggests, most likely first; the empty workspace last. Runs nothing."""
    known = clues(evidence)
    out = {}
    for index, output in enumerate(evidence.outputs):
        if output.strip():
            step = Step(index, ".", tuple(evidence.stdout(index).splitlines()), ())
            for guess in guesses(evidence, known, Snapshot(), Gap((step,), 0, 0))[:_WIDTH]:
                out[guess.base.digest] = Hypothesis(guess.base, (guess.why,))
            break
    empty = Hypothesis(Snapshot(), ("nothing need be there",))
    out.setdefault(empty.base.digest, empty)
    return list(out.values())


def accept(evidence: Evidence, hypothesis: Hypothesis, session: Session) -> Evidence | str:
    """The evidence with this base if the replay bears it out, else why not, in one sentence.

    Paths that no output depends on are taken out of the base first. What replay adds (end state, exit codes) is the replay's own.
    """
    record = session.run(_request(evidence, hypothesis.base))
    distance = gap(evidence, record)
    if distance.lines:
        return _difference(distance)
    if record.ended != "exited":
        return f"on the reconstructed base its commands do not end ({record.ended})"
    base, record = _minimal(evidence, hypothesis.base, record, session)
    if _idle(evidence, base, record):
        return _IDLE
    codes = tuple(s.exit_code if s.exit_code is not None else 128 + (s.signal or 0) for s in record.steps)
    metadata = {**evidence.metadata, "reconstructed": True, "reconstruction": list(hypothesis.notes)}
    richer = [hypothesis.base] if hypothesis.base != base else []
    others = [b.to_json() for b in (*richer, *_alternatives(evidence, base, record, session))]
    if others:
        metadata["alternative_bases"] = others
    return replace(evidence, base=base, post=_tree(record), exit_codes=codes, reconstructed=True, metadata=metadata)


def rebuild(evidence: Evidence, session: Session, budget: int = BUDGET) -> Evidence | str:
    """The evidence with a reconstructed base, or why there is none, in one sentence.

    Evidence that has a base comes back as it is. The session must not be one that a skill runs in.
    """
    if evidence.base is not None:
        return evidence
    if not evidence.success:
        return "the trace failed: negative evidence, never an oracle"
    if evidence.edits:
        return _from_edits(evidence, session)
    if not evidence.commands:
        return "the recording has no commands"
    found, nearest = _search(evidence, session, budget)
    why = nearest if nearest == _IDLE else f"no base gives back the recorded outputs: {nearest}"
    for hypothesis in found:
        answer = accept(evidence, hypothesis, session)
        if not isinstance(answer, str):
            return answer
        why = answer
    return why


def rebuild_all(evidence: Sequence[Evidence], session: Session, budget: int = BUDGET) -> list[Evidence]:
    """All evidence, with reconstructed bases where that succeeded; the others keep ``base`` None."""
    answers = [(e, rebuild(e, session, budget)) for e in evidence]
    return [e if isinstance(answer, str) else answer for e, answer in answers]


def alternative_bases(evidence: Evidence) -> tuple[Snapshot, ...]:
    """Further bases of reconstructed evidence, on which the skill must agree with the trace's commands too
    (docs/semantics.md, "Reconstructed starts").

    One may hold paths beyond what the outputs bear out (a file in a directory that is copied); in each of the others a file that
    the commands write already has content that no output shows. The recorded outputs agree on all of them.
    """
    found = evidence.metadata.get("alternative_bases")
    return tuple(Snapshot.from_json(tree) for tree in found) if isinstance(found, list) else ()


def _from_edits(evidence: Evidence, session: Session) -> Evidence | str:
    """The start as far as the edits tell it: each file as it was first found. Those that were edited before the first command are
    tried first: the others may be what a command made."""
    found: dict[str, Entry | None] = {}
    early: dict[str, Entry | None] = {}
    for edit in evidence.edits:
        found.setdefault(edit.path, edit.before)
        if edit.after_commands == 0:
            early.setdefault(edit.path, edit.before)
    why = ""
    for files in (early, found):
        base = Snapshot({path: entry for path, entry in files.items() if entry is not None})
        answer = _borne_out(evidence, base, session)
        if not isinstance(answer, str):
            return answer
        why = answer
    return f"the files that its edits name are not all that was there: {why}"


def _borne_out(evidence: Evidence, base: Snapshot, session: Session) -> Evidence | str:
    """The evidence with this base if its steps run on it as they were recorded, else why not."""
    root = evidence.workspace_root
    surroundings = Surroundings(workdir=root) if root and not evidence.rewritten else Surroundings()
    record, refused = commands_of(evidence, session.run(trace_request(evidence, base, surroundings)))
    if refused or record.ended != "exited":
        return refused or f"its commands do not end ({record.ended})"
    distance = gap(evidence, record)
    if distance.lines:
        return _difference(distance)
    codes = tuple(s.exit_code if s.exit_code is not None else 128 + (s.signal or 0) for s in record.steps)
    metadata = {**evidence.metadata, "reconstructed": True, "reconstruction": ["the files as its edits found them"]}
    return replace(evidence, base=base, post=_tree(record), exit_codes=codes, reconstructed=True, metadata=metadata)


# ---------------------------------------------------------------- search


@dataclass(frozen=True, slots=True)
class _Node:
    base: Snapshot
    notes: tuple[str, ...]
    gap: Gap


def _search(evidence: Evidence, session: Session, budget: int) -> tuple[list[Hypothesis], str]:
    """Best-first over guesses. Hypotheses whose replay matches, best first, and how near the nearest other came."""
    known = clues(evidence)
    start = [Guess(Snapshot(), "")]
    number = itertools.count()
    queue: list[tuple[int, int, int, int, _Node]] = []
    seen: set[str] = set()
    matches: list[tuple[int, int, Hypothesis]] = []
    nearest = "nothing was tried"
    best, best_at = math.inf, 0

    def run(found: Sequence[Guess], notes: tuple[str, ...]) -> None:
        fresh = [g for g in found if g.base.digest not in seen][: max(0, budget - len(seen))]
        for at in range(0, len(fresh), _AT_ONCE):
            some = fresh[at : at + _AT_ONCE]
            seen.update(g.base.digest for g in some)
            records = session.map(_request(evidence, g.base) for g in some)
            for guess, record in zip(some, records, strict=True):
                node = _Node(guess.base, (*notes, guess.why) if guess.why else notes, gap(evidence, record))
                rank = (node.gap.lines, node.gap.order, _poverty(node.base, record))
                heapq.heappush(queue, (*rank, next(number), node))
                if not node.gap.lines and record.ended == "exited" and not _idle(evidence, guess.base, record):
                    matches.append((node.gap.order, rank[2], Hypothesis(node.base, node.notes)))
            if any(m[0] == 0 for m in matches):
                return

    run(start, ())
    while queue and len(seen) < budget:
        lines, _, _, _, node = heapq.heappop(queue)
        if matches and lines:
            break
        if lines < best:
            best, best_at = lines, len(seen)
        if (lines == 0 and matches) or len(seen) - best_at > _STALE:
            break
        if lines == 0:
            nearest = _IDLE
            continue
        nearest = nearest if nearest == _IDLE else _difference(node.gap)
        run(guesses(evidence, known, node.base, node.gap)[:_WIDTH], node.notes)
    matches.sort(key=lambda m: m[:2])
    return [h for _, _, h in matches[:3]], nearest


def _poverty(base: Snapshot, record: ReplayRecord) -> int:
    """0 for a base on which the commands have an effect, 1 for one on which they have none: the first tells more."""
    return 0 if effects(base, _tree(record)) else 1


def _idle(evidence: Evidence, base: Snapshot, record: ReplayRecord) -> bool:
    """Whether commands that write, or print nothing at all, leave this base as it is: then it shows nothing of the task."""
    silent = not any(o.strip() for o in evidence.outputs)
    return (silent or writes(evidence)) and not effects(base, _tree(record))


def _request(evidence: Evidence, base: Snapshot) -> RunRequest:
    root = evidence.workspace_root
    surroundings = Surroundings(workdir=root) if root and not evidence.rewritten else Surroundings()
    return RunRequest(ShellJob(evidence.commands), base, surroundings)


def _tree(record: ReplayRecord) -> Snapshot:
    return record.post.replace({ROOT: None}) if ROOT in record.post else record.post


def _difference(found: Gap) -> str:
    if not found.steps:
        return "an exit code differs"
    step = found.steps[0]
    shown = f"recorded {step.missing[0][:80]!r}" if step.missing else f"not recorded: {step.extra[0][:80]!r}"
    return f"at command {step.index + 1}, {shown}"


# ---------------------------------------------------------------- minimising


def _minimal(evidence: Evidence, base: Snapshot, record: ReplayRecord, session: Session) -> tuple[Snapshot, ReplayRecord]:
    """The base without every path that the match does not depend on, children before their parents."""
    changed = True
    while changed:
        changed = False
        paths = sorted((p for p in base if p != ROOT), key=lambda p: (-p.count("/"), p))
        trials = [(p, base.replace({p: None})) for p in paths]
        records = session.map(_request(evidence, trial) for _, trial in trials)
        spare = [p for (p, _), r in zip(trials, records, strict=True) if not gap(evidence, r).lines]
        for path in spare:
            trial = base.replace({path: None})
            if path in base and not gap(evidence, again := session.run(_request(evidence, trial))).lines:
                base, record, changed = trial, again, True
    return base, record


def _alternatives(evidence: Evidence, base: Snapshot, record: ReplayRecord, session: Session) -> Iterator[Snapshot]:
    """Bases on which a file that the commands write already had content that no output shows, where the outputs still agree."""
    post = _tree(record)
    written = [p for p, entry in post.items() if entry.type == "file" and p not in base and _is_target(evidence, p)]
    for path in written[:4]:
        trial = base.replace({path: sentinel(path)}) if posixpath.dirname(path) in ("", *base) else None
        if trial is not None and not gap(evidence, session.run(_request(evidence, trial))).lines:
            yield trial


def _is_target(evidence: Evidence, path: str) -> bool:
    """Whether a command names the path itself: a redirection's or copy's target rather than one of many results."""
    return any(
        clean(p, ".") == path or posixpath.basename(p) == posixpath.basename(path)
        for i in range(len(evidence.commands))
        for p in operands(evidence, i)
    )

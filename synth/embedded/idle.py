"""Steps of which the table knows nothing, told from working ones by what they change: nothing, if the rest gives the same end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from sandbox.interface import ReplayRecord, RunRequest, ShellJob, Snapshot
from synth.embedded.steps import Work
from verifiers.expectation.equivalence import differences
from verifiers.shell.commands import TABLE
from verifiers.shell.effects import walk
from verifiers.shell.tree import Seq, Simple


class Replays(Protocol):
    """Where a trace's own commands are run."""

    def map(self, requests: Iterable[RunRequest]) -> list[ReplayRecord]: ...


def without_idle(session: Replays, works: Sequence[Work]) -> list[Work]:
    """The works without unknown steps that do not matter: one replay for each of them, one for all of a work's together.

    Raises:
        SandboxError: the sandbox failed.
    """
    doubtful = [(w, k) for w in works if len(w.kept) > 1 for k, tree in zip(w.kept, w.program, strict=True) if _unknown(tree)]
    alone = _same_end(session, [(w, {k}) for w, k in doubtful])
    idle: dict[str, set[int]] = {}
    for (w, k), same in zip(doubtful, alone, strict=True):
        if same:
            idle.setdefault(w.evidence.task_id, set()).add(k)
    some = [w for w in works if 0 < len(idle.get(w.evidence.task_id, ())) < len(w.kept)]
    together = _same_end(session, [(w, idle[w.evidence.task_id]) for w in some])
    agreed = {w.evidence.task_id for w, same in zip(some, together, strict=True) if same}
    return [_without(w, idle[w.evidence.task_id]) if w.evidence.task_id in agreed else w for w in works]


def _unknown(tree: Seq) -> bool:
    return any(isinstance(n, Simple) and n.words and n.name not in TABLE for n in walk(tree))


def _same_end(session: Replays, parts: Sequence[tuple[Work, Collection[int]]]) -> list[bool]:
    """Whether the commands without these steps end in the recorded tree."""
    jobs = [
        RunRequest(
            ShellJob(tuple(c for k, c in enumerate(w.evidence.commands) if k not in left_out)), w.evidence.base or Snapshot()
        )
        for w, left_out in parts
    ]
    ends = [record.post for record in session.map(jobs)] if jobs else []
    return [
        w.evidence.post is not None and end is not None and not differences(w.evidence.post, end, links=False)
        for (w, _), end in zip(parts, ends, strict=True)
    ]


def _without(w: Work, idle: Collection[int]) -> Work:
    kept = tuple(k for k in w.kept if k not in idle)
    program = tuple(tree for k, tree in zip(w.kept, w.program, strict=True) if k not in idle)
    told = tuple(f"step {k + 1} changes nothing: {w.evidence.commands[k][:60]}" for k in sorted(idle))
    return replace(w, program=program, kept=kept, dropped=(*w.dropped, *told))

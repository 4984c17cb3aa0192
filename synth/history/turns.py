"""Whether turns in which a skill ran ended as it should have left them: what hooks kept of them, against the skill run anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sandbox.interface import ROOT, ReplayRecord, RunRequest, Sandbox, SkillJob, Snapshot, effects
from synth.history.commits import Commit
from synth.history.drift import Case, Drift
from synth.interface import ExecutionTrace
from synth.tracing.traces import load_traces
from verifiers.binding.confirm import CONFIRM_LIMITS
from verifiers.expectation.answers import failure
from verifiers.interface import EvidenceError, Subject

KIND = "turns"
MOST = 20
"""Turns of a skill that are looked at, the newest."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn, below the directory that the skill worked on."""

    what: Commit
    """Told as a commit is: its time and its request."""
    args: Mapping[str, Any]
    start: Snapshot
    end: Snapshot


def turns_of(store: Path, versions: Mapping[str, str]) -> dict[str, list[Turn]]:
    """The newest turns of each skill, oldest first, as far as the version that ran is the one that is asked about.

    Args:
        store: Where hooks keep what they see.
        versions: Name of a skill -> its version.
    """
    found: dict[str, list[Turn]] = defaultdict(list)
    for path in sorted((store / "uses").glob("*.json")):
        try:
            (trace,) = load_traces(path)
        except (EvidenceError, OSError, ValueError):
            continue  # cut off, or of another kind
        name = str(trace.metadata.get("skill"))
        if versions.get(name) == trace.metadata.get("version") and isinstance(trace.metadata.get("args"), Mapping):
            found[name].append(_turn(trace))
    return {name: turns[-MOST:] for name, turns in found.items()}


def _turn(trace: ExecutionTrace) -> Turn:
    when = trace.timestamp
    what = Commit(f"{when:%Y-%m-%d} {trace.task_id}", (), "", when, when, trace.task_description)
    below = str(trace.metadata.get("below", "."))
    ends = (_below(Snapshot.from_json(tree or {}), below) for tree in (trace.workspace, trace.post_workspace))
    return Turn(what, trace.metadata["args"], *ends)


def _below(tree: Snapshot, directory: str) -> Snapshot:
    lead = "" if directory == "." else f"{directory}/"
    return Snapshot({path.removeprefix(lead): entry for path, entry in tree.items() if path.startswith(lead) and path != ROOT})


def drift_of_turns(subject: Subject, turns: Sequence[Turn], sandbox: Sandbox) -> Drift:
    """Runs a skill on the start of each turn, with the arguments that it had, and compares what it changes with the end.

    What else was done in a turn is no matter of the skill's.

    Raises:
        SandboxError: the sandbox failed.
    """
    jobs = ((SkillJob(subject.source, t.args, function=subject.name), t.start) for t in turns)
    with sandbox.session(f"skill {subject.name}") as skill:
        ran = skill.map([RunRequest(job, start, limits=CONFIRM_LIMITS) for job, start in jobs])
    return Drift(KIND, tuple(_case(turn, record) for turn, record in zip(turns, ran, strict=True)))


def _case(turn: Turn, record: ReplayRecord) -> Case:
    refused = failure(record.outcome)
    if refused is not None:
        return Case(turn.what, "refused", " ".join(refused.split()), turn.args)
    for effect in effects(turn.start, record.post):
        if effect.path != ROOT and _plain(record.post.get(effect.path)) != _plain(turn.end.get(effect.path)):
            return Case(turn.what, "another end", f"{effect.path} is not as the skill leaves it", turn.args)
    return Case(turn.what, "right", args=turn.args)


def _plain(entry: Any) -> Any:
    """Of a mode only whether it can be executed: the rest is a machine's umask, and no part of git's index."""
    return replace(entry, mode=entry.mode & 0o100, links=1) if entry is not None else None

"""What a history has of a kind since the commits that a skill was learned from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from synth.history.commits import Commit, History
from synth.history.eras import Kind
from synth.history.facts import Facts
from synth.history.learning import read_kinds
from synth.history.objects import Objects
from synth.history.traces import Traces
from synth.interface import ExecutionTrace

MOST = 20
"""Commits of a kind that are looked at, the newest: as many as are held out at most."""
SOURCE = "git"
"""Of traces that `assay import git` made."""


@dataclass(frozen=True, slots=True)
class Since:
    """The newer commits of a kind."""

    kind: str
    """Its name in this history."""
    traces: tuple[tuple[Commit, ExecutionTrace], ...] = ()
    """Of the conforming ones, oldest first."""
    without: tuple[tuple[Commit, str], ...] = ()
    """Conforming ones that give no trace, and why."""
    odd: tuple[tuple[Commit, str, ExecutionTrace | str], ...] = ()
    """The newest that do less or more than the others, oldest first: how they part from them, and the trace, or why it gives
    none."""
    older: int = 0
    """Conforming ones that are newer than what was learned, and left out because there are enough."""


def learned_from(traces: Iterable[ExecutionTrace]) -> frozenset[str]:
    """Ids of the commits that recordings were made of."""
    return frozenset(str(t.metadata["commit"]) for t in traces if t.metadata.get("source") == SOURCE and t.metadata.get("commit"))


def since(repository: Path, learned: Mapping[str, Set[str]], until: str = "HEAD") -> dict[str, Since | str]:
    """For each name what came after the commits that it was learned from, or why that cannot be said, in one sentence.

    Args:
        repository: A clone, a bare repository or a linked working tree. Nothing in it is run.
        learned: Name of a skill -> ids of commits.
        until: The newest commit.

    Raises:
        HistoryError: the history cannot be read.
    """
    with Objects(repository) as objects:
        history, _, kinds = read_kinds(objects, until)
        made = Traces(objects, repository.resolve().name)
        return {name: _since(commits, history, kinds, made) for name, commits in learned.items()}


def _since(learned: Set[str], history: History, kinds: Sequence[Kind], made: Traces) -> Since | str:
    order = {c.oid: n for n, c in enumerate(history.commits)}
    known = [order[oid] for oid in learned if oid in order]
    if not known:
        cut = ": it is shallow (git fetch --unshallow)" if history.shallow else ""
        return f"none of the {len(learned)} commits that it was learned from is in this history{cut}"
    kind = max(kinds, key=lambda k: sum(f.commit.oid in learned for f in k.found), default=None)
    if kind is None or not any(f.commit.oid in learned for f in kind.found):
        return "the commits that it was learned from are of no kind that comes three times here"
    return _newer(kind, min(known), order, made)


def _newer(kind: Kind, newest: int, order: Mapping[str, int], made: Traces) -> Since:
    def is_new(facts: Facts) -> bool:
        return order[facts.commit.oid] < newest

    conforming = [f.commit for f in kind.conforming if is_new(f)]
    traces: list[tuple[Commit, ExecutionTrace]] = []
    without: list[tuple[Commit, str]] = []
    for commit in reversed(conforming[:MOST]):
        found = made.trace(commit, kind.name)
        if isinstance(found, str):
            without.append((commit, found))
        else:
            traces.append((commit, found))
    odd = [(f.commit, why) for f, why in kind.odd if is_new(f)][:MOST]
    with_traces = tuple((commit, why, made.trace(commit, kind.name)) for commit, why in reversed(odd))
    return Since(kind.name, tuple(traces), tuple(without), with_traces, max(0, len(conforming) - MOST))

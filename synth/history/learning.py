"""From a repository to traces of its kinds of commits."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from synth.crystallization.holdout import LEAST_FOR_HOLD_OUT, LEAST_SEEN
from synth.history.commits import MOST, Commit, History, read_history
from synth.history.eras import Kind, kinds_of
from synth.history.facts import Facts, facts_of
from synth.history.kinds import groups_of
from synth.history.objects import HistoryError, Objects
from synth.history.traces import Traces
from synth.interface import ExecutionTrace

MOST_SEEN, MOST_HELD = 40, 20
"""Traces of one kind to learn from and, unless a number is asked for, to keep back, the newest: more say little new."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What a history has."""

    kinds: tuple[Kind, ...]
    """Largest first."""
    traces: tuple[ExecutionTrace, ...]
    """To learn from, oldest first."""
    held_out: tuple[ExecutionTrace, ...]
    """Newer ones of the same kinds."""
    odd: tuple[ExecutionTrace, ...]
    dropped: tuple[tuple[Commit, str], ...]
    """Commits of a kind that give no trace, and why."""
    notes: tuple[str, ...]


def learn(
    repository: Path, until: str = "HEAD", since: str | None = None, author: str | None = None, kind: str | None = None,
    hold_out: int | None = None, traces: bool = True, with_odd: bool = False,
) -> Learned:  # fmt: skip
    """Reads, groups, and makes traces.

    Args:
        repository: A clone, a bare repository or a linked working tree. Nothing in it is run.
        until: The newest commit.
        since: Commits reachable from it are left out.
        author: Part of the name or address of the authors wanted.
        kind: The name of the one kind wanted.
        hold_out: How many of the newest conforming commits of each kind are kept back; None = a third, to ``MOST_HELD``.
        traces: Whether traces are made at all.
        with_odd: Whether odd commits are made into traces too.

    Raises:
        HistoryError: the history cannot be read, or has no such kind.
    """
    with Objects(repository) as objects:
        history, facts, kinds = read_kinds(objects, until, since, author)
        if kind is not None:
            kinds = [_named(kind, kinds, repository)]
        made = Traces(objects, repository.resolve().name)
        dropped: list[tuple[Commit, str]] = []
        seen: list[ExecutionTrace] = []
        held: list[ExecutionTrace] = []
        odd: list[ExecutionTrace] = []

        def add(commits: list[Commit], name: str, to: list[ExecutionTrace]) -> None:
            for commit in reversed(commits):
                found = made.trace(commit, name)
                if isinstance(found, str):
                    dropped.append((commit, found))
                else:
                    to.append(found)

        for one in kinds if traces else ():
            conforming = [f.commit for f in one.conforming]
            back = held_back(len(conforming), hold_out)
            add(conforming[back : back + MOST_SEEN], one.name, seen)
            add(conforming[:back], one.name, held)
            add([f.commit for f, _ in one.odd] if with_odd else [], one.name, odd)
    notes = _notes(history, Counter(f.kind for f in facts))
    return Learned(tuple(kinds), tuple(seen), tuple(held), tuple(odd), tuple(dropped), tuple(notes))


def read_kinds(
    objects: Objects, until: str = "HEAD", since: str | None = None, author: str | None = None
) -> tuple[History, list[Facts], list[Kind]]:
    """The commits between two revisions, what grouping sees of them, and the kinds that it finds.

    Raises:
        HistoryError: the history cannot be read, or has no commit of such an author.
    """
    history = read_history(objects, until, since)
    facts = facts_of([c for c in history.commits if author is None or author.lower() in c.author.lower()], objects)
    if not facts:
        raise HistoryError(f"has no commit of an author with {author!r}", "See git shortlog -se", objects.repository)
    return history, facts, kinds_of(groups_of(facts))


def held_back(conforming: int, wanted: int | None) -> int:
    """How many of the newest are kept from learning: none where too few would be left."""
    if conforming < LEAST_FOR_HOLD_OUT:
        return 0
    return min(conforming - LEAST_SEEN, min(MOST_HELD, conforming // 3) or 1 if wanted is None else wanted)


def _named(name: str, kinds: list[Kind], repository: Path) -> Kind:
    for one in kinds:
        if one.name == name:
            return one
    near = difflib.get_close_matches(name, [k.name for k in kinds], n=3, cutoff=0.3)
    advice = f"Did you mean {' or '.join(near)}?" if near else "assay import git REPO lists them"
    raise HistoryError(f"has no kind {name!r} that comes at least three times", advice, repository)


def _notes(history: History, classes: Counter[str]) -> list[str]:
    out = []
    if history.total > len(history.commits):
        out.append(f"the newest {MOST} of {history.total} commits were read")
    if history.shallow:
        out.append("the clone is shallow: what came before its boundary is not there (git fetch --unshallow)")
    rest = [f"{n} {name}" for name, n in classes.most_common() if name != "plain"]
    if rest:
        out.append(f"{len(history.commits)} commits read; besides: {', '.join(rest)}")
    return out

"""Starts on which something stands beside what the task is about that is nearly the same, and a skill that leaves it alone.

Commands that take hold of it may mean it, or be careless: they were written for starts that have no such thing. Who leaves it
alone and does all that was recorded is no worse than they are, so a person is asked. Who takes hold of what they leave alone is
wrong.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from sandbox.interface import Entry, ReplayRecord, Snapshot
from verifiers.context import Case, Context
from verifiers.expectation.oracle import Expectation
from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.records import decoded
from verifiers.worlds.trials import Beyond, Trial

LEFT_ALONE = Beyond("left-alone", "nothing stands beside what the task is about that is nearly the same", always=True)


def leaves_alone(context: Context, trial: Trial, case: Case, record: ReplayRecord) -> bool:
    """Whether a run did what was recorded, and left as it is what the start has besides."""
    recorded = trial.g.expectation
    if trial.world.renames or trial.world.args != trial.g.args:
        return False
    if not all(CATALOG[s.variation].beside(s.choice) for s in trial.plan.steps):
        return False
    tree = _with_more(recorded, case.base, record.post)
    return tree is not None and context.judge.wrong(record, replace(recorded, base=case.base, tree=tree)) is None


def _with_more(recorded: Expectation, start: Snapshot, post: Snapshot) -> Snapshot | None:
    """The recorded end with what the start has besides; None where a run did not end so, or the start lacks something."""
    tree: dict[str, Entry] = {}
    for path in {*recorded.base, *recorded.tree, *start}:
        before, after, here = recorded.base.get(path), recorded.tree.get(path), start.get(path)
        entry = (
            after
            if here == before
            else here
            if before is None and after is None
            else _with_lines(before, here, after, post.get(path))
        )
        if entry is not None:
            tree[path] = entry
        elif here != before or after is not None:
            return None
    return Snapshot(tree)


def _with_lines(before: Entry | None, here: Entry | None, after: Entry | None, end: Entry | None) -> Entry | None:
    """The end of a file, where it is the recorded one and the lines that the start has besides; None where it is not."""
    if before is None or here is None or after is None or end is None or {e.type for e in (before, here, after, end)} != {"file"}:
        return None
    old, new, left = (Counter(decoded(e.content).split("\n")) for e in (before, here, end))
    if old - new:
        return None
    lines, more = decoded(end.content).split("\n"), new - old
    if more - left:
        return None
    for line in more.elements():
        lines.remove(line)
    return replace(after, content=end.content) if lines == decoded(after.content).split("\n") else None

"""What holds of all recorded ends: of the answers, and of the files that are changed or made.

Commands that break it on a start are as likely wrong as right there: they were written for ends that have it. A skill whose end
still has it, and which says nothing that they do not say, parts from them on something that no recording speaks of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.interface import Entry, ReplayRecord, Returned, Snapshot
from verifiers.context import Case, Context
from verifiers.expectation.answers import answer_at
from verifiers.interface import Args
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.invariants.facts import Start, learn
from verifiers.worlds.packed import contents
from verifiers.worlds.records import decoded
from verifiers.worlds.trials import Beyond

ANSWER = "the answer"
"""Stands for a file: no path has a blank there and no ending."""
NOTHING = Start(Snapshot(), {})


@dataclass(frozen=True, slots=True)
class End:
    """What there is after a run."""

    start: Snapshot
    tree: Snapshot
    answer: str
    args: Args

    @property
    def changed(self) -> dict[str, Entry]:
        return {p: e for p, e in self.tree.items() if self.start.get(p) != e and e.type == "file"}

    @property
    def said(self) -> Start:
        """The answer and the changed files, as if they were a start: arguments say what a file is to the task."""
        text = self.answer.strip().encode("utf-8", "surrogateescape")
        return Start(Snapshot(self.changed | ({ANSWER: Entry("file", 0o644, text + b"\n")} if text else {})), self.args)

    def says_no_more(self, other: End) -> bool:
        """Whether the same files are changed, and each line of them and of the answer stands in the other end."""
        ours, theirs = self.changed, other.changed
        if ours.keys() != theirs.keys():
            return False
        pairs = [
            (self.answer.strip(), other.answer.strip()),
            *((decoded(ours[p].content), decoded(theirs[p].content)) for p in ours),
        ]
        return all(set(a.split("\n")) <= {*b.split("\n"), ""} for a, b in pairs)

    @property
    def copied(self) -> bool:
        """Whether each changed file holds what a file does that was there, or a member of an archive."""
        there = {held for e in self.start.values() if e.type == "file" for held in (e.content, *contents(e.content))}
        return all(e.content in there for e in self.changed.values())


def unlike_the_recorded(gs: Sequence[Grammar], context: Context, case: Case, record: ReplayRecord) -> Beyond | None:
    """What the commands' end breaks and the skill's end keeps, of what always held; None where there is no such thing, or the
    skill's end is another one in more than that: who removes a file keeps nothing in order."""
    x, path = case.expectation, context.judge.answer_path
    if not isinstance(record.outcome, Returned):
        return None
    answer = answer_at(record.outcome.value, path) or "" if path is not None else x.answer
    skill, commands = End(case.base, record.post, answer, case.args), End(case.base, x.tree, x.answer, case.args)
    if not skill.says_no_more(commands):
        return None
    recorded = [End(g.base, g.expectation.tree, g.expectation.answer, g.args) for g in gs]
    if not commands.copied and all(e.copied for e in (*recorded, skill)):
        return Beyond("end:copied", "after a run each changed file holds what one does that was there", always=True)
    facts = learn([e.said for e in recorded])
    broken = facts.broken(commands.said, NOTHING)
    if not broken or facts.broken(skill.said, NOTHING):
        return None
    fact = max(broken, key=lambda f: f.count)
    return Beyond(f"end:{fact.kind.name}", f"after a run {fact.sentence}", always=True)

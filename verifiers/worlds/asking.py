"""Questions: a case beyond the evidence on which commands and skill part, in words that let a person decide. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.interface import ROOT, ReplayRecord, Snapshot
from verifiers.context import Case
from verifiers.expectation.answers import answer_at, failure
from verifiers.expectation.equivalence import durable_effects, show
from verifiers.interface import Behaviour, Decision, GeneratedCase, Question
from verifiers.worlds.trials import Beyond

MOST_LINES = 6


def question(case: Case, record: ReplayRecord, beyond: Beyond, answer_path: str | None) -> Question:
    """Asks what is right on a case."""
    tree = Snapshot({p: e for p, e in record.post.items() if p != ROOT})
    why = failure(record.outcome) or ""
    value = getattr(record.outcome, "value", None)
    text = answer_at(value, answer_path) if answer_path is not None else None
    x = case.expectation
    wanted = Snapshot({p: e for p, e in x.tree.items() if p != ROOT})
    printed = x.answer if answer_path is not None else None
    ours, theirs = _changes(case.base, tree), _changes(case.base, wanted)
    skill = Behaviour(tree, text, why, _parting_first(ours, theirs))
    commands = Behaviour(wanted, printed, "", _parting_first(theirs, ours))
    did, asked = _told(skill, commands), _told(commands, skill)
    # An edit or a commit had no commands: what it let stand is what it says.
    source = "As it was recorded" if case.evidence is not None and not case.evidence.by_commands else "The recorded commands"
    parted = f"{source}: {asked}. The skill: {did}. Which is right?"
    alike = (commands.tree, commands.answer, commands.failure) == (skill.tree, skill.answer, skill.failure)
    told = f"The recorded commands and the skill alike: {did}. Is that wanted?" if alike else parted
    message = f"{_opening(beyond)} {told}"
    changed = len(durable_effects(wanted, tree))
    return Question(beyond.name, message, GeneratedCase(case.task_id, case.base, case.args), commands, skill, changed)


def _opening(beyond: Beyond) -> str:
    return beyond.told or f"In every recording {beyond.sentence}; here that is not so."


def asks_about(asked: Question, beyond: Beyond) -> bool:
    """Whether a question is about a cause, or says the same of another one."""
    return asked.invariant == beyond.name or asked.message.startswith(_opening(beyond))


HELD = "held:"
"""Before the name of a variation: who answers an open question says nothing of what is held against a skill."""


def lifted(decisions: Sequence[Decision]) -> frozenset[str]:
    """The variations of which somebody said that the skill is right where they make a start, or that there will be none."""
    said = {d.question.invariant for d in decisions if d.says in ("skill", "invalid")}
    return frozenset(name.removeprefix(HELD) for name in said if name.startswith(HELD))


def answered(decisions: Sequence[Decision]) -> frozenset[str]:
    """The causes about which somebody has decided: they are not asked about again."""
    return frozenset(d.question.invariant for d in decisions)


def _parting_first(lines: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The lines in which the two sides differ before those that both have; no more than a person reads."""
    out = sorted(lines, key=lambda line: line in others)
    return (*out[:MOST_LINES], f"{len(out) - MOST_LINES} more") if len(out) > MOST_LINES else tuple(out)


def _told(side: Behaviour, other: Behaviour) -> str:
    """What one side did in one line: what parts it from the other comes first."""
    failed, said = ([f"reports failure: {s.failure[:200]}"] if s.failure else [] for s in (side, other))
    answers, others = ([f"answers {s.answer.strip()[:200]!r}"] if s.answer is not None else [] for s in (side, other))
    lines = sorted([*failed, *side.diff, *answers], key=lambda line: line in {*said, *other.diff, *others})
    first, *more = lines or ["changes nothing"]
    return first + (f" and {len(more)} more" if more else "")


def _changes(base: Snapshot, tree: Snapshot) -> tuple[str, ...]:
    return tuple(_line(base, tree, path) for path in sorted({e.path for e in durable_effects(base, tree)}))


def _line(base: Snapshot, tree: Snapshot, path: str) -> str:
    before, after = base.get(path), tree.get(path)
    if before is None and after is not None:
        return f"creates {path} ({show(after)})"
    if after is None:
        return f"removes {path}"
    return f"changes {path} ({show(before)} becomes {show(after)})" if before is not None else f"changes {path}"

"""The commands of a trace that do its task, without those that only look around.

Agents look before they act, each time another way: side by side the same task then has another shape in every trace, and nothing
could be read off. Each command is a process of its own, so one that changes neither the tree nor the directory may be left out,
as long as what is left does the same. One that had nothing left to do (``mkdir -p`` of a directory that is there) does not only
look around: it does something where there is nothing at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import ReplayRecord, Snapshot
from verifiers.context import Case, Context
from verifiers.expectation.equivalence import differences, durable_effects
from verifiers.expectation.oracle import expect, shell_request

EMPTY = Snapshot({})


def essential(context: Context, cases: Sequence[Case]) -> list[Case]:
    """The cases with only the commands that matter; one as it is where fewer commands do anything else. What changes something in
    one trace (``chmod`` of a new file, ``sort -o`` of what is in order already) matters in all."""
    steps = [case.evidence.commands if case.evidence is not None else () for case in cases]
    changing = [_changing(context, case, commands) for case, commands in zip(cases, steps, strict=True)]
    forms = {_form(commands[i]) for commands, found in zip(steps, changing, strict=True) for i in found}
    out = []
    for case, commands, found in zip(cases, steps, changing, strict=True):
        answering = {len(commands) - 1} if _answers(context) else set[int]()
        out.append(_fewer(context, case, found | answering | {i for i, c in enumerate(commands) if _form(c) in forms}))
    return out


def _form(command: str) -> tuple[str, ...]:
    """A command's program with what it is told to do: its options, where it writes by a sign, and a first word like ``add``."""
    words = command.split()
    return (
        *words[:1],
        *(w for w in words[1:2] if w.isalpha()),
        *(w for w in words[1:] if w.startswith("-")),
        ">" * (">" in command),
    )


def _changing(context: Context, case: Case, commands: Sequence[str]) -> set[int]:
    """Indices of the commands that change something in one trace, or would where nothing is there."""
    every = set(range(len(commands)))
    if len(commands) < 2 or case.expectation.volatile:
        return every
    prefixes = context.traces.map(shell_request(case.base, commands[: i + 1]) for i in range(len(commands)))
    kept = {i for i in every if _matters(case, prefixes, i)}
    looks = sorted(every - kept)
    alone = context.traces.map(shell_request(EMPTY, commands[i : i + 1]) for i in looks)
    return kept | {i for i, record in zip(looks, alone, strict=True) if durable_effects(EMPTY, record.post)}


def _answers(context: Context) -> bool:
    return context.replayed.read_only or context.judge.answer_path is not None


def _fewer(context: Context, case: Case, kept: set[int]) -> Case:
    evidence = case.evidence
    if evidence is None or not kept or len(kept) == len(evidence.commands):
        return case
    fewer = tuple(evidence.commands[i] for i in sorted(kept))
    x, why = expect(evidence, context.traces.map([shell_request(case.base, fewer)]))
    answers = _answers(context) and case.expectation.answer_known
    same = not differences(case.expectation.tree, x.tree) and (not answers or x.answer == case.expectation.answer)
    if why or not same or any(x.failed):
        return case
    x = replace(x, answer_ordered=case.expectation.answer_ordered, answer_known=case.expectation.answer_known)
    return replace(case, expectation=x, evidence=replace(evidence, commands=fewer))


def _matters(case: Case, prefixes: Sequence[ReplayRecord], i: int) -> bool:
    """Whether a command changes the tree, or where the next one starts."""
    before = prefixes[i - 1].post if i else case.base
    last = prefixes[-1].steps
    moves = i + 1 < len(last) and last[i + 1].cwd != last[i].cwd
    return moves or bool(durable_effects(before, prefixes[i].post))

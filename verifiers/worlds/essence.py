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


def essential(context: Context, case: Case) -> Case:
    """The case with only the commands that matter; as it is where fewer commands do anything else."""
    evidence = case.evidence
    if evidence is None or len(evidence.commands) < 2 or case.expectation.volatile:
        return case
    commands = evidence.commands
    prefixes = context.traces.map(shell_request(case.base, commands[: i + 1]) for i in range(len(commands)))
    answers = context.replayed.read_only or context.judge.answer_path is not None
    kept = {i for i in range(len(commands)) if _matters(case, prefixes, i) or (answers and i == len(commands) - 1)}
    looks = [i for i in range(len(commands)) if i not in kept]
    alone = context.traces.map(shell_request(EMPTY, commands[i : i + 1]) for i in looks)
    kept |= {i for i, record in zip(looks, alone, strict=True) if durable_effects(EMPTY, record.post)}
    if not kept or len(kept) == len(commands):
        return case
    fewer = tuple(commands[i] for i in sorted(kept))
    x, why = expect(evidence, context.traces.map([shell_request(case.base, fewer)]))
    same = not differences(case.expectation.tree, x.tree) and (not answers or x.answer == case.expectation.answer)
    if why or not same or any(x.failed):
        return case
    x = replace(x, answer_ordered=case.expectation.answer_ordered)
    return replace(case, expectation=x, evidence=replace(evidence, commands=fewer))


def _matters(case: Case, prefixes: Sequence[ReplayRecord], i: int) -> bool:
    """Whether a command changes the tree, or where the next one starts."""
    before = prefixes[i - 1].post if i else case.base
    last = prefixes[-1].steps
    moves = i + 1 < len(last) and last[i + 1].cwd != last[i].cwd
    return moves or bool(durable_effects(before, prefixes[i].post))

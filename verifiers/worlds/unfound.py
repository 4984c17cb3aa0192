"""Success claimed although what an argument names stands in no file: a host of a list, a key, an account."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from sandbox.interface import JsonValue, ReplayRecord
from verifiers.context import Case, Context
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import durable_effects
from verifiers.expectation.oracle import shell_request
from verifiers.worlds.absent import fails_newly, working_steps
from verifiers.worlds.asking import answered, question
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.harm import untouched
from verifiers.worlds.hostile import ABSENT, Hostile
from verifiers.worlds.judged import Judged, hostile_finding
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import all_text
from verifiers.worlds.trials import Beyond

UNFOUND = Beyond("named-in-a-file", "what the arguments name stands in some file")
TRACES = 3


def unfound(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """A skill that brings about nothing there has not done what it was asked to. Where the commands of all recordings fail,
    success is a lie; where some say nothing either, or an empty file is made, only a person knows whether that is wanted. So it
    is where the task takes the name out of the files: what it is to bring about holds already."""
    trials = [(g, h) for g in gs[:TRACES] for h in _names(g, gs)]
    theirs = context.traces.map(shell_request(g.base, g.template.fill(h.args)) for g, h in trials)
    idle = [(g, h, t) for (g, h), t in zip(trials, theirs, strict=True) if _is_idle(g, t)]
    working = {g.task_id: working_steps(context, g) for g, *_ in idle}
    silent = {h.parameter for g, h, t in idle if not fails_newly(g.expectation, t, working[g.task_id])}
    ours = context.run("unfound name", (context.request(g.base, h.args) for g, h, _ in idle))
    out.runs += len(trials) + len(ours)
    for (g, h, their), our in zip(idle, ours, strict=True):
        out.judged += 1
        if failure(our.outcome) is not None or not _is_idle(g, our):
            continue
        if _stays(g, h.parameter) and h.parameter not in silent and untouched(g.base, our):
            message = f"claims success although no file has what {h.parameter} says; the trace's commands fail there"
            out.findings.append(hostile_finding(context, g, h, message))
            return
        if UNFOUND.name not in answered(context.decisions) | {q.invariant for q in out.questions}:
            left = replace(g.expectation, tree=their.post, answer="")
            case = Case(f"{h.parameter} = {h.payload!r} (trace {g.task_id})", h.args, left, g.task_id)
            out.questions.append(question(case, our, UNFOUND, context.judge.answer_path))


def _stays(g: Grammar, p: str) -> bool:
    """Whether a file that the task changes says the value still."""
    changed = (e.after for e in durable_effects(g.base, g.expectation.tree) if e.after is not None)
    return any(_stands(as_text(g.args[p]), e.content.decode("utf-8", "replace")) for e in changed)


def _is_idle(g: Grammar, record: ReplayRecord) -> bool:
    """Whether a run brings about nothing, or nothing but empty files."""
    return all(
        e.after is not None and e.after.type == "file" and not e.after.content for e in durable_effects(g.base, record.post)
    )


def _names(g: Grammar, gs: Sequence[Grammar]) -> list[Hostile]:
    """Calls that name something which no file has, where each recorded call names what is there. A call that is already done
    looks otherwise: then there is what it names, or what else it says."""
    out = []
    for p in sorted(g.template.parameters):
        if g.expectation.effects and all(p in other.args and _is_named(other, p) for other in gs):
            value, text = g.args[p], all_text(g.base)
            absent: JsonValue = f"{value}{ABSENT}"
            if isinstance(value, int) and not isinstance(value, bool):
                absent = next(n for n in count(value + 1) if str(n) not in text)
            out.append(Hostile(p, {**g.args, p: absent}, str(absent)))
    return out


def _is_named(g: Grammar, p: str) -> bool:
    value, before, after = as_text(g.args[p]), all_text(g.base), all_text(g.expectation.tree)
    if type(g.args[p]) not in (str, int) or not _stands(value, before) or any(_stands(value, path) for path in g.base):
        return False
    others = [as_text(v) for name, v in g.args.items() if name != p]
    return _stands(value, after) or any(_stands(v, after) and not _stands(v, before) for v in others)


def _stands(value: str, text: str) -> bool:
    return bool(value.strip()) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None

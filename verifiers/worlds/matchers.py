"""Values taken for more than text: a pattern or a part of a query, seen by what they match though they name nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import ReplayRecord
from verifiers.context import Case, Context
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import differences, durable_effects
from verifiers.expectation.oracle import Expectation, expect, shell_request
from verifiers.worlds.asking import answered, question
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.hostile import Hostile, patterns
from verifiers.worlds.indulgence import right_but_for_quotes
from verifiers.worlds.judged import Judged, hostile_finding
from verifiers.worlds.noticed import alike, seen
from verifiers.worlds.template import as_pattern, as_text
from verifiers.worlds.tokens import all_text, tokens
from verifiers.worlds.trials import Beyond

PATTERN = Beyond("said-as-it-stands", "what an argument says stands there letter by letter")
PLAIN_END = "."
"""A sign that names, hosts and versions have, and that matches any letter where it is taken for a pattern."""


def matched(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """A value that would match as a pattern, and names nothing, does what any value that names nothing does."""
    trials = [(g, plain, odd) for p, g in _telling(gs).items() for plain, odd in patterns(g) if odd.parameter == p]
    calls = {_call(h): (g, h) for g, *pair in trials for h in pair}
    theirs = context.traces.map(shell_request(g.base, g.template.fill(h.args)) for g, h in calls.values())
    ours = context.run("pattern as value", (context.request(g.base, h.args) for g, h in calls.values()))
    out.runs += len(calls) * 2
    done = dict(zip(calls, zip(theirs, ours, strict=True), strict=True))
    for g, plain, odd in trials:
        instead = {odd.payload: plain.payload, json.dumps(odd.payload)[1:-1]: plain.payload}
        whole = odd.payload in all_text(g.base)  # as the beginning of what stands there
        their_plain, our_plain = done[_call(plain)]
        their_odd, our_odd = done[_call(odd)]
        as_text_too = odd.code or alike(_by_shell(g, their_plain), _by_shell(g, their_odd), instead, whole=whole)
        if failure(our_odd.outcome) is not None:
            continue
        if not as_text_too:
            _ask_whether_wanted(context, g, odd, their_odd, our_odd, out)
            continue
        out.judged += 1
        path = context.judge.answer_path
        plainly, oddly = (seen(g.base, r, path) for r in (our_plain, our_odd))
        if failure(our_plain.outcome) is None and alike(plainly, oddly, instead, whole=whole):
            continue
        if not odd.code and _as_commands_do(context, g, their_odd, our_odd):
            continue  # the plain word is none to it: a number, a date
        brought = _brought_out(g, oddly) - _brought_out(g, plainly) - set(tokens(odd.payload))
        if odd.code and not (brought if oddly.effects else oddly.answer.strip()):
            continue  # a text with quotes in it may be written otherwise; but nothing of the user's may come of it
        message = f"takes the value of {odd.parameter} for more than text: {odd.payload!r} is no {plain.payload!r} to it"
        out.findings.append(hostile_finding(context, g, odd, message))
        return


def _brought_out(g: Grammar, x: Expectation) -> set[str]:
    """Words of the start that stand in what a run made."""
    made = " ".join(e.after.content.decode("utf-8", "replace") for e in x.effects if e.after is not None)
    return set(tokens(made)) & set(tokens(all_text(g.base)))


def _telling(gs: Sequence[Grammar]) -> dict[str, Grammar]:
    """Parameter -> the trace that says most of it: one with a value of signs that mean something in patterns, so that whoever
    wrote its commands had to think of them."""
    found: dict[str, Grammar] = {}
    for g in gs:
        for p in g.template.parameters:
            special = as_pattern(as_text(g.args[p])) != as_text(g.args[p])
            if p not in found or (special and as_pattern(as_text(found[p].args[p])) == as_text(found[p].args[p])):
                found[p] = g
    return dict(sorted(found.items()))


def _as_commands_do(context: Context, g: Grammar, theirs: ReplayRecord, ours: ReplayRecord) -> bool:
    """Whether the skill does what the commands do, which take the value for text."""
    evidence = next(c.evidence for c in context.cases if c.task_id == g.task_id)
    found, why = expect(replace(evidence, base=g.base), [theirs]) if evidence is not None else (g.expectation, "no recording")
    x = replace(found, answer_known=g.expectation.answer_known)
    return not why and (context.judge.wrong(ours, x) is None or right_but_for_quotes(context, g, x, ours))


def _call(h: Hostile) -> str:
    return repr(sorted(h.args.items()))


def _ask_whether_wanted(
    context: Context, g: Grammar, odd: Hostile, theirs: ReplayRecord, ours: ReplayRecord, out: Judged
) -> None:
    """Commands and skill alike do something for a value that is nowhere, as if it were a pattern: only a person can want that."""
    x = replace(g.expectation, tree=theirs.post)
    plainly = odd.payload.endswith(PLAIN_END) and odd.payload not in all_text(g.base)
    alike_done = durable_effects(g.base, ours.post) and not differences(theirs.post, ours.post)
    if plainly and alike_done and PATTERN.name not in answered(context.decisions) | {q.invariant for q in out.questions}:
        case = Case(f"{odd.parameter} = {odd.payload!r} (trace {g.task_id})", odd.args, x, g.task_id)
        out.questions.append(question(case, ours, PATTERN, context.judge.answer_path))


def _by_shell(g: Grammar, record: ReplayRecord) -> Expectation:
    """What the commands did and reported, and what the last one said: those before it look around, often with times."""
    said = "\n".join(
        [*(str(s.exit_code) for s in record.steps), *(s.stdout.decode("utf-8", "replace") for s in record.steps[-1:])]
    )
    return Expectation(g.base, record.post, frozenset(), said, True, (0,), (True,))

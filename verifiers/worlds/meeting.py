"""Arguments that meet: two name the same place, or one lies in the other. Whatever is right there, nothing may be lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from sandbox.interface import Snapshot
from verifiers.context import Case, Context, Wrong
from verifiers.expectation.equivalence import durable_effects
from verifiers.expectation.oracle import shell_request
from verifiers.interface import Args
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.harm import lost
from verifiers.worlds.judged import CHECK_ID, Judged

MOST_MEETINGS = 6
ENDLESS = 100
"""So many paths more than the commands make come of no workspace as small as a recorded one."""


def meeting(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """Adds to ``out`` bytes that a run loses and the commands keep where arguments meet, and runs that feed on themselves."""
    trials = [(g, args) for g in gs[:1] for args in _meetings(g)][:MOST_MEETINGS]
    theirs = context.traces.map(shell_request(g.base, g.template.fill(args)) for g, args in trials)
    ours = context.run("arguments that meet", (context.request(g.base, args) for g, args in trials))
    out.runs += len(trials) * 2
    for (g, args), their, our in zip(trials, theirs, ours, strict=True):
        out.judged += 1
        expectation = replace(g.expectation, tree=their.post)
        case = Case(f"arguments that meet (trace {g.task_id})", args, expectation, g.task_id)
        wrong = lost(case, our) or _endless(g.base, their.post, our.post)
        if wrong is not None:
            message = f"where arguments meet, {wrong.message}"
            out.findings.append(context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}"))
            return


def _meetings(g: Grammar) -> list[Args]:
    """Calls in which one path is another one, lies in it, or is the workspace itself."""
    known = {*g.base, *g.expectation.tree}
    places = {p: v.rstrip("/") for p, v in sorted(g.args.items()) if isinstance(v, str) and v.strip("/") in known}
    pairs = [(p, places[q]) for p, q in permutations(places, 2)]
    values = [*pairs, *((p, f"{value}/inner") for p, value in pairs), *((p, ".") for p, _ in pairs)]
    return [{**g.args, p: value} for p, value in dict.fromkeys(values)]


def _endless(base: Snapshot, theirs: Snapshot, ours: Snapshot) -> Wrong | None:
    made = len(durable_effects(base, ours))
    if made <= len(durable_effects(base, theirs)) + ENDLESS:
        return None
    return Wrong(
        "effect", f"it makes {made} changes, as if it worked on what it makes", "a run that ends by itself", f"{made} changes"
    )

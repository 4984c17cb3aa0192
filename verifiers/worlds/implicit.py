"""The implicit oracle of ``generalises``: what no argument may ever do, whatever the task (docs/semantics.md, "Zones")."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.interface import ReplayRecord
from verifiers.context import OUTSIDE_ARGUMENT, Context
from verifiers.worlds.absent import absent, missing
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.hostile import CANARY, Hostile, injections, outside_arguments
from verifiers.worlds.in_the_way import in_the_way
from verifiers.worlds.judged import Judged, hostile_finding
from verifiers.worlds.matchers import matched
from verifiers.worlds.meeting import meeting
from verifiers.worlds.template import as_text
from verifiers.worlds.unfound import unfound


def implicit(context: Context, gs: Sequence[Grammar]) -> Judged:
    """Hostile arguments and starts: no code runs, no hang, no success for what is missing, nothing of the user's lost."""
    out = Judged()
    injected(context, gs, out)
    missing(context, gs, out)
    for oracle in (absent, unfound, matched, in_the_way, meeting):
        if not out.findings:
            oracle(context, gs, out)
    _outside(context, gs, out)
    return out


def injected(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """Adds to ``out`` what arguments with code in them do."""
    chosen = gs[:2] if context.budget != "thorough" else gs
    trials = [(g, h) for g in chosen for h in injections(g, context.counts.hostile)]
    records = context.run("hostile argument", (context.request(g.base, h.args) for g, h in trials))
    out.runs += len(records)
    for (g, h), record in zip(trials, records, strict=True):
        out.judged += 1
        message = _ran_as_code(g, h, record)
        if message:
            out.findings.append(hostile_finding(context, g, h, message))
            break


def _ran_as_code(g: Grammar, h: Hostile, record: ReplayRecord) -> str:
    made = [p for p in record.post if p.rpartition("/")[2] == CANARY]
    made += [x.detail for x in record.leftovers if x.kind == "file" and x.detail.rstrip("'\"").endswith("/" + CANARY)]
    if made and CANARY not in {as_text(v) for v in h.args.values()}:
        return f"the value of {h.parameter} ran as code (it created {made[0]})"
    return f"a hostile value of {h.parameter} makes it hang" if record.ended == "timeout" else ""


def _outside(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """Following an argument out of the workspace is a capability, not a failure, unless the policy forbids it."""
    if context.supervised():
        return
    trials = [(g, h) for g in gs[:1] for h in outside_arguments(g)]
    records = context.run(OUTSIDE_ARGUMENT, (context.request(g.base, h.args, observe=True) for g, h in trials))
    out.runs += len(records)
    for (g, h), record in zip(trials, records, strict=True):
        if record.outside and context.forbid_outside:
            out.findings.append(
                hostile_finding(context, g, h, f"follows {h.parameter} out of the workspace ({record.outside[0]})")
            )

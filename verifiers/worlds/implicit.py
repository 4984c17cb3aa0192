"""The implicit oracle of ``generalises``: what no argument may ever do, whatever the task (SEMANTICS §6, 3)."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.interface import ReplayRecord
from verifiers.context import OUTSIDE_ARGUMENT, Case, Context, Wrong
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import durable_effects
from verifiers.expectation.oracle import Expectation, shell_request
from verifiers.interface import Finding
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.hostile import CANARY, Hostile, injections, missing_inputs, outside_arguments, removed_by_the_task
from verifiers.worlds.judged import CHECK_ID, Judged
from verifiers.worlds.template import as_text


def implicit(context: Context, gs: Sequence[Grammar]) -> Judged:
    """Hostile argument values: no code runs, no hang, no success for a named input that is missing."""
    out = Judged()
    injected(context, gs, out)
    _missing(context, gs, out)
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
            out.findings.append(_hostile_finding(context, g, h, message))
            break


def _ran_as_code(g: Grammar, h: Hostile, record: ReplayRecord) -> str:
    made = [p for p in record.post if p.rpartition("/")[2] == CANARY]
    made += [x.detail for x in record.leftovers if x.kind == "file" and x.detail.rstrip("'\"").endswith("/" + CANARY)]
    if made and CANARY not in {as_text(v) for v in h.args.values()}:
        return f"the value of {h.parameter} ran as code (it created {made[0]})"
    return f"a hostile value of {h.parameter} makes it hang" if record.ended == "timeout" else ""


def _missing(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    removed = removed_by_the_task(gs)
    trials = [(g, h) for g in gs for h in missing_inputs(g) if h.parameter not in removed]
    oracle = context.traces.map(shell_request(g.base, g.template.fill(h.args)) for g, h in trials)
    working = {g.task_id: _working_steps(context, g) for g, _ in trials}
    failing = [(g, h) for (g, h), t in zip(trials, oracle, strict=True) if _fails_newly(g.expectation, t, working[g.task_id])]
    records = context.run("missing input", (context.request(g.base, h.args) for g, h in failing))
    out.runs += len(trials) + len(records)
    for (g, h), record in zip(failing, records, strict=True):
        out.judged += 1
        if failure(record.outcome) is None:
            out.findings.append(
                _hostile_finding(
                    context, g, h, f"claims success although {h.parameter} names nothing; the trace's commands fail there"
                )
            )
            return


def _working_steps(context: Context, g: Grammar) -> frozenset[int]:
    """Indices of the commands that do the task: those with an effect of their own; for a read-only one, the last."""
    commands = g.template.commands
    if context.replayed.read_only:
        return frozenset({len(commands) - 1})
    prefixes = context.traces.map(shell_request(g.base, commands[: i + 1]) for i in range(len(commands)))
    trees = [g.base, *(r.post for r in prefixes)]
    return frozenset(i for i in range(len(commands)) if durable_effects(trees[i], trees[i + 1]))


def _fails_newly(x: Expectation, record: ReplayRecord, working: frozenset[int]) -> bool:
    """A pipeline ends well although its first program found nothing: then what it says on stderr tells."""
    fails = [s.exit_code != 0 for s in record.steps]
    complains = [bool(s.stderr) for s in record.steps]
    before = zip(fails, complains, x.failed, x.quiet, strict=False)
    return any(
        i in working and ((fail and not failed) or (complaint and quiet))
        for i, (fail, complaint, failed, quiet) in enumerate(before)
    )


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
                _hostile_finding(context, g, h, f"follows {h.parameter} out of the workspace ({record.outside[0]})")
            )


def _hostile_finding(context: Context, g: Grammar, h: Hostile, message: str) -> Finding:
    case = Case(f"hostile {h.parameter} (trace {g.task_id})", h.args, g.expectation, g.task_id)
    return context.finding(
        CHECK_ID, message, case, Wrong("effect", message, "the value taken as text", repr(h.payload)), f"--seed {context.seed}"
    )

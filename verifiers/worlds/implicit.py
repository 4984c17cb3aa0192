"""The implicit oracle of ``generalises``: what no argument may ever do, whatever the task (SEMANTICS §6, 3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import Entry, ReplayRecord
from verifiers.context import OUTSIDE_ARGUMENT, Case, Context, Wrong
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import durable_effects
from verifiers.expectation.oracle import Expectation, shell_request
from verifiers.interface import Finding
from verifiers.worlds.grammar import Grammar, in_repository
from verifiers.worlds.hostile import CANARY, Hostile, injections, missing_inputs, outside_arguments, patterns, removed_by_the_task
from verifiers.worlds.judged import CHECK_ID, Judged
from verifiers.worlds.noticed import alike, seen
from verifiers.worlds.template import as_text

MOST_ABSENT = 10
USERS = b"kept by somebody\n"
BACKUPS = (".bak", ".orig", ".old", ".save", ".backup", "~")
"""Endings under which people and programs keep what was there before."""


def implicit(context: Context, gs: Sequence[Grammar]) -> Judged:
    """Hostile argument values: no code runs, no hang, no success for a named input that is missing."""
    out = Judged()
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
    _missing(context, gs, out)
    for more in (_absent, _patterns, _backups):
        if not out.findings:
            more(context, chosen, out)
    _outside(context, gs, out)
    return out


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


def _absent(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """A file that the commands cannot do without is not there: success is a lie, unless the skill makes the file itself."""
    trials = [(g, path) for g in gs for path in _needed(g)]
    bases = [g.base.replace({path: None}) for g, path in trials]
    oracle = context.traces.map(shell_request(b, g.template.fill(g.args)) for (g, _), b in zip(trials, bases, strict=True))
    working = {g.task_id: _working_steps(context, g) for g in gs}
    failing = [
        (g, path, base)
        for (g, path), base, t in zip(trials, bases, oracle, strict=True)
        if _fails_newly(g.expectation, t, working[g.task_id], both=True)
    ]
    records = context.run("absent file", (context.request(base, g.args) for g, _, base in failing))
    out.runs += len(trials) + len(records)
    for (g, path, base), record in zip(failing, records, strict=True):
        out.judged += 1
        if failure(record.outcome) is None and path not in record.post:
            message = f"claims success although {path} is not there; the trace's commands fail there"
            case = Case(f"without {path} (trace {g.task_id})", g.args, replace(g.expectation, base=base), g.task_id)
            wrong = Wrong("effect", message, "a reported failure", "success")
            out.findings.append(context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}"))
            return


def _patterns(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """A value that would match as a pattern, and names nothing, does what any value that names nothing does."""
    trials = [(g, plain, odd) for g in gs[:1] for plain, odd in patterns(g)]
    calls = list({repr(sorted(h.args.items())): (g, h) for g, *pair in trials for h in pair}.values())
    theirs = context.traces.map(shell_request(g.base, g.template.fill(h.args)) for g, h in calls)
    ours = context.run("pattern as value", (context.request(g.base, h.args) for g, h in calls))
    out.runs += len(calls) * 2
    done = {(h.parameter, h.payload): pair for (_, h), pair in zip(calls, zip(theirs, ours, strict=True), strict=True)}
    for g, plain, odd in trials:
        instead = {odd.payload: plain.payload, json.dumps(odd.payload)[1:-1]: plain.payload}
        their_plain, our_plain = done[plain.parameter, plain.payload]
        their_odd, our_odd = done[odd.parameter, odd.payload]
        as_text_too = odd.code or alike(_by_shell(g, their_plain), _by_shell(g, their_odd), instead)
        if not as_text_too or failure(our_odd.outcome) is not None:
            continue
        out.judged += 1
        path = context.judge.answer_path
        plainly, oddly = (seen(g.base, r, path) for r in (our_plain, our_odd))
        if failure(our_plain.outcome) is None and alike(plainly, oddly, instead):
            continue
        if odd.code and (oddly.effects or not oddly.answer.strip()):
            continue  # what a program makes of a text with quotes in it may look otherwise: an answer may not come of it
        message = f"takes the value of {odd.parameter} for more than text: {odd.payload!r} is no {plain.payload!r} to it"
        out.findings.append(_hostile_finding(context, g, odd, message))
        return


def _by_shell(g: Grammar, record: ReplayRecord) -> Expectation:
    """What the commands did, said and reported."""
    said = "\n".join(f"{s.exit_code}\n{s.stdout.decode('utf-8', 'replace')}" for s in record.steps)
    return Expectation(g.base, record.post, frozenset(), said, True, (0,), (True,))


def _backups(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """A backup that a run makes and takes away again may be somebody's: who has such a file keeps it."""
    cases = {c.task_id: c for c in context.cases}
    trials = [(g, p) for g in gs[:1] for p in _passing(context.first[cases[g.task_id].label], g) if _is_backup(p, g)]
    bases = [g.base.replace({path: Entry("file", content=USERS)}) for g, path in trials]
    theirs = context.traces.map(shell_request(b, g.template.fill(g.args)) for (g, _), b in zip(trials, bases, strict=True))
    ours = context.run("backup in the way", (context.request(b, g.args) for (g, _), b in zip(trials, bases, strict=True)))
    out.runs += len(trials) * 2
    for (g, path), base, their, our in zip(trials, bases, theirs, ours, strict=True):
        kept = their.post.get(path) == base[path]
        if kept and our.post.get(path) != base[path]:
            message = f"a file of the user that is called {path} is lost: the skill takes the name for its own"
            case = Case(f"with {path} (trace {g.task_id})", g.args, replace(g.expectation, base=base), g.task_id)
            wrong = Wrong("effect", message, "the file as it was", "another one, or none")
            out.findings.append(context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}"))
            return


def _passing(first: ReplayRecord, g: Grammar) -> list[str]:
    """Paths that a run makes and that are there neither before nor after."""
    root = f"{first.probe.get('cwd') or '/ws'}/"
    called = {p.removeprefix(root) for c in first.calls if c.changes_tree for p in (c.path, c.path2) if p.startswith(root)}
    return sorted(p for p in called if p not in g.base and p not in first.post)


def _is_backup(path: str, g: Grammar) -> bool:
    """Whether the name is that of a file of the start with such an ending, or with that instead of its own."""
    stem = next((path.removesuffix(e) for e in BACKUPS if path.endswith(e)), "")
    return bool(stem) and any(stem in (p, p.rpartition(".")[0]) for p in g.base)


def _needed(g: Grammar) -> list[str]:
    """Files that the task may need: not those that it is there to remove."""
    kept = {e.content for e in g.expectation.tree.values()}
    files = [p for p, e in g.base.items() if e.type == "file" and e.content in kept and not in_repository(p, g.base)]
    changed = [p for p, e in g.base.items() if e.type == "file" and p in g.expectation.tree and e.content not in kept]
    return [*changed, *files][:MOST_ABSENT]


def _working_steps(context: Context, g: Grammar) -> frozenset[int]:
    """Indices of the commands that do the task: those with an effect of their own; for a read-only one, the last."""
    commands = g.template.commands
    if context.replayed.read_only:
        return frozenset({len(commands) - 1})
    prefixes = context.traces.map(shell_request(g.base, commands[: i + 1]) for i in range(len(commands)))
    trees = [g.base, *(r.post for r in prefixes)]
    return frozenset(i for i in range(len(commands)) if durable_effects(trees[i], trees[i + 1]))


def _fails_newly(x: Expectation, record: ReplayRecord, working: frozenset[int], *, both: bool = False) -> bool:
    """A pipeline ends well although its first program found nothing: then what it says on stderr tells. ``both``: only a failure
    with a complaint counts, for a test of a command fails silently."""
    fails = [s.exit_code != 0 for s in record.steps]
    complains = [bool(s.stderr) for s in record.steps]
    before = zip(fails, complains, x.failed, x.quiet, strict=False)
    return any(
        i in working and (all if both else any)((fail and not failed, complaint and quiet))
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

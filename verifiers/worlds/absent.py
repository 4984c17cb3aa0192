"""Success claimed though an input is not there, or broken: what an argument names, or a file that the commands need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import Entry, ReplayRecord, Snapshot
from verifiers.context import Case, Context, Wrong
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import durable_effects
from verifiers.expectation.oracle import Expectation, shell_request
from verifiers.worlds.grammar import Grammar, in_repository
from verifiers.worlds.hostile import missing_inputs, need_not_exist
from verifiers.worlds.invariants.facts import Start, is_common, learn
from verifiers.worlds.invariants.json_shape import read
from verifiers.worlds.invariants.kind import is_text
from verifiers.worlds.judged import CHECK_ID, Judged, hostile_finding
from verifiers.worlds.packed import damaged
from verifiers.worlds.records import decoded

MOST_ABSENT, TRACES = 10, 2


def missing(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    free = need_not_exist(gs)
    trials = [(g, h) for g in gs for h in missing_inputs(g) if h.parameter not in free]
    oracle = context.traces.map(shell_request(g.base, g.template.fill(h.args)) for g, h in trials)
    working = {g.task_id: working_steps(context, g) for g, _ in trials}
    failing = [(g, h) for (g, h), t in zip(trials, oracle, strict=True) if fails_newly(g.expectation, t, working[g.task_id])]
    records = context.run("missing input", (context.request(g.base, h.args) for g, h in failing))
    out.runs += len(trials) + len(records)
    for (g, h), record in zip(failing, records, strict=True):
        out.judged += 1
        whole = str(g.args[h.parameter]).strip("/") in g.base
        # What is only a part of a path may be absent from where nothing is to be done.
        path = str(h.args[h.parameter]).strip("/")
        message = ""
        if failure(record.outcome) is None and (whole or durable_effects(g.base, record.post)):
            message = f"claims success although {h.parameter} names nothing; the trace's commands fail there"
        elif failure(record.outcome) is not None and whole and path in record.post:
            # A database that is opened, a file that is opened for appending: the next call takes it for an input.
            message = f"fails because {h.parameter} names nothing, and leaves something of that name"
        if message:
            out.findings.append(hostile_finding(context, g, h, message))
            return


def absent(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """A file that the commands cannot do without is not there, is cut off, or is not what its checksum says: success is a lie,
    unless the skill makes the file itself, or goes by nothing of the broken one."""
    common = learn([Start(g.base, g.args) for g in gs]).common
    gs = gs[:TRACES]
    needed = [(g, path) for g in gs for path in _needed(g, common)]
    trials = [(g, path, entry) for g, path in needed for entry in _broken(g, path)]
    bases = [g.base.replace({path: entry}) for g, path, entry in trials]
    oracle = context.traces.map(shell_request(b, g.template.fill(g.args)) for (g, *_), b in zip(trials, bases, strict=True))
    working = {g.task_id: working_steps(context, g) for g in gs}
    failing = [
        (g, path, base)
        for (g, path, _), base, t in zip(trials, bases, oracle, strict=True)
        if fails_newly(g.expectation, t, working[g.task_id], both=base.get(path) != _damaged(g.base[path]))
        and (path not in base or t.post.get(path) == base[path])
    ]
    records = context.run("absent or broken file", (context.request(base, g.args) for g, _, base in failing))
    out.runs += len(trials) + len(records)
    for (g, path, base), record in zip(failing, records, strict=True):
        out.judged += 1
        state = _passed_over(context, g, path, base, record) if failure(record.outcome) is None else ""
        if state:
            message = f"claims success although {path} {state}; the trace's commands fail there"
            case = Case(f"{path} {state} (trace {g.task_id})", g.args, replace(g.expectation, base=base), g.task_id)
            wrong = Wrong("effect", message, "a reported failure", "success")
            out.findings.append(context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}"))
            return


def _passed_over(context: Context, g: Grammar, path: str, base: Snapshot, record: ReplayRecord) -> str:
    """What is the matter with a file that a successful run cannot have done without; "" where it can."""
    here, recorded = base.get(path), g.base[path]
    if here is None:
        return "" if path in record.post else "is not there"
    if here != _damaged(recorded):
        return "" if record.post.get(path) == here else "is cut off, and writes it anew"
    # What comes out as if nothing were damaged was taken from elsewhere.
    tree = g.expectation.tree
    whole = replace(g.expectation, base=base, tree=tree.replace({path: here}) if tree.get(path) == recorded else tree)
    return "does not match its checksum, and goes by it" if context.judge.wrong(record, whole) is not None else ""


def _broken(g: Grammar, path: str) -> list[Entry | None]:
    """The states of a file in which nobody can work with it."""
    whole, damage = g.base[path], _damaged(g.base[path])
    return [*(e for e in (None, _cut_off(whole)) if _can(g, path, e)), *([damage] if damage != whole else [])]


def _damaged(entry: Entry) -> Entry:
    """An archive that a bad download has changed."""
    return replace(entry, content=damaged(entry.content))


def _cut_off(entry: Entry) -> Entry:
    """A file without its last third: an archive, a database or JSON that is none any more."""
    return replace(entry, content=entry.content[: len(entry.content) * 2 // 3])


def _can(g: Grammar, path: str, entry: Entry | None) -> bool:
    """Only what cannot be read whole shows that it was cut off: lines of text are lines still."""
    content = g.base[path].content
    whole = decoded(content)
    return entry is None or (entry.content != content and (b"\0" in content or not is_text(whole) or read(whole) is not ...))


def _needed(g: Grammar, common: frozenset[str]) -> list[str]:
    """Files that are named, by an argument, by the commands or in another file: not one of many that a pattern finds, not those
    that the task is there to remove, and none that a recording does without."""
    kept = {e.content for e in g.expectation.tree.values()}
    files = [p for p, e in g.base.items() if e.type == "file" and not in_repository(p, g.base)]
    named = [p for p in files if _listed(p, g) or (p not in g.files and is_common(p, g.args, common))]
    changed = [p for p in named if p in g.expectation.tree and g.base[p].content not in kept]
    return [*changed, *(p for p in named if g.base[p].content in kept and p not in changed)][:MOST_ABSENT]


def _listed(path: str, g: Grammar) -> bool:
    """Whether another file has the path on a line of its own."""
    line = path.encode("utf-8", "surrogateescape")
    return any(line in e.content.split(b"\n") for p, e in g.base.items() if p != path and e.type == "file")


def working_steps(context: Context, g: Grammar) -> frozenset[int]:
    """Indices of the commands that do the task: those with an effect of their own; for a read-only one, the last."""
    commands = g.template.commands
    if context.replayed.read_only:
        return frozenset({len(commands) - 1})
    prefixes = context.traces.map(shell_request(g.base, commands[: i + 1]) for i in range(len(commands)))
    trees = [g.base, *(r.post for r in prefixes)]
    return frozenset(i for i in range(len(commands)) if durable_effects(trees[i], trees[i + 1]))


def fails_newly(x: Expectation, record: ReplayRecord, working: frozenset[int], *, both: bool = False) -> bool:
    """A pipeline ends well although its first program found nothing: then what it says on stderr tells. ``both``: only a failure
    with a complaint counts, for a test of a command fails silently."""
    fails = [s.exit_code != 0 for s in record.steps]
    complains = [bool(s.stderr) for s in record.steps]
    before = zip(fails, complains, x.failed, x.quiet, strict=False)
    return any(
        i in working and (all if both else any)((fail and not failed, complaint and quiet))
        for i, (fail, complaint, failed, quiet) in enumerate(before)
    )

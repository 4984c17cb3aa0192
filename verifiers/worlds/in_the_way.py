"""Files of the user's in the way: under a name that a skill takes for its own, or where the commands refuse to put theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import Entry, ReplayRecord
from verifiers.context import Case, Context, Wrong
from verifiers.expectation.oracle import shell_request
from verifiers.worlds.asking import answered, question
from verifiers.worlds.commanded import moved_to
from verifiers.worlds.grammar import Grammar
from verifiers.worlds.judged import CHECK_ID, Judged
from verifiers.worlds.trials import Beyond

USERS = b"kept by somebody\n"
BACKUPS = (".bak", ".orig", ".old", ".save", ".backup", "~")
"""Endings under which people and programs keep what was there before."""
MOST_RESULTS = 2
DERIVED = Beyond("nothing-in-the-way", "no file stands where the result is put")


def in_the_way(context: Context, gs: Sequence[Grammar], out: Judged) -> None:
    """A backup that a run makes and takes away again may be somebody's: who has such a file keeps it. So does who has one where
    the result is to stand, if the commands fail there and leave it, or move nothing onto it in silence. A result named after its
    source (a.gz beside a) is most likely an older one, and a run that was killed leaves the like: who overwrites it is asked
    about."""
    cases = {c.task_id: c for c in context.cases}
    passing = [(g, p, False) for g in gs[:1] for p in _passing(context.first[cases[g.task_id].label], g) if _is_backup(p, g)]
    trials = [*passing, *((g, p, True) for g in gs[:2] for p in _results(g))]
    bases = [g.base.replace({path: Entry("file", content=USERS)}) for g, path, _ in trials]
    requests = [context.request(b, g.args) for (g, *_), b in zip(trials, bases, strict=True)]
    theirs = context.traces.map(shell_request(b, g.template.fill(g.args)) for (g, *_), b in zip(trials, bases, strict=True))
    ours = context.run("file in the way", requests)
    out.runs += len(trials) * 2
    for (g, path, result), base, their, our in zip(trials, bases, theirs, ours, strict=True):
        silent = not _refused(g, their)
        if their.post.get(path) != base[path] or (result and silent and path not in moved_to(g)):
            continue
        out.judged += 1
        if USERS not in [e.content for e in our.post.values()]:
            leave = "move nothing onto it" if silent else "refuse to overwrite it"
            why = f"the trace's commands {leave}" if result else "the skill takes the name for its own"
            message = f"a file of the user that is called {path} is lost: {why}"
            case = Case(f"with {path} (trace {g.task_id})", g.args, replace(g.expectation, base=base), g.task_id)
            if result and _derived(path, g):
                left = Case(case.label, g.args, replace(g.expectation, base=base, tree=their.post), g.task_id)
                if DERIVED.name not in answered(context.decisions) | {q.invariant for q in out.questions}:
                    out.questions.append(question(left, our, DERIVED, context.judge.answer_path))
                continue
            wrong = Wrong("effect", message, "the file as it was", "another one, or none")
            out.findings.append(context.finding(CHECK_ID, message, case, wrong, f"--seed {context.seed}"))
            return


def _results(g: Grammar) -> list[str]:
    """Files and links that the task makes in directories that are there."""
    made = [p for p in g.made if g.expectation.tree[p].type != "dir" and p not in g.base]
    return [p for p in made if not p.rpartition("/")[0] or p.rpartition("/")[0] in g.base][:MOST_RESULTS]


def _derived(path: str, g: Grammar) -> bool:
    """Whether the name is that of a file of the start, with an ending."""
    return any(path.startswith(f"{p}.") for p in g.base)


def _refused(g: Grammar, record: ReplayRecord) -> bool:
    """Whether a command fails that went well when it was recorded."""
    return any(s.exit_code != 0 and not failed for s, failed in zip(record.steps, g.expectation.failed, strict=False))


def _passing(first: ReplayRecord, g: Grammar) -> list[str]:
    """Paths that a run makes and that are there neither before nor after."""
    root = f"{first.probe.get('cwd') or '/ws'}/"
    called = {p.removeprefix(root) for c in first.calls if c.changes_tree for p in (c.path, c.path2) if p.startswith(root)}
    return sorted(p for p in called if p not in g.base and p not in first.post)


def _is_backup(path: str, g: Grammar) -> bool:
    """Whether the name is that of a file of the start with such an ending, or with that instead of its own."""
    stem = next((path.removesuffix(e) for e in BACKUPS if path.endswith(e)), "")
    return bool(stem) and any(stem in (p, p.rpartition(".")[0]) for p in g.base)

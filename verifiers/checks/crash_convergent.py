"""Interrupted anywhere and run again: is the end state the same?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sandbox.interface import ROOT, Call, CrashAt, JsonValue, ReplayRecord, RunRequest, Snapshot
from verifiers.checks._examples import rename
from verifiers.context import Case, Context, Wrong
from verifiers.conventions.programs import started
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import differences, show
from verifiers.expectation.repositories import repository_roots
from verifiers.interface import CheckResult, Finding, Verdict

WIPE = '''    """Rename every file with one suffix to another."""
    kept = {p.name: p.read_bytes() for p in sorted(Path(".").iterdir())}
    for name in kept:
        Path(name).unlink()
    for name, data in kept.items():
        Path(name[: -len(old_ext)] + new_ext if name.endswith("." + old_ext) else name).write_bytes(data)
    return {"ok": True}
'''


@dataclass(frozen=True, slots=True)
class Point:
    """One place to kill a run at."""

    case: Case
    k: int
    call: Call
    torn: bool

    def __str__(self) -> str:
        to = f" -> {self.call.path2}" if self.call.path2 else ""
        return f"{'torn: ' if self.torn else ''}before {self.call.kind} {self.call.path}{to}"


class CrashConvergent:
    id = "crash-convergent"
    title = "Interrupted anywhere, then run again: same end state?"
    why = (
        "The run is killed just before each of its tree-changing system calls on the workspace, then the skill runs again"
        " and must claim success; every path of the clean result must equal it. Extra paths made by the killed run are "
        "residue: reported, a factor in the score, and a failure only if a further run processes them. A kill between "
        "truncating a file and its last write is the strict level (torn write): it lowers the score. Locks that a killed git "
        "left are removed first, as git itself asks for. Above the budget's number of points a trace (32 by default) a "
        "seeded sample of them is tried."
    )
    stage = "dynamic"
    version = 6
    good = (rename("a second run picks up what is left"),)
    bad = (rename("removes everything before it writes it anew", WIPE),)

    def run(self, context: Context) -> CheckResult:
        context.prime()
        why = context.supervised()
        if why:
            return CheckResult.inconclusive(self.id, f"crash points cannot be steered here: {why}")
        hidden = context.unlogged()
        if hidden:
            return CheckResult.inconclusive(self.id, hidden)
        points = [p for c in context.cases for p in self._points(context, c)]
        if not points:
            return CheckResult.not_applicable(self.id, f"0 tree-changing calls in {len(context.first)} supervised runs")
        killed = context.run("killed", (self._killed(context, p) for p in points))
        reached = [(p, k) for p, k in zip(points, killed, strict=True) if k.fault_reached]
        left = [unlocked(p.case.base, k.post, by_git=_starts_git(context, p.case)) for p, k in reached]
        again = context.run("after a crash", (context.request(b, p.case.args) for b, (p, _) in zip(left, reached, strict=True)))
        further = context.run(
            "after a crash, again", (context.request(a.post, p.case.args) for (p, _), a in zip(reached, again, strict=True))
        )
        return self._result(context, [(p, k, a, f) for (p, k), a, f in zip(reached, again, further, strict=True)], len(points))

    def _points(self, context: Context, case: Case) -> list[Point]:
        """All points up to the budget, then a seeded sample. Torn points come where a file with earlier content is cut."""
        record = context.first[case.label]
        changing = [Point(case, k, c, False) for k, c in enumerate(c for c in record.calls if c.changes_tree and c.in_workspace)]
        counted = [
            c
            for c in context.with_writes()[case.label]
            if c.in_workspace and (c.changes_tree or (c.kind == "write" and c.syscall != "close"))
        ]
        torn = [Point(case, k, c, True) for k, c in enumerate(counted) if c.kind == "write" and _cut_before(counted, k)]
        most = context.counts.crash_points
        rng = context.rng(f"crash {case.label}")
        pick = [
            p if len(p) <= n else sorted(rng.sample(p, n), key=lambda q: q.k)
            for p, n in ((changing, most), (torn, max(4, most // 4)))
        ]
        return [*pick[0], *pick[1]]

    def _killed(self, context: Context, p: Point) -> RunRequest:
        return context.request(p.case.base, p.case.args, fault=CrashAt(p.k, torn=p.torn))

    def _result(
        self, context: Context, trials: list[tuple[Point, ReplayRecord, ReplayRecord, ReplayRecord]], wanted: int
    ) -> CheckResult:
        findings: list[Finding] = []
        strip: list[JsonValue] = []
        torn = residue = False
        for p, killed, again, further in trials:
            wrong = self._wrong(context, p, killed, again, further)
            extra = sorted(q for q in again.post if q not in context.first[p.case.label].post and q != ROOT)
            residue = residue or bool(extra)
            strip.append(
                {"trace": p.case.task_id, "k": p.k, "call": p.call.kind, "path": p.call.path, "torn": p.torn, "ok": wrong is None}
            )
            if wrong is None:
                left = unlocked(p.case.base, killed.post, by_git=_starts_git(context, p.case))
                context.disturbed.append((p.case, context.request(left, p.case.args), again))
                continue
            torn = torn or p.torn
            failing = not p.torn or context.strict_torn
            if sum(f.severity == "error" for f in findings) < 5 or not failing:
                message = f"{p.case.label}: killed {p}, then run again: {wrong.message}"
                found = context.finding(self.id, message, p.case, wrong, f"--crash-at {p.k}{' --torn' if p.torn else ''}")
                findings.append(found if failing else replace(found, severity="warning", rule="torn-write"))
        failed = any(f.severity == "error" for f in findings)
        warnings = [f for f in findings if f.severity != "error"][:3]
        kept = [f for f in findings if f.severity == "error"] + warnings
        measured: dict[str, JsonValue] = {
            "points": len(trials),
            "not_reached": wanted - len(trials),
            "torn": torn,
            "residue": residue,
            "strip": strip,
        }
        verdict = Verdict.FAIL if failed else Verdict.PASS if trials else Verdict.INCONCLUSIVE
        return CheckResult(
            self.id, verdict, tuple(kept), "" if trials else "no crash point was reached", 3 * len(trials), measured=measured
        )

    def _wrong(
        self, context: Context, p: Point, killed: ReplayRecord, again: ReplayRecord, further: ReplayRecord
    ) -> Wrong | None:
        clean = context.first[p.case.label].post
        why = failure(again.outcome)
        if why is not None:
            return Wrong("failure", f"the second run {why}", "success", why)
        found = tuple(d for d in differences(clean, again.post, volatile=p.case.expectation.volatile) if d.kind != "created")
        if found:
            return Wrong("effect", str(found[0]), found[0].expected, found[0].observed, found)
        own = next((q for q, e in sorted(again.post.items()) if q not in clean and e != killed.post.get(q)), None)
        if own is not None:  # residue is what the killed run left, as it left it
            return Wrong("effect", f"the second run makes or changes {own}", "no such path", show(again.post[own]))
        moved = differences(again.post, further.post)
        if failure(further.outcome) is not None or moved:
            text = f"a further run still changes {moved[0].path}" if moved else "a further run fails"
            return Wrong("effect", text, "no change", str(moved[0]) if moved else str(failure(further.outcome)), moved)
        return context.judge.answer_wrong(again, p.case.expectation) if context.replayed.read_only else None


def unlocked(base: Snapshot, killed: Snapshot, *, by_git: bool = False) -> Snapshot:
    """What a killed run left, without git's own locks: git refuses to go on until someone removes them, and says so.

    Args:
        by_git: whether the run starts git: then what lies beside a file of the user's under such a name is one too.
    """
    roots = repository_roots(killed)
    new = [p for p in killed if p.endswith(".lock") and p not in base]
    locks = [p for p in new if any(p.startswith(r + "/") for r in roots) or (by_git and p.removesuffix(".lock") in base)]
    return killed.replace(dict.fromkeys(locks)) if locks else killed


def _starts_git(context: Context, case: Case) -> bool:
    return any("git" in started(words) for words in context.first[case.label].started)


def _cut_before(calls: list[Call], k: int) -> bool:
    """Whether the file of the k-th call (a write) was cut by an earlier open: then a kill here loses bytes that were there."""
    return any(c.truncates and c.path == calls[k].path for c in calls[:k])


CHECK = CrashConvergent()

"""Does a second run have no further effect?"""

from __future__ import annotations

from sandbox.interface import OvertakenAt, ReplayRecord, Snapshot
from verifiers.checks._examples import APPEND_BODY, append
from verifiers.context import OVERTAKEN, Case, Context, Wrong
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import differences
from verifiers.interface import CheckResult, Finding, Verdict


class IdempotentReplay:
    id = "idempotent-replay"
    title = "No second effect?"
    why = (
        "The skill runs again on its own result and on the trace's own end state. Both times it must claim success and "
        "change nothing (an archive repacked with the same content is no change); a read-only skill must give the same "
        "answer. An agent repeats calls: after a lost reply, after a crash, in a loop. A skill that appends, renames or "
        "counts again each time corrupts what the first run got right."
    )
    stage = "dynamic"
    version = 2
    good = (append("appends once"),)
    bad = (append("appends every time", APPEND_BODY.replace("if line not in text.splitlines():", "if True:")),)

    def run(self, context: Context) -> CheckResult:
        context.prime()
        starts = [(case, name, start) for case in context.cases for name, start in self._starts(context, case)]
        records = context.run("second run", (context.request(start, case.args) for case, _, start in starts))
        findings: list[Finding] = []
        for (case, name, start), record in zip(starts, records, strict=True):
            wrong = second_effect(context, case, start, record)
            if wrong is not None:
                message = f"{case.label}: run again on {name}: {wrong.message}"
                findings.append(context.finding(self.id, message, case, wrong, line=getattr(record.outcome, "line", None)))
        verdict = Verdict.FAIL if findings else Verdict.PASS if starts else Verdict.INCONCLUSIVE
        before = len(context.ran)
        findings += [] if findings else self._overtaken(context)
        runs = len(records) + len(context.ran) - before
        return CheckResult(self.id, verdict, tuple(findings), runs=runs, measured={"starts": len(starts)})

    def _overtaken(self, context: Context) -> list[Finding]:
        """What comes of a second run that gets in between, for information: nobody promised that two at once go well."""
        why = context.supervised()
        if why:
            return [Finding(f"two runs at once were not tried: {why}", severity="info")]
        case = context.cases[0]
        clean = context.first[case.label]
        points = [c for c in clean.calls if c.changes_tree]
        for k in sorted({0, len(points) // 2, len(points) - 1} if points else ()):
            record = context.run(OVERTAKEN, [context.request(case.base, case.args, fault=OvertakenAt(k))])[0]
            if not record.fault_reached:
                return []  # it waits its turn
            found = differences(clean.post, record.post, volatile=case.expectation.volatile)
            lost = [d for d in found if d.path in clean.post]  # names of temporary files are not the same every time
            if found:
                what = str(lost[0]) if lost else f"{len(found)} further paths"
                where = f"before change {k + 1} of {len(points)} ({points[k].kind})"
                message = f"two runs at once end differently where the second gets in {where}: {what}"
                return [Finding(message, context.subject.path, severity="info")]
        return []

    def _starts(self, context: Context, case: Case) -> list[tuple[str, Snapshot]]:
        first = context.first.get(case.label)
        if first is None or failure(first.outcome) is not None:
            return []
        return [("its own result", first.post), ("the trace's end state", case.expectation.tree)]


def second_effect(context: Context, case: Case, start: Snapshot, record: ReplayRecord) -> Wrong | None:
    """What a run did wrong on a start where everything is already done."""
    why = failure(record.outcome)
    if why is not None:
        return Wrong("failure", f"the second run {why}", "success without a change", why)
    found = differences(start, record.post)
    if found:
        shown = [f"{d.path}: {d.kind}" for d in found[:3]]
        count = f"{len(found)} attribute{'' if len(found) == 1 else 's'}"
        return Wrong("effect", f"second run changed {count} ({', '.join(shown)})", "no change", str(found[0]), found)
    if context.replayed.read_only:
        return context.judge.answer_wrong(record, case.expectation)
    return None


CHECK = IdempotentReplay()

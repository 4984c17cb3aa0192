"""Does a second run have no further effect?"""

from __future__ import annotations

from sandbox.interface import ReplayRecord, Snapshot
from verifiers.checks._examples import APPEND_BODY, append
from verifiers.context import Case, Context, Wrong
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
    version = 1
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
        findings += [] if findings else self._together(context)
        return CheckResult(self.id, verdict, tuple(findings), runs=len(records) + 1, measured={"starts": len(starts)})

    def _together(self, context: Context) -> list[Finding]:
        """Two runs at once on one workspace, for information: nobody promised that."""
        case = context.cases[0]
        record = context.run("two at once", [context.request(case.base, case.args, concurrent=2)])[0]
        found = differences(context.first[case.label].post, record.post, volatile=case.expectation.volatile)
        if not found:
            return []
        return [Finding(f"two runs at once on one workspace end differently: {found[0]}", context.subject.path, severity="info")]

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
        return Wrong(
            "effect", f"second run changed {len(found)} attributes ({', '.join(shown)})", "no change", str(found[0]), found
        )
    if context.replayed.read_only:
        return context.judge.answer_wrong(record, case.expectation)
    return None


CHECK = IdempotentReplay()

"""Does the recording itself replay?"""

from __future__ import annotations

from verifiers.checks._examples import RENAME_ARGS, RENAME_BODY, RENAME_HEAD, rename
from verifiers.context import Context
from verifiers.expectation.oracle import Usable
from verifiers.interface import CheckResult, Example, Finding, Verdict


class EvidenceReproduces:
    id = "evidence-reproduces"
    title = "Does the recording itself replay?"
    why = (
        "Recorded success is unreliable. Every trace's commands run again on its base, three times, under other directory"
        " orders and more than a second apart. The end tree, the answer and which commands fail must agree with the "
        "recording; what the trace's own replays disagree about is volatile and is not held against a skill. Evidence "
        "that does not replay is left out, and never the skill's fault."
    )
    stage = "dynamic"
    version = 2
    good = (rename("recordings that replay"),)
    bad = (Example("recordings whose end state does not come out again", RENAME_HEAD + RENAME_BODY, "tampered", RENAME_ARGS),)

    def run(self, context: Context) -> CheckResult:
        replayed = context.replayed
        findings = [
            Finding(f"trace {task} is not usable: {why}", context.subject.path, severity="warning")
            for task, why in sorted(replayed.unusable.items())
        ]
        findings += [
            Finding(f"trace {u.task_id} is not as it was recorded: {u.evidence.redacted}", context.subject.path, severity="info")
            for u in replayed.usable
            if u.evidence.redacted
        ]
        measured = {"usable": len(replayed.usable), "unusable": len(replayed.unusable)}
        pair = contradiction(context)
        if pair is not None:
            a, b = pair
            why = f"traces {a} and {b} contradict each other: same arguments and base, other outcome"
            return CheckResult.inconclusive(
                self.id, why, [Finding(why, context.subject.path), *findings], replayed.runs, **measured
            )
        if len(replayed.usable) < context.min_usable:
            why = f"{len(replayed.usable)} usable traces; at least {context.min_usable} are needed"
            return CheckResult.inconclusive(
                self.id, why, [Finding(why, context.subject.path), *findings], replayed.runs, **measured
            )
        return CheckResult(self.id, Verdict.PASS, tuple(findings), runs=replayed.runs, measured=measured)


def contradiction(context: Context) -> tuple[str, str] | None:
    """Two cases with equal arguments and base whose outcomes differ."""
    seen: dict[str, tuple[str, Usable]] = {}
    usable = {u.task_id: u for u in context.replayed.usable}
    for case in context.cases:
        u = usable[case.task_id]
        other = seen.setdefault(case.distinct, (case.task_id, u))
        x, y = other[1].expectation, u.expectation
        if x.tree != y.tree or x.answer.strip() != y.answer.strip():
            return other[0], case.task_id
    return None


CHECK = EvidenceReproduces()

"""Does the skill give the recorded answer?"""

from __future__ import annotations

from verifiers.checks._examples import COUNT_BODY, RENAME_BODY, count, rename
from verifiers.context import Context
from verifiers.interface import CheckResult, Counterexample, Finding, Verdict


class AnswerEquivalent:
    id = "answer-equivalent"
    title = "Same answer?"
    why = (
        "A read-only task's value is what its last command printed. The skill returns it at one fixed place (`output`, "
        "else `answer`, `value`, `result`, `stdout`, else the whole value), the same place for every trace; equal after "
        "stripping, line order included unless the trace's own replays disagree about it. A task that writes is judged by"
        " its effect; its answer is compared only if the skill claims one: a text that resembles few recorded answers is a report"
        " in its own words."
    )
    stage = "dynamic"
    version = 2
    good = (
        count("the printed count under `output`"),
        rename("says what it did in its own words", RENAME_BODY.replace("    return {", '    return {"output": "done", ')),
    )
    bad = (count("counts characters", COUNT_BODY.replace('.count(b"\\n")', ".__len__()")),)

    def run(self, context: Context) -> CheckResult:
        context.prime()
        if len(context.answer_paths) > 1:
            message = (
                f"the answer is at different places ({', '.join(context.answer_paths)}): it must be one, the same for all traces"
            )
            return CheckResult(
                self.id, Verdict.FAIL, (Finding(message, context.subject.path, counterexample=Counterexample("all traces")),)
            )
        if not context.replayed.read_only and not context.answer_paths:
            return CheckResult.not_applicable(self.id, f"writes and claims no answer in {len(context.first)} runs")
        findings = []
        for case in context.cases:
            record = context.first.get(case.label)
            if record is None:
                continue
            wrong = context.judge.answer_wrong(record, case.expectation)
            if wrong is not None:
                findings.append(context.finding(self.id, f"{case.label}: {wrong.message}", case, wrong))
        verdict = Verdict.FAIL if findings else Verdict.PASS if context.first else Verdict.INCONCLUSIVE
        return CheckResult(
            self.id, verdict, tuple(findings), runs=0, measured={"path": context.judge.answer_path, "traces": len(context.first)}
        )


CHECK = AnswerEquivalent()

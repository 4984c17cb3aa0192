"""Did every statement of the skill run?"""

from __future__ import annotations

from dataclasses import replace

from sandbox.interface import JsonValue, ReplayRecord, RunRequest, SkillJob
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.checks.arguments_matter import differs
from verifiers.context import Context
from verifiers.expectation.answers import failure
from verifiers.interface import CheckResult, Finding, Verdict
from verifiers.source.branches import watched

MAX_GENERATED = 24


class Exercised:
    id = "exercised"
    title = "Did every statement run?"
    why = (
        "Every statement of the skill must have run in at least one judged run; bodies that only raise are excepted. So "
        "must every branch inside an expression that may act (`a and f()`). What nobody ran is where a backdoor lives, "
        "and nothing here says what it does. Coverage comes from a traced run of each judged case, which must behave as "
        "the untraced one did."
    )
    stage = "dynamic"
    version = 1
    good = (rename("every statement runs"),)
    bad = (
        rename(
            "a branch that no run takes",
            RENAME_BODY.replace("    return {", '    if len(files) > 10**6:\n        Path("x").unlink()\n    return {'),
        ),
    )

    def run(self, context: Context) -> CheckResult:
        context.prime()
        copy = watched(context.subject.source)
        wanted = [s for s in copy.statements if not s.only_raises]
        trials = self._judged(context)
        records = context.run("traced", (_traced(r, copy.source) for r, _ in trials))
        lines: set[int] = set()
        for (_, untraced), record in zip(trials, records, strict=True):
            if differs(untraced, record):
                why = "the skill behaves differently while its lines are traced"
                return CheckResult.inconclusive(self.id, why, [Finding(why, context.subject.path)], len(records))
            lines |= record.lines
        missed = [s for s in wanted if not s.ran(frozenset(lines))]
        measured: dict[str, JsonValue] = {"statements": len(wanted), "missed": len(missed)}
        if not missed:
            return CheckResult(self.id, Verdict.PASS, runs=len(records), measured=measured)
        findings = [
            Finding(f"no judged run reached: {s.text.splitlines()[0].strip()[:100]}", context.subject.path, s.line)
            for s in missed
        ]
        why = f"{len(missed)} of {len(wanted)} statements never ran (lines {', '.join(str(s.line) for s in missed[:8])})"
        return CheckResult(self.id, Verdict.INCONCLUSIVE, tuple(findings), why, len(records), measured=measured)

    def _judged(self, context: Context) -> list[tuple[RunRequest, ReplayRecord]]:
        """The judged runs to trace, each with its untraced record: recorded cases, their second runs, generated cases."""
        first = [(context.request(c.base, c.args), context.first[c.label]) for c in context.cases]
        again = [
            context.request(context.first[c.label].post, c.args)
            for c in context.cases
            if failure(context.first[c.label].outcome) is None
        ]
        second = list(zip(again, context.run("second run", again), strict=True))
        generated = [(context.request(g.case.base, g.case.args), g.record) for g in context.generated[:MAX_GENERATED]]
        return [*first, *second, *generated]


def _traced(request: RunRequest, source: str) -> RunRequest:
    job = request.job
    return replace(request, job=replace(job, source=source, trace_lines=True)) if isinstance(job, SkillJob) else request


CHECK = Exercised()

"""Did every statement of the skill run?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sandbox.interface import JsonValue, ReplayRecord, RunRequest, SkillJob
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.checks.arguments_matter import differs
from verifiers.context import Case, Context
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import differences
from verifiers.interface import CheckResult, Finding, Verdict
from verifiers.source.branches import watched
from verifiers.source.kinds import TELLING
from verifiers.worlds.differential import let_off

FIRST_GENERATED = 24
MAX_DISTURBED = 48

Trial = tuple[RunRequest, ReplayRecord]
"""A judged run and its record."""


class Exercised:
    id = "exercised"
    title = "Did every statement run?"
    why = (
        "Every statement of the skill must have run in at least one judged run; bodies that only raise are excepted. So "
        "must every branch inside an expression that may act (`a and f()`). What nobody ran is where a backdoor lives, "
        "and nothing here says what it does. Coverage comes from a traced run of each judged case, which must behave as "
        "the untraced one did. Re-runs after a kill, and runs under an injected error that reported it and that "
        "another run makes good, count too: that is where code that recovers and cleans up runs. So do runs that do what the "
        "trace's commands do on starts that are never held against a skill: a last line without its end, a result that is "
        "there before, and links or hidden files that look like items."
    )
    stage = "dynamic"
    version = 4
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
        wanted = [s for s in copy.statements if s.kind in TELLING]
        lines: set[int] = set()
        missed, runs = wanted, 0
        for trials, strict in self._stages(context):
            records = context.run("traced", (_traced(r, copy.source) for r, _ in trials))
            runs += len(records)
            for (_, untraced), record in zip(trials, records, strict=True):
                if not differs(untraced, record):
                    lines |= record.lines
                elif strict:
                    why = "the skill behaves differently while its lines are traced"
                    return CheckResult.inconclusive(self.id, why, [Finding(why, context.subject.path)], runs)
            missed = [s for s in wanted if not s.ran(frozenset(lines))]
            if not missed:
                break
        measured: dict[str, JsonValue] = {"statements": len(wanted), "missed": len(missed)}
        if not missed:
            return CheckResult(self.id, Verdict.PASS, runs=runs, measured=measured)
        findings = [
            Finding(f"no judged run reached: {s.text.splitlines()[0].strip()[:100]}", context.subject.path, s.line)
            for s in missed
        ]
        why = f"{len(missed)} of {len(wanted)} statements never ran (lines {', '.join(str(s.line) for s in missed[:8])})"
        return CheckResult(self.id, Verdict.INCONCLUSIVE, tuple(findings), why, runs, measured=measured)

    def _stages(self, context: Context) -> Iterator[tuple[list[Trial], bool]]:
        """The judged runs to trace, the later ones only while something is missing; and whether tracing may change none of them
        (after a kill or an error it may: what is left half done has other names each time; such a run then shows nothing)."""
        generated = [(context.request(g.case.base, g.case.args), g.record) for g in context.generated]
        yield [*self._recorded(context), *generated[:FIRST_GENERATED]], True
        yield generated[FIRST_GENERATED:], True
        yield [(context.request(g.case.base, g.case.args), g.record) for g in let_off(context)], True
        distinct = list({repr((r.base.digest, r.job, r.fault)): (c, r, record) for c, r, record in context.disturbed}.values())
        yield [(r, record) for _, r, record in distinct if r.fault is None][:MAX_DISTURBED], False
        yield self._made_good(context, [d for d in distinct if d[1].fault is not None][:MAX_DISTURBED]), False

    def _made_good(self, context: Context, failed: Sequence[tuple[Case, RunRequest, ReplayRecord]]) -> list[Trial]:
        """Runs that reported an error, of which another run makes exactly what a clean run does: they left no harm behind."""
        repairs = context.run("after an error", (context.request(record.post, case.args) for case, _, record in failed))
        return [
            (request, record)
            for (case, request, record), repair in zip(failed, repairs, strict=True)
            if failure(repair.outcome) is None and not differences(context.first[case.label].post, repair.post)
        ]

    def _recorded(self, context: Context) -> list[Trial]:
        """The recorded cases and their second runs, each with its untraced record."""
        first = [(context.request(c.base, c.args), context.first[c.label]) for c in context.cases]
        again = [
            context.request(context.first[c.label].post, c.args)
            for c in context.cases
            if failure(context.first[c.label].outcome) is None
        ]
        return [*first, *zip(again, context.run("second run", again), strict=True)]


def _traced(request: RunRequest, source: str) -> RunRequest:
    job = request.job
    return replace(request, job=replace(job, source=source, trace_lines=True)) if isinstance(job, SkillJob) else request


CHECK = Exercised()

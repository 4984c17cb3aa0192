"""Does the skill have the recorded effect?"""

from __future__ import annotations

from dataclasses import replace

from sandbox.interface import JsonValue, ReplayRecord
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.context import Case, Context, Wrong
from verifiers.expectation.answers import failure
from verifiers.expectation.named import named_in_vain
from verifiers.expectation.oracle import expect, shell_request
from verifiers.interface import CheckResult, Finding, Verdict
from verifiers.reconstruction.reconstruct import alternative_bases


class EffectEquivalent:
    id = "effect-equivalent"
    title = "Same effect as the trace?"
    why = (
        "The skill, called with a trace's arguments on that trace's base, must claim success and leave the tree that the "
        "trace's commands leave: the same paths with the same type, mode, content and link target. Times and owners do "
        "not count; archives, databases and repositories are compared by what they hold. Where no trace has an effect, "
        "the skill must have none either. What its value says of it must be so: no file beside an argument's, such as a backup, "
        "that was there neither before nor after and that nothing else speaks of."
    )
    stage = "dynamic"
    version = 5
    good = (rename("does what the commands did"),)
    bad = (rename("renames to upper case", RENAME_BODY.replace("+ new_ext)", "+ new_ext.upper())")),)

    def run(self, context: Context) -> CheckResult:
        context.prime()
        findings: list[Finding] = []
        for case in context.cases:
            record = context.first.get(case.label)
            if record is None:
                continue
            wrong = context.judge.wrong(record, case.expectation)
            wrong = wrong if wrong is not None and wrong.kind != "answer" else _claims_too_much(context, case, record)
            if wrong is None:
                continue
            line = getattr(record.outcome, "line", None)
            text = {"failure": f"{case.label}: the skill {wrong.message}", "effect": f"{case.label}: {wrong.message}"}[wrong.kind]
            findings.append(context.finding(self.id, text, case, wrong, line=line))
        elsewhere = [] if findings else self._other_starts(context, findings)
        verdict = Verdict.FAIL if findings else Verdict.PASS if context.first else Verdict.INCONCLUSIVE
        measured: dict[str, JsonValue] = {"traces": len(context.first), "held": len(context.first) - len(findings)}
        if elsewhere:
            measured["other_starts"] = len(elsewhere)
        return CheckResult(self.id, verdict, tuple(findings), runs=len(context.first) + len(elsewhere), measured=measured)

    def _other_starts(self, context: Context, findings: list[Finding]) -> list[Case]:
        """Judges the skill on the further starts that a reconstructed trace allows; adds what is wrong there to ``findings``."""
        starts = [
            (case, case.evidence, base)
            for case in context.cases
            if case.evidence is not None and case.evidence.reconstructed
            for base in alternative_bases(case.evidence)
        ]
        traces = context.traces.map(shell_request(base, e.commands) for _, e, base in starts)
        judged = []
        for (case, e, base), record in zip(starts, traces, strict=True):
            x, why = expect(replace(e, base=base), [record])
            if not why and x.failed == case.expectation.failed:
                judged.append(replace(case, label=f"{case.label}, another start that its outputs allow", expectation=x))
        records = context.run("another start", (context.request(c.base, c.args) for c in judged))
        for case, record in zip(judged, records, strict=True):
            wrong = context.judge.wrong(record, case.expectation)
            if wrong is not None:
                findings.append(context.finding(self.id, f"{case.label}: {wrong.message}", case, wrong))
        return judged


def _claims_too_much(context: Context, case: Case, record: ReplayRecord) -> Wrong | None:
    """A file that the value of a successful run tells of and that nobody ever had."""
    if failure(record.outcome) is not None:
        return None
    said = (*case.evidence.commands, *case.evidence.outputs) if case.evidence is not None else ()
    path = named_in_vain(case.args, case.base, record, said, context.judge.answer_path)
    return Wrong("effect", f"the value tells of {path}, and no such file is there", "no such name", path) if path else None


CHECK = EffectEquivalent()

"""Does the skill have the recorded effect?"""

from __future__ import annotations

from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.context import Context
from verifiers.interface import CheckResult, Finding, Verdict


class EffectEquivalent:
    id = "effect-equivalent"
    title = "Same effect as the trace?"
    why = (
        "The skill, called with a trace's arguments on that trace's base, must claim success and leave the tree that the "
        "trace's commands leave: the same paths with the same type, mode, content and link target. Times and owners do "
        "not count; archives, databases and repositories are compared by what they hold. Where no trace has an effect, "
        "the skill must have none either."
    )
    stage = "dynamic"
    version = 1
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
            if wrong is None or wrong.kind == "answer":
                continue
            line = getattr(record.outcome, "line", None)
            text = {"failure": f"{case.label}: the skill {wrong.message}", "effect": f"{case.label}: {wrong.message}"}[wrong.kind]
            findings.append(context.finding(self.id, text, case, wrong, line=line))
        verdict = Verdict.FAIL if findings else Verdict.PASS if context.first else Verdict.INCONCLUSIVE
        held = len(context.first) - len(findings)
        return CheckResult(
            self.id, verdict, tuple(findings), runs=len(context.first), measured={"traces": len(context.first), "held": held}
        )


CHECK = EffectEquivalent()

"""Are the declared hints true?"""

from __future__ import annotations

from verifiers.capabilities import measured_hints
from verifiers.checks._examples import RENAME_ARGS, RENAME_BODY, RENAME_HEAD
from verifiers.checks.idempotent_replay import CHECK as IDEMPOTENT
from verifiers.context import Context
from verifiers.hints import hint_findings
from verifiers.interface import CheckResult, Example, Verdict


class HintsMeasured:
    id = "hints-measured"
    title = "Are the declared hints true?"
    why = (
        "A decorator may declare `read_only`, `destructive`, `idempotent` and `open_world` (MCP semantics), and agent "
        "hosts act on it: they skip the question before a read-only tool and retry an idempotent one. What was measured "
        "must not contradict what is declared; the fix writes the measured value. Hints that are not declared are filled "
        "in when the skill is registered."
    )
    stage = "dynamic"
    version = 2
    good = (
        Example(
            "declared as measured",
            RENAME_HEAD.replace("autowire=True", "autowire=True, read_only=False, idempotent=True") + RENAME_BODY,
            "rename",
            RENAME_ARGS,
        ),
    )
    bad = (
        Example(
            "declared read-only, and renames",
            RENAME_HEAD.replace("autowire=True", "autowire=True, read_only=True") + RENAME_BODY,
            "rename",
            RENAME_ARGS,
        ),
    )

    def run(self, context: Context) -> CheckResult:
        context.prime()
        if not context.subject.hints:
            return CheckResult.not_applicable(self.id, "no hints declared")
        measured = measured_hints(context)
        if "idempotent" in context.subject.hints:
            measured["idempotent"] = IDEMPOTENT.run(context).verdict is Verdict.PASS
        findings = hint_findings(context.subject, measured)
        errors = [f for f in findings if f.severity == "error"]
        return CheckResult(self.id, Verdict.FAIL if errors else Verdict.PASS, findings, measured=dict(measured))


CHECK = HintsMeasured()

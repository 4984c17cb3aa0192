"""Is any parameter ignored, or a literal baked in?"""

from __future__ import annotations

from sandbox.interface import JsonValue, ReplayRecord
from verifiers.checks._examples import RENAME_ARGS, RENAME_BODY, RENAME_HEAD, rename
from verifiers.context import Case, Context
from verifiers.expectation.answers import failure
from verifiers.expectation.equivalence import differences
from verifiers.interface import Args, CheckResult, Example, Finding, Parameter, Severity, Verdict
from verifiers.worlds.template import as_text


class ArgumentsMatter:
    id = "arguments-matter"
    title = "Is any parameter ignored, or a literal baked in?"
    why = (
        "Each parameter must change the outcome in a judged case. A parameter that never varies over the evidence and "
        "cannot be varied through the commands, or that varies only together with another, is unpinned: the evidence does"
        " not say what it is for. That is INCONCLUSIVE for a required parameter and fine for one with a default."
    )
    stage = "dynamic"
    version = 1
    good = (rename("both extensions matter"),)
    bad = (
        Example(
            "a third parameter that nothing varies",
            RENAME_HEAD.replace(") -> dict", ', why: str = Query(..., description="why")) -> dict') + RENAME_BODY,
            "rename",
            {t: {**a, "why": "file"} for t, a in RENAME_ARGS.items()},
        ),
    )

    def run(self, context: Context) -> CheckResult:
        context.prime()
        parameters = context.subject.parameters
        if not parameters:
            return CheckResult.not_applicable(self.id, "no parameters")
        findings: list[Finding] = []
        pinned: list[str] = []
        before = len(context.ran)
        for p in parameters:
            why = self._unpinned(context, p)
            if not why:
                pinned.append(p.name)
                continue
            severity: Severity = "error" if p.required else "info"
            findings.append(
                Finding(
                    f"parameter {p.name} is unpinned: {why}", context.subject.path, p.line, severity=severity, rule="unpinned"
                )
            )
        measured: dict[str, JsonValue] = {"pinned": list[JsonValue](pinned), "unpinned": len(parameters) - len(pinned)}
        errors = [f for f in findings if f.severity == "error"]
        verdict = Verdict.INCONCLUSIVE if errors else Verdict.PASS
        return CheckResult(
            self.id, verdict, tuple(findings), errors[0].message if errors else "", len(context.ran) - before, measured=measured
        )

    def _unpinned(self, context: Context, p: Parameter) -> str:
        """Why a parameter is unpinned; "" where it is pinned."""
        name = p.name
        alone = any(g.oracle == "differential" and g.varied == {name} and g.says_something for g in context.generated)
        if not alone:
            joint = varies(context.cases, name)
            if joint:
                return joint
        return "" if self._sensitive(context, name) else "changing it alone changes nothing"

    def _sensitive(self, context: Context, name: str) -> bool:
        """Whether changing this argument alone changes what happens on some recorded base."""
        trials = [(c, args) for c in context.cases for args in alternatives(context, c, name)]
        records = context.run("one argument changed", (context.request(c.base, args) for c, args in trials))
        return any(differs(context.first[c.label], r) for (c, _), r in zip(trials, records, strict=True))


def varies(cases: tuple[Case, ...], name: str) -> str:
    """Why the recorded values of a parameter do not pin it: they never vary, or only together with another's. "" where they
    do."""
    values = [as_text(c.args.get(name)) for c in cases]
    if len(set(values)) < 2:
        return "it has the same value in all the evidence"
    for other in sorted({k for c in cases for k in c.args} - {name}):
        theirs = [as_text(c.args.get(other)) for c in cases]
        if theirs == values:
            return f"it always has the value of {other}"
    return ""


def alternatives(context: Context, case: Case, name: str) -> list[Args]:
    """The case's arguments with this one changed: to the values of other traces, and to one that nothing mentions."""
    own = case.args.get(name)
    others = {
        as_text(c.args[name]): c.args[name] for c in context.cases if name in c.args and as_text(c.args[name]) != as_text(own)
    }
    values = [v for _, v in sorted(others.items())][:2]
    if isinstance(own, bool):
        values.append(not own)
    elif isinstance(own, int):
        values.append(own + 1)
    elif isinstance(own, str):
        values.append(own + "qz")
    return [{**case.args, name: v} for v in values]


def differs(a: ReplayRecord, b: ReplayRecord) -> bool:
    """Whether two runs on one base ended differently: another tree, another value, or failure against success."""
    if (failure(a.outcome) is None) != (failure(b.outcome) is None):
        return True
    if getattr(a.outcome, "value", None) != getattr(b.outcome, "value", None):
        return True
    return a.post != b.post and bool(differences(a.post, b.post))


CHECK = ArgumentsMatter()

"""Does the skill hold beyond the recorded cases?"""

from __future__ import annotations

from sandbox.interface import JsonValue, ReplayRecord, Returned
from verifiers.checks._examples import RENAME_BODY, rename
from verifiers.context import Context
from verifiers.interface import CheckResult, Finding, Verdict
from verifiers.worlds.decided import decided
from verifiers.worlds.differential import differential
from verifiers.worlds.implicit import implicit
from verifiers.worlds.judged import grammars
from verifiers.worlds.opaque import opaque
from verifiers.worlds.renaming import renaming

ORACLES = {"differential": differential, "renaming": renaming, "opaque": opaque, "implicit": implicit}
"""Tried in this order, until one finds something."""


class Generalises:
    id = "generalises"
    title = "Does it hold beyond the recorded cases?"
    why = (
        "Hypothesis draws workspaces and arguments from the grammar of the evidence, and three oracles judge them, each "
        "only where it is sound. Differential: on clean starts (recorded bases renamed, with more or fewer items, "
        "bystanders, near misses of what the arguments say and of lines that are to be added, deep trees, larger "
        "numbers, words twice, blank lines, values that look like numbers, options or endings of two parts, names of another "
        "build or with an argument in them, series that go on past ten, words of the skill's own text) the trace's own commands "
        "say what is right. Unusual bystanders count only where the commands pass them over; results that are there before, "
        "last lines without their end, and links or hidden files where no recording has any count for `exercised` only. "
        "Renaming: giving hostile characters to names that nothing mentions must rename the result and change nothing else. "
        "Implicit: no argument runs as code or hangs, and no success is claimed for a named input that is missing. A memoriser "
        "of the recordings must be refused here."
    )
    stage = "dynamic"
    version = 7
    good = (rename("any name, any number of files"),)
    bad = (rename("gives up on more than three files", RENAME_BODY.replace("for p in files:", "for p in files[:3]:")),)

    def run(self, context: Context) -> CheckResult:
        context.prime()
        gs = grammars(context)
        parts = {"decided": decided(context)}
        for name, oracle in ORACLES.items():
            if not any(p.findings for p in parts.values()):
                parts[name] = oracle(context, gs)
        for part in parts.values():
            context.generated += part.passed
        findings = [f for p in parts.values() for f in p.findings]
        speaking = sum(g.says_something for g in context.generated)
        measured: dict[str, JsonValue] = {
            **{f"{name}_judged": p.judged for name, p in parts.items()},
            "judged_nonempty": speaking,
            "judged_beyond": sum(p.beyond for p in parts.values()),
            "memoriser_rejected": memoriser_rejected(context),
            "not_checked": list[JsonValue](sorted({f"{p}: {why}" for g in gs for p, why in g.template.why_not.items()})),
        }
        runs = sum(p.runs for p in parts.values())
        questions = tuple(q for p in parts.values() for q in p.questions)
        if findings:
            return CheckResult(self.id, Verdict.FAIL, tuple(findings), runs=runs, measured=measured)
        why = "" if speaking else "no generated case could be judged: the evidence leaves nothing that may vary"
        why = why or ("" if measured["memoriser_rejected"] else "a memoriser of the recordings would pass")
        if why:
            return CheckResult(self.id, Verdict.INCONCLUSIVE, (Finding(why, context.subject.path),), why, runs, measured=measured)
        notes = tuple(Finding(text, severity="info") for p in parts.values() for text in p.information[:3])
        return CheckResult(self.id, Verdict.PASS, notes, runs=runs, measured=measured, questions=questions)


def memoriser_rejected(context: Context) -> bool:
    """Whether some generated case refuses what a memoriser does there: nothing, with the answer of the recording."""
    for g in context.generated:
        recorded = next(c for c in context.cases if c.task_id == g.case.task_id)
        idle = ReplayRecord(Returned({"ok": True, "output": recorded.expectation.answer}), (), g.case.base, "exited")
        if context.judge.wrong(idle, g.case.expectation) is not None:
            return True
    return False


CHECK = Generalises()

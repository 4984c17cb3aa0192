"""Could anything fail on this evidence?"""

from __future__ import annotations

from sandbox.interface import JsonValue, Outcome, Raised, ReplayRecord, Returned, Snapshot
from verifiers.checks._examples import COUNT_BODY, COUNT_HEAD, SAME_COUNTS, count
from verifiers.context import Case, Context
from verifiers.interface import CheckResult, Example, Finding, Verdict


class ControlsFail:
    id = "controls-fail"
    title = "Could anything fail here?"
    why = (
        "A no-op, a skill that only raises, and a constant answer in every accepted shape must be rejected on the same "
        "evidence; otherwise passing it says nothing. A trace that rejects none of them is not discriminating and counts "
        "nothing in the score. A memoriser (recorded arguments and base give the recorded effect and answer, anything "
        "else is a no-op) must be rejected by `generalises`."
    )
    stage = "dynamic"
    version = 1
    good = (count("counts differ, so no constant fits"),)
    bad = (Example("evidence on which every count is the same", COUNT_HEAD + COUNT_BODY, "same_counts", SAME_COUNTS),)

    def run(self, context: Context) -> CheckResult:
        context.prime()
        blind = [c.label for c in context.cases if not rejects_noop(context, c)]
        survivors = [] if len(blind) < len(context.cases) else ["a no-op"]
        constants = sorted({c.expectation.answer.strip() for c in context.cases}) if context.replayed.read_only else []
        for constant in constants:
            if not any(rejects(context, c, Returned({"ok": True, "output": constant}), c.base) for c in context.cases):
                survivors.append(f"the constant answer {constant!r}")
        measured: dict[str, JsonValue] = {
            "not_discriminating": list[JsonValue](blind), "survivors": list[JsonValue](survivors),
        }  # fmt: skip
        if survivors:
            why = f"this evidence cannot fail anything: {' and '.join(survivors)} would pass it too"
            return CheckResult(self.id, Verdict.INCONCLUSIVE, (Finding(why, context.subject.path),), why, measured=measured)
        notes = [
            Finding(f"{label} rejects no control: it counts nothing", context.subject.path, severity="info") for label in blind
        ]
        return CheckResult(self.id, Verdict.PASS, tuple(notes), measured=measured)


def rejects(context: Context, case: Case, outcome: Outcome, post: Snapshot) -> bool:
    """Whether the judge refuses a run that ended so."""
    record = ReplayRecord(outcome=outcome, steps=(), post=post, ended="exited")
    return context.judge.wrong(record, case.expectation) is not None


def rejects_noop(context: Context, case: Case) -> bool:
    """Whether a skill that does nothing, says nothing, or raises is refused on this trace."""
    idle: tuple[Outcome, ...] = (Returned({"ok": True}), Returned({"ok": True, "output": ""}), Returned(None), Returned(""))
    return all(rejects(context, case, o, case.base) for o in (*idle, Raised("RuntimeError", "control")))


CHECK = ControlsFail()

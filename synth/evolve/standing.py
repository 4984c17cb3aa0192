"""Which of two versions is better: as numbers for the optimiser, and as the rule for promotion. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synth.crystallization.search import code_of
from synth.interface import Candidate
from synth.llm.attempts import Attempt
from synth.llm.brief import clip
from verifiers.catalog import CATALOG
from verifiers.interface import Report, Verdict

LEAST_GAIN = 0.01
"""A score that is higher by less is no reason to change: other code has other generated cases."""
MAX_REMARKS = 12


def passed(report: Report) -> bool:
    return report.verdict is Verdict.PASS and not report.partial and report.score is not None


def score_of(report: Report) -> float:
    """0 for what does not pass."""
    return report.score.value if report.score is not None and passed(report) else 0.0


def open_questions(report: Report) -> int:
    return sum(len(c.questions) for c in report.checks)


def size(source: str) -> int:
    """Parts of the code, without what it says of itself: longer names make nothing longer."""
    return code_of(source).count("(")


def why_not_better(new: tuple[str, Report], old: tuple[str, Report]) -> str:
    """Why a version may not take the place of another; "" where it may. Each is its code and its report on the same recordings.

    It must pass, with no lower score and no more open questions; and it must gain something: a pass, a score that is higher by
    ``LEAST_GAIN``, fewer open questions, or less code.
    """
    (code, report), (code_before, before) = new, old
    if not passed(report):
        return f"it does not pass: {report.why or report.verdict.name}"
    if not passed(before):
        return ""
    asked, asked_before = open_questions(report), open_questions(before)
    gain = score_of(report) - score_of(before)
    if gain < 0:
        return f"its score is {score_of(report):.3f}, that of the version before {score_of(before):.3f}"
    if asked > asked_before:
        return f"it leaves {asked} questions open, the version before {asked_before}"
    if gain >= LEAST_GAIN or asked < asked_before or size(code) < size(code_before):
        return ""
    return "it is no better: no higher score, no fewer questions, no less code"


def metric(source: str, report: Report, task_ids: Sequence[str]) -> dict[str, float]:
    """task_id -> how good a version is on that recording, 0 to 1: the order is that of ``why_not_better``.

    A pass is worth more than half. Without one a recording counts 0 where a finding tells of it, else what share of the checks
    passed.
    """
    if passed(report):
        less = 0.001 * min(open_questions(report), 99) + 1e-6 * min(size(source), 9_999)
        return dict.fromkeys(task_ids, 0.6 + 0.4 * score_of(report) - less)
    wrong = {f.counterexample.trace for c in report.checks for f in c.findings if f.counterexample and f.severity == "error"}
    share = sum(c.verdict in (Verdict.PASS, None) for c in report.checks) / len(CATALOG)
    return {task_id: 0.0 if task_id in wrong else 0.4 * min(share, 1.0) for task_id in task_ids}


def feedback(candidate: Candidate, report: Report) -> dict[str, Any]:
    """What a model is told of a version: its code, what was found, what is open, and what is only remarked. Must be quoted."""
    told = Attempt(candidate, report).told()
    told.pop("bindings", None)  # the recordings' arguments stay
    told["score"] = score_of(report) if passed(report) else None
    remarks = [
        {"check": c.id, "message": clip(f.message), "line": f.line}
        for c in report.checks for f in c.findings if f.severity != "error" or c.verdict is Verdict.PASS
    ]  # fmt: skip
    return told | {"remarks": remarks[:MAX_REMARKS], "parts": size(candidate.source)}

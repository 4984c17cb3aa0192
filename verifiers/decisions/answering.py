"""One answer to one question of a report."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from verifiers.decisions.file import DecisionError, add, check_cases
from verifiers.interface import Decision, Question, Report, Says


def answer(
    report: Report,
    n: int,
    says: Says,
    path: Path,
    *,
    text: str = "",
    who: str = "",
    when: str = "",
    tasks: Collection[str] | None = None,
    copied_from: Path | None = None,
) -> Decision:
    """Answers question ``n`` (from 1) of a report, adds the decision to the file at ``path`` and returns it.

    Args:
        says: Who is right: the ``commands``, the ``skill``, ``neither``; or ``invalid``: no such start is ever to be expected.
        text: Of ``neither``: what would be right.
        when: ISO 8601.
        tasks: task_ids of the evidence, where they are to be checked.
        copied_from: Decisions that a new file starts with.

    Raises:
        DecisionError: there is no such question, its trace is gone, the answer is incomplete, or the file says otherwise.
    """
    question = asked(report, n)
    if (says == "neither") != bool(text.strip()):
        what = "an answer 'neither' needs a text" if says == "neither" else f"an answer {says!r} takes no text"
        raise DecisionError(what, "Say what would be right with: --neither TEXT", report.path)
    decision = Decision(replace(question, answer=""), says, text.strip(), who, when)
    if tasks is not None:
        check_cases([decision], tasks, path)
    add(path, [decision], copied_from)
    return decision


def asked(report: Report, n: int) -> Question:
    """Question ``n`` of a report.

    Raises:
        DecisionError: there is none.
    """
    count = len(report.questions)
    if not 1 <= n <= count:
        said = ", ".join(dict.fromkeys(d.says for d in report.decisions))
        none = f"all that it asked is answered ({said})" if said else "it asks none"
        there = none if not count else "it asks only one" if count == 1 else f"it asks {count}"
        raise DecisionError(f"the report has no question {n}: {there}", "See: assay verify", report.path)
    return report.questions[n - 1]

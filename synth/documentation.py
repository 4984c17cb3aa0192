"""``SKILL.md`` of a learned skill: what it does, its parameters, examples from verified replays, and the limits."""

from __future__ import annotations

from collections.abc import Iterator

from synth.crystallization.search import Found
from synth.export.document import checked, examples, front_matter, parameters, preconditions, prose
from synth.interface import TracePattern
from verifiers.interface import Decision, Report
from verifiers.subject import parse_subject


def skill_md(found: Found, pattern: TracePattern, decisions: tuple[Decision, ...] = ()) -> str:
    """The text of ``SKILL.md``. Equal inputs give equal text: no times, no host."""
    subject = parse_subject(found.candidate.source, "skill.py", found.report.profile, name=found.candidate.name)
    summary = found.candidate.description.strip() or subject.description
    head = {
        "name": found.candidate.name,
        "description": summary,
        "metadata": {"source": "crystallized", "category": pattern.task_category},
    }
    replayed = ((t.task_description, found.bindings[t.task_id]) for t in pattern.traces if t.task_id in found.bindings)
    lines = [
        front_matter(head),
        f"# {found.candidate.name}", "", prose(summary), "",
        *parameters(subject), *preconditions(decisions), *examples(replayed), *_limits(found.report),
    ]  # fmt: skip
    return checked("\n".join(lines).rstrip() + "\n", found.candidate.name)


def _limits(report: Report) -> Iterator[str]:
    yield from ("## Limits", "", "It does what its evidence shows; that is not a proof.", "")
    yield f"- Shown on {report.evidence.usable} recorded traces."
    if report.evidence.reconstructed:
        yield f"- The start of {report.evidence.reconstructed} of them was reconstructed from commands and outputs."
    if report.capabilities:
        yield f"- Measured: {', '.join(sorted(report.capabilities))}."
    for check in report.checks:
        if check.id == "mutants-killed":
            continue  # what the evidence leaves open is for whoever can record more, and in the report
        notes = [f.message for f in check.findings if f.severity != "error"]
        yield from (f"- {check.id}: {prose(text)}" for text in notes[:3])
    yield ""

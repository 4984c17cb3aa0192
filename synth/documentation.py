"""``SKILL.md`` of a learned skill: what it does, its parameters, examples from verified replays, and the limits."""

from __future__ import annotations

from collections.abc import Iterator

from synth.crystallization.search import Found
from synth.export.document import checked, code, front_matter, prose
from synth.interface import TracePattern
from verifiers.interface import Report, Subject
from verifiers.subject import parse_subject

MAX_EXAMPLES = 3


def skill_md(found: Found, pattern: TracePattern) -> str:
    """The text of ``SKILL.md``. Equal inputs give equal text: no times, no host."""
    subject = parse_subject(found.candidate.source, "skill.py", found.report.profile, name=found.candidate.name)
    summary = found.candidate.description.strip() or subject.description
    head = {
        "name": found.candidate.name,
        "description": summary,
        "metadata": {"source": "crystallized", "category": pattern.task_category},
    }
    lines = [
        front_matter(head),
        f"# {found.candidate.name}", "", prose(summary), "",
        *_parameters(subject), *_examples(found, pattern), *_limits(found.report),
    ]  # fmt: skip
    return checked("\n".join(lines).rstrip() + "\n", found.candidate.name)


def _parameters(subject: Subject) -> Iterator[str]:
    if not subject.parameters:
        return
    yield from ("## Parameters", "", "| name | type | required | meaning |", "|---|---|---|---|")
    for p in subject.parameters:
        required = "yes" if p.required else f"no, default {code(p.default)}"
        yield f"| `{p.name}` | `{p.annotation}` | {required} | {prose(p.description)} |"
    yield ""


def _examples(found: Found, pattern: TracePattern) -> Iterator[str]:
    """Requests that were really made, with the arguments under which a replay of the skill did the same."""
    shown = [t for t in pattern.traces if t.task_id in found.bindings][:MAX_EXAMPLES]
    if not shown:
        return
    yield from ("## Examples", "", "Each was replayed in the sandbox with these arguments, with the recorded effect.", "")
    for trace in shown:
        yield f"- {prose(trace.task_description)}: {code(found.bindings[trace.task_id])}"
    yield ""


def _limits(report: Report) -> Iterator[str]:
    yield from ("## Limits", "", "It does what its evidence shows; that is not a proof.", "")
    yield f"- Shown on {report.evidence.usable} recorded traces."
    if report.evidence.reconstructed:
        yield f"- The start of {report.evidence.reconstructed} of them was reconstructed from commands and outputs."
    if report.capabilities:
        yield f"- Measured: {', '.join(sorted(report.capabilities))}."
    for check in report.checks:
        notes = [f.message for f in check.findings if f.severity != "error"]
        yield from (f"- {check.id}: {prose(text)}" for text in notes[:3])
    yield ""

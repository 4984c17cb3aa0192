"""From replayed evidence and bindings to cases: which trace is judged with which arguments (docs/semantics.md, "Bindings")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.interface import Session
from verifiers.binding.bindings import validate_binding
from verifiers.binding.confirm import infer
from verifiers.context import Case
from verifiers.expectation.oracle import Replayed
from verifiers.interface import Binding, CheckResult, Finding, Subject, Verdict

NOTHING_BOUND = CheckResult("bindings", Verdict.INCONCLUSIVE, why="nothing was bound")


@dataclass(frozen=True, slots=True)
class Bound:
    """The cases, the bindings they use, and what is to be said about them."""

    cases: tuple[Case, ...] = ()
    bindings: Mapping[str, Binding] = field(default_factory=dict)
    result: CheckResult = NOTHING_BOUND


def bind(subject: Subject, replayed: Replayed, bindings: Mapping[str, Binding] | None, skill: Session) -> Bound:
    """Gives each usable trace its binding: the given one, checked, or an inferred one."""
    if bindings is None:
        bindings, notes = infer(subject, replayed, skill)
    else:
        notes = []
    cases, findings = [], list(notes)
    for u in replayed.usable:
        binding = bindings.get(u.task_id)
        if binding is None:
            findings.append(
                Finding(f"trace {u.task_id} has no binding: give one, or exclude the trace with a reason", subject.path)
            )
            continue
        wrong = [f for f in validate_binding(subject, u.evidence, binding) if f.severity == "error"]
        findings += wrong
        if not wrong:
            cases.append(Case(f"trace {u.task_id}", binding.args, u.expectation, u.task_id, u.evidence))
    kept = {c.task_id: bindings[c.task_id] for c in cases}
    errors = [f for f in findings if f.severity == "error"]
    verdict = Verdict.INCONCLUSIVE if errors else Verdict.PASS
    return Bound(tuple(cases), kept, CheckResult("bindings", verdict, tuple(findings), errors[0].message if errors else ""))

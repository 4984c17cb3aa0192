"""Bindings that lie in a file: what is wrong with them is said of it, and where they may be wrong a finding says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from sandbox.interface import Session
from verifiers.binding.cases import Bound
from verifiers.binding.confirm import fitting
from verifiers.expectation.oracle import Replayed
from verifiers.interface import CheckResult, Finding, Subject, Verdict

BY_RECORDING = frozenset({"effect-equivalent", "answer-equivalent"})
"""Compare a call of the skill with the one recording that its arguments are of."""


def in_their_file(bound: Bound, path: str) -> Bound:
    """What is wrong with given bindings is mended in their file, not in the code."""
    if not path:
        return bound
    findings = tuple(replace(f, path=path, line=1) for f in bound.result.findings)
    return replace(bound, result=replace(bound.result, findings=findings))


def doubted(results: Sequence[CheckResult], replayed: Replayed, subject: Subject, skill: Session, path: str) -> list[CheckResult]:
    """Where the skill does what was recorded with the arguments that the recordings themselves give, their file may be wrong."""
    wrong = [r.id for r in results if r.id in BY_RECORDING and r.verdict is Verdict.FAIL]
    read = fitting(subject, replayed, skill) if wrong else {}

    def noted(finding: Finding) -> Finding:
        example = finding.counterexample
        binding = read.get(example.trace or "") if example is not None else None
        if example is None or binding is None or dict(binding.args) == dict(example.args):
            return finding
        args = json.dumps(dict(binding.args), sort_keys=True)
        note = f"bindings: with {args}, as the recording says, it does what was recorded: compare {path}"
        return replace(finding, notes=(*finding.notes, note))

    return [replace(r, findings=tuple(map(noted, r.findings))) if r.id in wrong else r for r in results]

"""A report as the registry keeps it: the JSON form without times, so that equal verifications have equal digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from synth.interface import ExecutionTrace
from synth.tracing.traces import to_evidence
from verifiers.decisions import question_to_json
from verifiers.interface import Args, CheckResult, Decided, Evidence, Finding, Report, Verdict

SCHEMA = "assay-report/1"


def report_document(report: Report) -> dict[str, Any]:
    """The ``assay-report/1`` object of a report with every measured time left out. Equal for equal verifications."""
    doc: dict[str, Any] = {
        "schema": SCHEMA,
        "subject": {"name": report.name, "path": report.path, "sha256": report.sha256},
        "verdict": report.verdict.name,
        "why": report.why,
        "score": report.score.value if report.score is not None else None,
        "estimate": report.score.estimate if report.score is not None else None,
        "score_inputs": plain(report.score.inputs) if report.score is not None else None,
        "checks": [_check(c) for c in report.checks if c.verdict is not None],
        "not_applicable": [{"id": c.id, "why": c.why} for c in report.checks if c.verdict is None],
        "not_checked": [{"id": n.id, "why": n.why} for n in report.not_checked],
        "evidence": plain(report.evidence),
        "bindings": {task: {"args": plain(args)} for task, args in sorted(report.bindings.items())},
        "sandbox": None,
        "tools": dict(sorted(report.tools.items())),
        "seed": report.seed,
        "partial": report.partial,
        "budget": report.budget,
        "profile": report.profile,
        "capabilities": sorted(report.capabilities),
        "excluded": dict(sorted(report.excluded.items())),
        "inferred": sorted(report.inferred),
    }
    # Only where there are any: reports without them keep their digest.
    if report.questions:
        doc["questions"] = [{"n": n, **question_to_json(q)} for n, q in enumerate(report.questions, 1)]
    if report.decisions:
        doc["decisions"] = [{name: value for name, value in plain(d).items() if name != "when"} for d in report.decisions]
    if report.sandbox is not None:
        doc["sandbox"] = {name: value for name, value in plain(report.sandbox).items() if name not in ("seconds", "runs")}
    return doc


def _check(result: CheckResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "verdict": result.verdict.name if result.verdict is not None else None,
        "why": result.why,
        "findings": [_finding(f) for f in result.findings],
        "measured": plain(result.measured),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    doc = {f.name: plain(getattr(finding, f.name)) for f in fields(finding) if f.name != "fix"}
    return {key: value for key, value in doc.items() if value not in (None, "", [], {})}


def plain(value: object) -> Any:
    """``value`` as JSON data: dataclasses and mappings as objects with sorted keys, sequences and sets as lists.

    Raises:
        TypeError: it holds something that has no JSON form.
    """
    if isinstance(value, Verdict):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, frozenset | set):
        return sorted(plain(v) for v in value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(v) for v in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def canonical(document: object) -> bytes:
    """One byte string for one JSON value: sorted keys, no spaces, ASCII."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def report_sha256(report: Report) -> str:
    """SHA-256 (hex) of a report, times apart."""
    return document_sha256(report_document(report))


def document_sha256(document: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of a stored report document."""
    return hashlib.sha256(canonical(document)).hexdigest()


def evidence_sha256(evidence: Iterable[Evidence]) -> str:
    """SHA-256 (hex) over the digests of a skill's evidence, whatever its order."""
    return hashlib.sha256("\n".join(sorted(e.digest for e in evidence)).encode()).hexdigest()


def traces_sha256(traces: Iterable[ExecutionTrace]) -> str:
    """``evidence_sha256`` of what the traces hold."""
    return evidence_sha256(to_evidence(t) for t in traces)


def decisions_sha256(decisions: Iterable[Decided]) -> str:
    """SHA-256 (hex) over the digests of decisions, whatever their order."""
    return hashlib.sha256("\n".join(sorted(d.digest for d in decisions)).encode()).hexdigest()


def bindings_sha256(bindings: Mapping[str, Args]) -> str:
    """SHA-256 (hex) of bindings, whatever their order."""
    return hashlib.sha256(canonical({task: plain(args) for task, args in bindings.items()})).hexdigest()

"""``assay-report/1``: a report as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast, get_args

from sandbox.interface import JsonValue
from verifiers.decisions.line import question_from_json, question_to_json
from verifiers.interface import (
    AssayError,
    Budget,
    CheckResult,
    Counterexample,
    Decided,
    EvidenceSummary,
    Finding,
    Fix,
    NotChecked,
    Profile,
    Question,
    Report,
    SandboxSummary,
    Says,
    Score,
    Severity,
    Verdict,
)
from verifiers.typed_json import flag, items, mapping, one_of, text, texts, whole

SCHEMA = "assay-report/1"


class ReportFormatError(AssayError, ValueError):
    """JSON that is not an ``assay-report/1``."""


# ---------------------------------------------------------------- writing


def report_to_json(report: Report) -> dict[str, JsonValue]:
    """Returns the report's JSON form (docs/design.md, "The report"). Only ``seconds`` depends on when it was made."""
    done = [c for c in report.checks if c.verdict is not None]
    return {
        "schema": SCHEMA,
        "subject": _subject(report),
        "verdict": report.verdict.name,
        "why": report.why,
        "score": report.score.value if report.score else None,
        "estimate": report.score.estimate if report.score else None,
        "score_inputs": dict(report.score.inputs) if report.score else None,
        "partial": report.partial,
        "budget": report.budget,
        "profile": report.profile,
        "checks": [_check(c) for c in done],
        "not_applicable": [_not_applicable(n, c) for n, c in enumerate(report.checks) if c.verdict is None],
        "not_checked": [{"id": n.id, "why": n.why, **({"decided": True} if n.decided else {})} for n in report.not_checked],
        "evidence": {
            "sha256": report.evidence.sha256,
            "traces": report.evidence.traces,
            "usable": report.evidence.usable,
            "reconstructed": report.evidence.reconstructed,
            "unusable": dict(sorted(report.evidence.unusable.items())),
            "volatile": {task: list(paths) for task, paths in sorted(report.evidence.volatile.items())},
        },
        "bindings": {
            task: {"args": dict(args), "inferred": task in report.inferred} for task, args in sorted(report.bindings.items())
        },
        "excluded": dict(sorted(report.excluded.items())),
        "capabilities": list(report.capabilities),
        "questions": [{"n": n, **question_to_json(q), "answer": q.answer} for n, q in enumerate(report.questions, 1)],
        "decisions": [_decided(d) for d in report.decisions],
        "sandbox": _sandbox(report.sandbox),
        "tools": dict(sorted(report.tools.items())),
        "seed": report.seed,
        "seconds": round(report.seconds, 3),
    }


def dump(value: Mapping[str, JsonValue] | JsonValue, indent: int | None = 2) -> str:
    """JSON text that can always be written as UTF-8: names that are not UTF-8 are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text):
        return text
    return json.dumps(value, ensure_ascii=True, indent=indent)


def without_times(value: JsonValue) -> JsonValue:
    """A report's JSON without its durations: equal for two verifications of the same bytes."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k != "seconds"}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def _subject(report: Report) -> dict[str, JsonValue]:
    row: dict[str, JsonValue] = {"name": report.name, "path": report.path, "sha256": report.sha256}
    return {**row, "edited": list(report.edited)} if report.edited else row


def _check(check: CheckResult) -> dict[str, JsonValue]:
    return {
        "id": check.id,
        "verdict": check.verdict.name if check.verdict is not None else "NOT_APPLICABLE",
        "why": check.why,
        "findings": [_finding(f) for f in check.findings],
        "runs": check.runs,
        "seconds": round(check.seconds, 3),
        "measured": dict(check.measured),
    }


def _not_applicable(index: int, check: CheckResult) -> dict[str, JsonValue]:
    row = _check(check)
    row["index"] = index
    return row


def _finding(finding: Finding) -> dict[str, JsonValue]:
    fix, example = finding.fix, finding.counterexample
    return {
        "message": finding.message,
        "path": finding.path,
        "line": finding.line,
        "severity": finding.severity,
        "rule": finding.rule,
        "counterexample": _counterexample(example) if example is not None else None,
        "notes": list(finding.notes),
        "reproduce": finding.reproduce,
        "fix": {"safe": fix.safe, "title": fix.title, "replacement": fix.replacement} if fix is not None else None,
    }


def _decided(decided: Decided) -> dict[str, JsonValue]:
    d = decided
    return {"says": d.says, "invariant": d.invariant, "digest": d.digest, "who": d.who, "when": d.when}


def _counterexample(example: Counterexample) -> dict[str, JsonValue]:
    row: dict[str, JsonValue] = {"trace": example.trace} if example.trace is not None else {}
    return {**row, "case": example.case, "args": dict(example.args), "expected": example.expected, "observed": example.observed}


def _sandbox(sandbox: SandboxSummary | None) -> JsonValue:
    if sandbox is None:
        return None
    return {
        "runtime": sandbox.runtime,
        "image": sandbox.image,
        "inventory": sandbox.inventory,
        "runs": sandbox.runs,
        "seconds": round(sandbox.seconds, 3),
    }


# ---------------------------------------------------------------- reading


def report_from_json(data: object, where: str = "report") -> Report:
    """Returns the report that ``report_to_json`` wrote.

    Raises:
        ReportFormatError: another schema, or a part that is missing or of the wrong type; says which.
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise ReportFormatError(f"not an {SCHEMA} report (found {found!r})", "Write it with `assay verify --format json`.", where)
    try:
        return _report(data)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as e:
        what = f"key {e} is missing" if isinstance(e, KeyError) else str(e)
        raise ReportFormatError(f"damaged report: {what}", "Run `assay verify` again.", where) from e


def _report(data: Mapping[str, Any]) -> Report:
    checks = [_read_check(mapping(c)) for c in items(data["checks"])]
    for row in sorted(items(data["not_applicable"]), key=lambda r: whole(r["index"])):
        checks.insert(whole(row["index"]), _read_check(mapping(row)))
    subject, evidence = mapping(data["subject"]), mapping(data["evidence"])
    bindings = {str(task): mapping(row) for task, row in mapping(data["bindings"]).items()}
    return Report(
        name=text(subject["name"]),
        path=text(subject["path"]),
        sha256=text(subject["sha256"]),
        verdict=Verdict[text(data["verdict"])],
        score=_read_score(data),
        checks=tuple(checks),
        not_checked=tuple(
            NotChecked(text(n["id"]), text(n["why"]), n.get("decided") is True) for n in items(data["not_checked"])
        ),
        evidence=EvidenceSummary(
            sha256=text(evidence["sha256"]),
            traces=whole(evidence["traces"]),
            usable=whole(evidence["usable"]),
            reconstructed=whole(evidence["reconstructed"]),
            unusable={k: text(v) for k, v in mapping(evidence["unusable"]).items()},
            volatile={k: texts(v) for k, v in mapping(evidence["volatile"]).items()},
        ),
        bindings={task: mapping(row["args"]) for task, row in bindings.items()},
        sandbox=_read_sandbox(data["sandbox"]),
        tools={k: text(v) for k, v in mapping(data["tools"]).items()},
        seed=whole(data["seed"]),
        seconds=float(data["seconds"]),
        partial=flag(data["partial"]),
        budget=cast("Budget", one_of(data["budget"], get_args(Budget))),
        profile=cast("Profile", one_of(data["profile"], get_args(Profile))),
        capabilities=texts(data["capabilities"]),
        excluded={k: text(v) for k, v in mapping(data["excluded"]).items()},
        questions=tuple(_read_question(mapping(row), n) for n, row in enumerate(items(data.get("questions", [])), 1)),
        decisions=tuple(_read_decided(mapping(row)) for row in items(data.get("decisions", []))),
        edited=texts(subject.get("edited", [])),
        inferred=tuple(task for task, row in sorted(bindings.items()) if row.get("inferred") is True),
    )


def _read_score(data: Mapping[str, Any]) -> Score | None:
    if data["score"] is None:
        return None
    value, estimate = float(data["score"]), float(data["estimate"])
    if not (0.0 <= value <= 1.0 and 0.0 <= estimate <= 1.0):
        raise ValueError(f"score {value} or estimate {estimate} is not between 0 and 1")
    return Score(value, estimate, mapping(data["score_inputs"]))


def _read_check(row: Mapping[str, Any]) -> CheckResult:
    verdict = text(row["verdict"])
    return CheckResult(
        id=text(row["id"]),
        verdict=None if verdict == "NOT_APPLICABLE" else Verdict[verdict],
        findings=tuple(_read_finding(mapping(f)) for f in items(row["findings"])),
        why=text(row["why"]),
        runs=whole(row["runs"]),
        seconds=float(row["seconds"]),
        measured=mapping(row["measured"]),
    )


def _read_finding(row: Mapping[str, Any]) -> Finding:
    fix, example = row["fix"], row["counterexample"]
    return Finding(
        message=text(row["message"]),
        path=text(row["path"]),
        line=whole(row["line"]),
        severity=cast("Severity", one_of(row["severity"], get_args(Severity))),
        counterexample=None if example is None else _read_counterexample(mapping(example)),
        reproduce=text(row["reproduce"]),
        fix=None if fix is None else Fix(flag(fix["safe"]), text(fix["title"]), text(fix["replacement"])),
        notes=texts(row["notes"]),
        rule=text(row["rule"]),
    )


def _read_counterexample(row: Mapping[str, Any]) -> Counterexample:
    trace = row.get("trace")
    name = None if trace is None else text(trace)
    return Counterexample(text(row["case"]), mapping(row["args"]), text(row["expected"]), text(row["observed"]), name)


def _read_question(row: Mapping[str, Any], n: int) -> Question:
    if whole(row["n"]) != n:
        raise ValueError(f"question {n} is called {row['n']}")
    return replace(question_from_json(row), answer=text(row["answer"]))


def _read_decided(row: Mapping[str, Any]) -> Decided:
    says = cast("Says", one_of(row["says"], get_args(Says)))
    return Decided(says, text(row["invariant"]), text(row["digest"]), text(row["who"]), text(row["when"]))


def _read_sandbox(row: object) -> SandboxSummary | None:
    if row is None:
        return None
    data = mapping(row)
    runtime, image, inventory = (text(data[n]) for n in ("runtime", "image", "inventory"))
    return SandboxSummary(runtime, image, inventory, whole(data["runs"]), float(data["seconds"]))

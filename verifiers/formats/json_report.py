"""``assay-report/1``: a report as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

from sandbox.interface import JsonValue
from verifiers.interface import (
    AssayError,
    Budget,
    CheckResult,
    Counterexample,
    EvidenceSummary,
    Finding,
    Fix,
    NotChecked,
    Profile,
    Report,
    SandboxSummary,
    Score,
    Severity,
    Verdict,
)

SCHEMA = "assay-report/1"


class ReportFormatError(AssayError, ValueError):
    """JSON that is not an ``assay-report/1``."""


# ---------------------------------------------------------------- writing


def report_to_json(report: Report) -> dict[str, JsonValue]:
    """Returns the report's JSON form (DESIGN §9, SEMANTICS §10). Only ``seconds`` depends on when it was made."""
    done = [c for c in report.checks if c.verdict is not None]
    return {
        "schema": SCHEMA,
        "subject": {"name": report.name, "path": report.path, "sha256": report.sha256},
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
        "not_checked": [{"id": n.id, "why": n.why} for n in report.not_checked],
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
    checks = [_read_check(_dict(c)) for c in _list(data["checks"])]
    for row in sorted(_list(data["not_applicable"]), key=lambda r: _int(r["index"])):
        checks.insert(_int(row["index"]), _read_check(_dict(row)))
    subject, evidence = _dict(data["subject"]), _dict(data["evidence"])
    bindings = {str(task): _dict(row) for task, row in _dict(data["bindings"]).items()}
    return Report(
        name=_str(subject["name"]),
        path=_str(subject["path"]),
        sha256=_str(subject["sha256"]),
        verdict=Verdict[_str(data["verdict"])],
        score=_read_score(data),
        checks=tuple(checks),
        not_checked=tuple(NotChecked(_str(n["id"]), _str(n["why"])) for n in _list(data["not_checked"])),
        evidence=EvidenceSummary(
            sha256=_str(evidence["sha256"]),
            traces=_int(evidence["traces"]),
            usable=_int(evidence["usable"]),
            reconstructed=_int(evidence["reconstructed"]),
            unusable={k: _str(v) for k, v in _dict(evidence["unusable"]).items()},
            volatile={k: tuple(_strings(v)) for k, v in _dict(evidence["volatile"]).items()},
        ),
        bindings={task: _dict(row["args"]) for task, row in bindings.items()},
        sandbox=_read_sandbox(data["sandbox"]),
        tools={k: _str(v) for k, v in _dict(data["tools"]).items()},
        seed=_int(data["seed"]),
        seconds=float(data["seconds"]),
        partial=_bool(data["partial"]),
        budget=cast("Budget", _one_of(data["budget"], get_args(Budget))),
        profile=cast("Profile", _one_of(data["profile"], get_args(Profile))),
        capabilities=tuple(_strings(data["capabilities"])),
        excluded={k: _str(v) for k, v in _dict(data["excluded"]).items()},
        inferred=tuple(task for task, row in sorted(bindings.items()) if row.get("inferred") is True),
    )


def _read_score(data: Mapping[str, Any]) -> Score | None:
    if data["score"] is None:
        return None
    value, estimate = float(data["score"]), float(data["estimate"])
    if not (0.0 <= value <= 1.0 and 0.0 <= estimate <= 1.0):
        raise ValueError(f"score {value} or estimate {estimate} is not between 0 and 1")
    return Score(value, estimate, _dict(data["score_inputs"]))


def _read_check(row: Mapping[str, Any]) -> CheckResult:
    verdict = _str(row["verdict"])
    return CheckResult(
        id=_str(row["id"]),
        verdict=None if verdict == "NOT_APPLICABLE" else Verdict[verdict],
        findings=tuple(_read_finding(_dict(f)) for f in _list(row["findings"])),
        why=_str(row["why"]),
        runs=_int(row["runs"]),
        seconds=float(row["seconds"]),
        measured=_dict(row["measured"]),
    )


def _read_finding(row: Mapping[str, Any]) -> Finding:
    fix, example = row["fix"], row["counterexample"]
    return Finding(
        message=_str(row["message"]),
        path=_str(row["path"]),
        line=_int(row["line"]),
        severity=cast("Severity", _one_of(row["severity"], get_args(Severity))),
        counterexample=None if example is None else _read_counterexample(_dict(example)),
        reproduce=_str(row["reproduce"]),
        fix=None if fix is None else Fix(_bool(fix["safe"]), _str(fix["title"]), _str(fix["replacement"])),
        notes=tuple(_strings(row["notes"])),
        rule=_str(row["rule"]),
    )


def _read_counterexample(row: Mapping[str, Any]) -> Counterexample:
    trace = row.get("trace")
    name = None if trace is None else _str(trace)
    return Counterexample(_str(row["case"]), _dict(row["args"]), _str(row["expected"]), _str(row["observed"]), name)


def _read_sandbox(row: object) -> SandboxSummary | None:
    if row is None:
        return None
    data = _dict(row)
    runtime, image, inventory = (_str(data[n]) for n in ("runtime", "image", "inventory"))
    return SandboxSummary(runtime, image, inventory, _int(data["runs"]), float(data["seconds"]))


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"expected a whole number, found {type(value).__name__}")
    return value


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, found {type(value).__name__}")
    return value


def _dict(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {type(value).__name__}")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, found {type(value).__name__}")
    return value


def _strings(value: object) -> Iterable[str]:
    return [_str(v) for v in _list(value)]


def _one_of(value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"expected one of {', '.join(allowed)}, found {value!r}")
    return str(value)

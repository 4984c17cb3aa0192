"""A gate's ``assay-gate/1`` document read back: the policy's verdicts with the reports, and what gave no report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from verifiers.formats.json_report import ReportFormatError, report_from_json
from verifiers.gating.gate import SCHEMA, Failure, GateResult, Row
from verifiers.gating.policy import Waiver
from verifiers.interface import Report, Verdict, merge


def gate_from_json(data: object, where: str = "") -> GateResult:
    """Returns the result that ``gate_to_json`` wrote. The verdict is merged anew, never taken from the file.

    Raises:
        ReportFormatError: another schema, or a part that is missing, of the wrong type or does not fit the others.
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ReportFormatError(f"not an {SCHEMA} document", "Write it with `assay gate --format json`.", where)
    try:
        reports = [report_from_json(row, where) for row in _list(data["reports"])]
        return _result(data, reports)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as e:
        if isinstance(e, ReportFormatError):
            raise
        what = f"key {e} is missing" if isinstance(e, KeyError) else str(e)
        raise ReportFormatError(f"damaged gate document: {what}", "Run `assay gate` again.", where) from e


def _result(data: Mapping[str, Any], reports: list[Report]) -> GateResult:
    rows = tuple(_row(row, report) for row, report in zip(_list(data["skills"]), reports, strict=True))
    failures = tuple(Failure(str(f["path"]), _verdict(f["verdict"]), str(f["why"])) for f in _list(data["failures"]))
    verdicts = [r.verdict for r in rows] + [f.verdict for f in failures]
    unchanged = data["unchanged"]
    if type(unchanged) is not int or unchanged < 0:
        raise ValueError(f"unchanged is {unchanged!r}")
    return GateResult(
        verdict=merge(verdicts or [Verdict.PASS] * min(unchanged, 1)),
        rows=rows,
        failures=failures,
        notes=tuple(str(note) for note in _list(data["notes"])),
        minimum_score=float(data["policy"]["minimum_score"]),
        salt_digest=str(data["policy"]["seed_salt_sha256"]),
        unchanged=unchanged,
    )


def _row(row: Mapping[str, Any], report: Report) -> Row:
    if row["path"] != report.path:
        raise ValueError(f"the verdict on {row['path']!r} stands where the report on {report.path!r} is")
    waived = tuple(Waiver(w["skill"], w["check"], w["reason"], date.fromisoformat(w["expires"])) for w in _list(row["waived"]))
    return Row(report, _verdict(row["verdict"]), tuple(str(r) for r in _list(row["reasons"])), waived)


def _verdict(name: object) -> Verdict:
    if not isinstance(name, str) or name not in Verdict.__members__:
        raise ValueError(f"{name!r} is no verdict")
    return Verdict[name]


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, found {type(value).__name__}")
    return value

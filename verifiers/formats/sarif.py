"""SARIF 2.1.0, within what GitHub's code scanning takes."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from urllib.parse import quote

from sandbox.interface import JsonValue
from verifiers.formats.effects import details
from verifiers.formats.json_report import dump
from verifiers.formats.page import Page, edited_line, findings
from verifiers.formats.questions import RULE
from verifiers.formats.questions import details as question_details
from verifiers.formats.text import clip, escape
from verifiers.interface import CheckResult, Finding, Question, Report, Verdict

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
NOT_JUDGED = "not-judged"
"""Rule of what closed a gate and is no finding of a check: evidence that is missing, checks that could not run."""
EDITED = "edited-since-export"
"""Rule of an exported skill that is not as it was exported."""
MAX_RESULTS = 5000
"""GitHub keeps the top 5,000 results of a run."""
_MAX_MESSAGE = 4000


def render(page: Page) -> str:
    """Returns one SARIF log with one run. Waived findings are suppressed results; what was not checked are notifications."""
    found = results(page)
    notifications = list(_notifications(page))
    if len(found) > MAX_RESULTS:
        notifications.append(_notification(f"{len(found) - MAX_RESULTS} more results were left out", "", "warning"))
        found = found[:MAX_RESULTS]
    used = sorted({str(r["ruleId"]) for r in found})
    driver: dict[str, JsonValue] = {
        "name": "assay",
        "rules": [_rule(page, id) for id in used],
    }
    version = _version()
    if version:
        driver["version"] = version
    for result in found:
        result["ruleIndex"] = used.index(str(result["ruleId"]))
    run: dict[str, JsonValue] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": page.verdict is not Verdict.INCONCLUSIVE,
                "toolExecutionNotifications": list[JsonValue](notifications),
            }
        ],
        "results": list[JsonValue](found),
    }
    return dump({"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}) + "\n"


def results(page: Page) -> list[dict[str, JsonValue]]:
    """The SARIF results, errors first."""
    return [result for _, result in sorted(_results(page), key=lambda r: r[0])]


def _version() -> str:
    try:
        return metadata.version("skill-assay")
    except metadata.PackageNotFoundError:
        return ""


def _question(report: Report, n: int, question: Question) -> dict[str, JsonValue]:
    """The same case of the same skill has the same print, whatever its number."""
    text = "\n".join([f"QUESTION[{n}]: {question.message}", *question_details(question)])
    print_ = hashlib.sha256(_bytes("\0".join((report.path, RULE, question.case.digest)))).hexdigest()[:16]
    return {
        "ruleId": RULE,
        "level": "note",
        "message": {"text": clip(escape(text, keep="\n\t"), _MAX_MESSAGE)},
        "locations": [_location(report, report.path, {"startLine": 1})],
        "partialFingerprints": {"primaryLocationLineHash": f"{print_}:1"},
        "properties": {"invariant": escape(question.invariant), "answer": escape(question.answer)},
    }


def _location(report: Report, path: str, region: dict[str, JsonValue]) -> JsonValue:
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": region},
        "logicalLocations": [{"name": escape(report.name), "kind": "function"}],
    }


def _rule(page: Page, id: str) -> dict[str, JsonValue]:
    own = {
        RULE: ("What should happen where the evidence does not say?", "assay answer --help"),
        NOT_JUDGED: ("Could the skill be judged?", "assay verify --help"),
        EDITED: ("Is the exported skill as it was exported?", "assay export --help"),
    }
    question, command = own.get(id, (page.title(id), f"assay verify --explain {id}"))
    return {
        "id": id,
        "shortDescription": {"text": question},
        "help": {"text": command},
        "properties": {"tags": ["skill"]},
    }


def _results(page: Page) -> Iterator[tuple[int, dict[str, JsonValue]]]:
    seen: Counter[str] = Counter()
    for report in page.reports:
        row = page.row(report)
        waived = {w.check: w for w in row.waived}
        shown = False
        for check, finding in findings(report):
            level = _level(check, finding)
            result = _result(page, report, check, finding, level)
            result["partialFingerprints"] = _fingerprints(page, report, check, finding, seen)
            if check.id in waived:
                waiver = waived[check.id]
                why = f"{waiver.reason} (until {waiver.expires.isoformat()})"
                result["suppressions"] = [{"kind": "external", "justification": escape(why)}]
            shown = shown or level != "note"
            yield {"error": 0, "warning": 1, "note": 2}[level], result
        if row.verdict is not Verdict.PASS and not shown:
            yield 1, _not_judged(report.path, row.verdict, "; ".join(row.reasons) or report.why)
        if report.edited:
            yield 2, _edited(report)
        yield from ((2, _question(report, n, question)) for n, question in enumerate(report.questions, 1))
    for failure in page.gate.failures if page.gate is not None else ():
        yield 0 if failure.verdict is Verdict.FAIL else 1, _not_judged(failure.path, failure.verdict, failure.why)


def _edited(report: Report) -> dict[str, JsonValue]:
    print_ = hashlib.sha256(_bytes("\0".join((report.path, EDITED)))).hexdigest()[:16]
    return {
        "ruleId": EDITED,
        "level": "note",
        "message": {"text": clip(escape(edited_line(report)), _MAX_MESSAGE)},
        "locations": [_location(report, report.path, {"startLine": 1})],
        "partialFingerprints": {"primaryLocationLineHash": f"{print_}:1"},
    }


def _not_judged(path: str, verdict: Verdict, why: str) -> dict[str, JsonValue]:
    """A skill without any other result: code scanning shows results alone."""
    print_ = hashlib.sha256(_bytes("\0".join((path, NOT_JUDGED)))).hexdigest()[:16]
    return {
        "ruleId": NOT_JUDGED,
        "level": "error" if verdict is Verdict.FAIL else "warning",
        "message": {"text": clip(escape(f"{verdict.name}: {why}"), _MAX_MESSAGE)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": 1}}}],
        "partialFingerprints": {"primaryLocationLineHash": f"{print_}:1"},
    }


def _level(check: CheckResult, finding: Finding) -> str:
    if finding.severity == "error":
        return "error" if check.verdict is Verdict.FAIL else "warning"
    return "warning" if finding.severity == "warning" else "note"


def _result(page: Page, report: Report, check: CheckResult, finding: Finding, level: str) -> dict[str, JsonValue]:
    region: dict[str, JsonValue] = {"startLine": max(1, finding.line)}
    text = page.line(finding.path or report.path, finding.line)
    if text is not None:
        region["snippet"] = {"text": escape(text, keep="\t")}
    return {
        "ruleId": check.id,
        "level": level,
        "message": {"text": clip(escape("\n".join([finding.message, *details(finding)]), keep="\n\t"), _MAX_MESSAGE)},
        "locations": [_location(report, finding.path or report.path, region)],
        "properties": {
            "verdict": check.verdict.name if check.verdict is not None else "NOT_APPLICABLE",
            "rule": finding.rule,
            "reproduce": escape(finding.reproduce),
        },
    }


def _fingerprints(page: Page, report: Report, check: CheckResult, finding: Finding, seen: Counter[str]) -> dict[str, JsonValue]:
    """The same finding has the same print after lines were added above it or a count in its message changed."""
    path = finding.path or report.path
    line = page.line(path, finding.line)
    around = " ".join(line.split()) if line is not None else re.sub(r"\d+", "#", finding.message)
    base = hashlib.sha256(_bytes("\0".join((path, check.id, finding.rule, around)))).hexdigest()[:16]
    seen[base] += 1
    return {"primaryLocationLineHash": f"{base}:{seen[base]}"}


def _notifications(page: Page) -> Iterator[JsonValue]:
    for report in page.reports:
        for why in dict.fromkeys(n.why for n in report.not_checked):
            ids = ", ".join(n.id for n in report.not_checked if n.why == why)
            yield _notification(f"{report.name}: not checked: {ids}: {why}", report.path, "warning")
        for reason in page.row(report).reasons:
            yield _notification(f"{report.name}: {reason}", report.path, "warning")
    for failure in page.gate.failures if page.gate is not None else ():
        yield _notification(failure.why, failure.path, "error")


def _notification(text: str, path: str, level: str) -> dict[str, JsonValue]:
    row: dict[str, JsonValue] = {"message": {"text": clip(escape(text), _MAX_MESSAGE)}, "level": level}
    if path:
        row["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": _uri(path)}}}]
    return row


def _uri(path: str) -> str:
    return quote(_bytes(path), safe="/._-~")


def _bytes(text: str) -> bytes:
    """Text with the bytes of a file name that is not UTF-8; other lone surrogates, which no system gives, as escapes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")

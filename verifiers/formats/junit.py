"""JUnit XML in the dialect that pytest writes and Jenkins reads: one suite a skill, one case a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from verifiers.formats.effects import details
from verifiers.formats.page import Page, edited_line
from verifiers.formats.questions import details as question_details
from verifiers.formats.text import clip, escape
from verifiers.gating.gate import Row
from verifiers.interface import Finding, Report, Verdict

_MAX_TEXT = 20_000


def render(page: Page) -> str:
    """Returns the XML. FAIL = failure, INCONCLUSIVE = error, not applicable or not checked or waived = skipped.

    A last case, ``verdict``, carries what closes the gate without being a check's own failure.
    No host name and no time of day is in it, so two reports of the same bytes differ in durations only.
    """
    document = JUnitXml("assay")
    for report in page.reports:
        document.add_testsuite(_suite(page, report))
    if page.gate is not None and page.gate.failures:
        suite = TestSuite("assay gate")
        for failed in page.gate.failures:
            case = TestCase("verdict", classname=_class(failed.path), time=0.0)
            kind = Failure if failed.verdict is Verdict.FAIL else Error
            case.result = [kind(message=escape(failed.why), type_=failed.verdict.name)]
            suite.add_testcase(case)
        document.add_testsuite(suite)
    count: Callable[[], None] = document.update_statistics
    write: Callable[[], bytes] = document.tostring
    count()
    text = write().decode("utf-8")
    return text if text.endswith("\n") else text + "\n"


def _suite(page: Page, report: Report) -> TestSuite:
    row = page.row(report)
    suite = TestSuite(escape(report.path))
    suite.add_property("sha256", report.sha256)
    suite.add_property("verdict", report.verdict.name)
    if report.score is not None:
        suite.add_property("score", f"{report.score.value:.6f}")
    if report.edited:
        suite.add_property("edited", clip(escape(edited_line(report)), _MAX_TEXT))
    if report.questions:
        suite.add_property("questions", str(len(report.questions)))
    suite.add_testcases([*_checks(report, row), *_missing(report), _verdict(report, row)])
    return suite


def _checks(report: Report, row: Row) -> Iterator[TestCase]:
    waived = {w.check: w for w in row.waived}
    for check in report.checks:
        case = TestCase(check.id, classname=_class(report.path), time=round(check.seconds, 3))
        errors = [f for f in check.findings if f.severity == "error"]
        message = clip(escape(errors[0].message if errors else check.why), 500)
        text = clip("\n\n".join(_text(f) for f in errors), _MAX_TEXT)
        if check.verdict is None:
            case.result = [Skipped(message=f"not applicable: {escape(check.why)}", type_="NOT_APPLICABLE")]
        elif check.verdict is not Verdict.PASS and check.id in waived:
            waiver = waived[check.id]
            why = f"waived until {waiver.expires.isoformat()}: {waiver.reason}: {message}"
            case.result = [Skipped(message=escape(why), type_="WAIVED")]
        elif check.verdict is Verdict.FAIL:
            result = Failure(message=message, type_="FAIL")
            result.text = text
            case.result = [result]
        elif check.verdict is Verdict.INCONCLUSIVE:
            inconclusive = Error(message=message, type_="INCONCLUSIVE")
            inconclusive.text = text
            case.result = [inconclusive]
        rest = [_text(f) for f in check.findings if f.severity != "error"]
        if rest:
            case.system_out = clip("\n\n".join(rest), _MAX_TEXT)
        yield case


def _missing(report: Report) -> Iterator[TestCase]:
    for row in report.not_checked:
        case = TestCase(row.id, classname=_class(report.path), time=0.0)
        case.result = [Skipped(message=f"not checked: {escape(row.why)}", type_="NOT_CHECKED")]
        yield case


def _verdict(report: Report, row: Row) -> TestCase:
    """Skipped cases alone look green: the skill's own verdict is a case too."""
    case = TestCase("verdict", classname=_class(report.path), time=0.0)
    why = escape("; ".join(row.reasons) or report.why)
    if row.verdict is Verdict.FAIL:
        case.result = [Failure(message=why, type_="FAIL")]
    elif row.verdict is Verdict.INCONCLUSIVE:
        case.result = [Error(message=why, type_="INCONCLUSIVE")]
    asked = ["\n".join([f"QUESTION[{n}]: {q.message}", *question_details(q)]) for n, q in enumerate(report.questions, 1)]
    if asked:
        case.system_out = clip(escape("\n\n".join(asked), keep="\n\t"), _MAX_TEXT)
    return case


def _class(path: str) -> str:
    """A path in dots, as pytest writes modules: readers group cases by what stands before the last dot."""
    return escape(path.removesuffix(".py").replace("/", ".").strip(".")) or "skill"


def _text(finding: Finding) -> str:
    head = f"{finding.path}:{finding.line}: {finding.severity}: {finding.message}"
    return escape("\n".join([head, *details(finding)]), keep="\n\t")

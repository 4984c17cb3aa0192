"""GitHub Actions: annotations (workflow commands) and the step summary."""

from __future__ import annotations

from collections.abc import Iterator

from verifiers.formats.page import Page, edited_line, findings, label
from verifiers.formats.questions import details as question_details
from verifiers.formats.text import clip, escape
from verifiers.interface import CheckResult, Finding, Report, Severity, Verdict

PER_STEP = 10
"""GitHub shows 10 errors, 10 warnings and 10 notices of one step."""
SUMMARY_BYTES = 1 << 20
"""GitHub's limit for a step summary is 1 MiB."""
_MAX_MESSAGE = 4000
_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}


def render(page: Page) -> str:
    """Returns annotations within GitHub's limits, one spread over all skills first, and the summary line."""
    groups: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    for command, line in _annotations(page):
        groups[command].append(line)
    out: list[str] = []
    for command, lines in groups.items():
        kept = lines if len(lines) <= PER_STEP else lines[: PER_STEP - 1]
        out.extend(kept)
        if len(lines) > len(kept):
            out.append(_command(command, "", 0, "assay", f"{len(lines) - len(kept)} more {command}s are in the other outputs"))
    return "\n".join([*out, escape(page.summary())]) + "\n"


def fit_summary(markdown: str) -> str:
    """Markdown cut at a line so that GitHub takes it as a step summary."""
    if len(markdown.encode()) <= SUMMARY_BYTES:
        return markdown
    note = "\n\n_The rest did not fit into a step summary (1 MiB)._\n"
    room = SUMMARY_BYTES - len(note.encode()) - 8
    cut = markdown.encode()[:room].decode("utf-8", "ignore")
    closing = "\n```\n" if cut.count("\n```") % 2 else ""
    return cut.rpartition("\n")[0] + closing + note


def _annotations(page: Page) -> Iterator[tuple[str, str]]:
    """First one finding of every skill, an error if it has one, so that no skill is hidden by another's many; then the others."""
    failures = page.gate.failures if page.gate is not None else ()
    queues = [[("error", _command("error", f.path, 1, f"assay: {f.verdict.name}", f.why))] for f in failures]
    # An error first: it must not be behind the report's questions and notes where there is room for one line of each skill.
    queues += [sorted(_of_report(page, r), key=lambda line: line[0] != "error") for r in page.reports]
    for depth in range(max((len(q) for q in queues), default=0)):
        for queue in queues:
            if depth < len(queue):
                yield queue[depth]


def _of_report(page: Page, report: Report) -> Iterator[tuple[str, str]]:
    row = page.row(report)
    said = False
    if report.edited:
        yield "notice", _command("notice", report.path, 1, "assay: edited", edited_line(report))
    for n, question in enumerate(report.questions, 1):
        text = "\n".join([question.message, *question_details(question)])
        yield "notice", _command("notice", report.path, 1, f"assay QUESTION[{n}]", text)
    for check, finding in findings(report):
        command = _COMMANDS[finding.severity]
        if command == "error" and row.verdict is Verdict.PASS:
            command = "warning"  # waived
        said = said or command == "error"
        yield command, _of_finding(command, report, check, finding)
    if row.verdict is not Verdict.PASS and (not said or page.gate is not None):
        for reason in row.reasons or (report.why,):
            if not said or not any(reason.startswith(f"{c.id}:") for c in report.checks):
                yield "error", _command("error", report.path, 1, f"assay: {row.verdict.name}", reason)


def _of_finding(command: str, report: Report, check: CheckResult, finding: Finding) -> str:
    example = finding.counterexample
    lines = [finding.message, *finding.notes]
    if example is not None:
        lines.append(f"case: {example.case}")
        lines += [f"{k}: {v}" for k, v in (("expected", example.expected), ("observed", example.observed)) if v]
    if finding.reproduce:
        lines.append(f"reproduce: {finding.reproduce}")
    title = f"assay {label(check, finding)}[{check.id}]"
    return _command(command, finding.path or report.path, finding.line, title, "\n".join(lines))


def _command(command: str, file: str, line: int, title: str, message: str) -> str:
    properties = ([f"file={_property(file)}", f"line={line}"] if file else []) + [f"title={_property(title)}"]
    return f"::{command} {','.join(properties)}::{_data(clip(message, _MAX_MESSAGE))}"


def _data(text: str) -> str:
    kept = escape(text.replace("\r\n", "\n"), keep="\n\t")
    return kept.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

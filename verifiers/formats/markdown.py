"""Markdown: for pull requests and step summaries."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from verifiers.formats.effects import headline, sides
from verifiers.formats.page import Page, edited_line, evidence_line, findings, label, score_line
from verifiers.formats.questions import case_line, commands, count_line, did, start
from verifiers.formats.text import bound, clip, escape, one_line, plural, seconds
from verifiers.interface import CheckResult, Finding, Question, Report, Verdict
from verifiers.score import explain

_MARKS = {Verdict.PASS: "✅", Verdict.INCONCLUSIVE: "❔", Verdict.FAIL: "❌"}
_MAX_TEXT = 2000
_MAX_VALUE = 600


def render(page: Page) -> str:
    """Returns a table of the skills and a section for each that did not pass."""
    parts = [f"## assay: {_MARKS[page.verdict]} {page.verdict.name}", _inline(page.summary()), _table(page)]
    if page.gate is not None and page.gate.failures:
        parts.append("\n".join(f"- {_MARKS[f.verdict]} {code(f.path)}: {_inline(f.why)}" for f in page.gate.failures))
    if page.gate is not None and page.gate.notes:
        parts.append("\n".join(f"- note: {_inline(note)}" for note in page.gate.notes))
    edited = [f"- {code(report.path)}: {_inline(edited_line(report))}" for report in page.reports if report.edited]
    parts.append("\n".join(edited))
    for report in page.reports:
        if page.row(report).verdict is not Verdict.PASS or report.verdict is not Verdict.PASS or report.questions:
            parts.append("\n\n".join(_section(page, report)))
    return "\n\n".join(p for p in parts if p) + "\n"


def code(text: str) -> str:
    """Foreign text as a code span; it cannot end its span."""
    clean = escape(text) or " "
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", clean)), default=0) + 1)
    pad = " " if clean.startswith("`") or clean.endswith("`") else ""
    return f"{ticks}{pad}{clean}{pad}{ticks}"


def _table(page: Page) -> str:
    if not page.reports:
        return ""
    lines = ["| skill | verdict | score | evidence | time | why |", "|---|---|---|---|---|---|"]
    for report in page.reports:
        row = page.row(report)
        why = "; ".join(row.reasons) or (report.why if row.verdict is not Verdict.PASS else "")
        if row.waived:
            why = "waived: " + ", ".join(f"{w.check} until {w.expires.isoformat()} ({w.reason})" for w in row.waived)
        score = bound(report.score.value) if report.score else "–"
        cells = [
            code(report.path), f"{_MARKS[row.verdict]} {row.verdict.name}", score, evidence_line(report), seconds(report.seconds),
            _inline(clip(why, 300)),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _section(page: Page, report: Report) -> Iterator[str]:
    yield f"### {_MARKS[page.row(report).verdict]} {code(report.name)}"
    yield _checks(report)
    for check, finding in findings(report):
        if finding.severity != "info":
            yield _finding(check, finding)
    for n, question in enumerate(report.questions, 1):
        yield _question(n, question)
    counted = count_line(report)
    yield f"{_inline(score_line(report))}{f'; {counted}' if counted else ''}; {plural(len(report.checks), 'check')}"
    if report.score is not None:
        yield "\n".join(f"- {name}: {_inline(text)}" for name, text in explain(report.score.inputs))


def _checks(report: Report) -> str:
    groups: dict[str, list[str]] = {}
    for check in report.checks:
        groups.setdefault(check.verdict.name if check.verdict is not None else "NOT APPLICABLE", []).append(check.id)
    if report.not_checked:
        groups["NOT CHECKED"] = [n.id for n in report.not_checked]
    order = ("FAIL", "INCONCLUSIVE", "NOT CHECKED", "NOT APPLICABLE", "PASS")
    return "\n".join(f"- {name}: {', '.join(code(i) for i in groups[name])}" for name in order if name in groups)


def _finding(check: CheckResult, finding: Finding) -> str:
    place = code(f"{finding.path}:{finding.line}")
    lines = [f"**{label(check, finding)}** {code(check.id)} at {place}: {_inline(headline(finding))}"]
    compared, notes = sides(finding)
    lines += [f"- {_inline(note)}" for note in notes]
    example = finding.counterexample
    if example is not None:
        arguments = f" with {code(one_line(dict(example.args)))}" if example.args else ""
        lines.append(f"- case: {_inline(example.case)}{arguments}")
    for side in compared:
        if side.heading:
            lines.append(f"- effect: {_inline(side.heading)}")
        for name, text in (("expected", side.expected), ("observed", side.observed)):
            lines.append(f"- {name}: {code(clip(text or 'nothing', _MAX_VALUE))}")
    if finding.reproduce:
        lines.append(f"- reproduce: {code(finding.reproduce)}")
    return lines[0] + ("\n\n" + "\n".join(lines[1:]) if lines[1:] else "")


def _question(n: int, question: Question) -> str:
    lines = [f"- case: {_inline(case_line(question))}", f"- breaks: {_inline(question.invariant)}"]
    for name, part in (("start", start(question)), ("commands", did(question.commands)), ("skill", did(question.skill))):
        lines.append(f"- {name}: {'; '.join(code(clip(line, _MAX_VALUE)) for line in part)}")
    lines += [f"- {_inline(meaning)}: {code(command)}" for command, meaning in commands(question)]
    return f"**QUESTION {n}** {_inline(question.message)}\n\n" + "\n".join(lines)


def _inline(text: str) -> str:
    """Foreign text as running text: no markup, no HTML, no mention."""
    clean = html.escape(escape(clip(text, _MAX_TEXT)), quote=False)
    return re.sub(r"([\\`*_\[\]#|~@!])", r"\\\1", clean)

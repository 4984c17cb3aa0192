"""Text for a terminal, in the manner of compilers."""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from verifiers.formats.effects import headline, sides
from verifiers.formats.page import Page, edited_line, evidence_line, findings, label, points_at_line, score_line
from verifiers.formats.questions import ANSWERS, case_line, count_line, did, start
from verifiers.formats.text import clip, escape, one_line, plural
from verifiers.interface import CheckResult, Finding, Question, Report, Verdict

_COLORS = {
    "FAIL": "1;31", "error": "1;31", "INCONCLUSIVE": "1;33", "warning": "33", "info": "36", "PASS": "1;32", "QUESTION": "1;35",
    "dim": "2",
}  # fmt: skip
_MAX_LINES = 12
"""Of one multi-line text (an expected tree, say)."""
_MAX_FINDINGS = 3
"""Of one check on one skill."""
_MAX_COLUMNS = 240
_MAX_VALUE = 120


def render(page: Page) -> str:
    """Returns findings with source excerpts, one line for each skill that passes, and a summary."""
    blocks: list[str] = []
    for report in page.reports:
        blocks.extend(_report(page, report))
    if page.gate is not None:
        blocks.extend(
            f"{_paint(page, f.verdict.name, f.verdict.name)} {escape(f.path)}: {escape(f.why)}" for f in page.gate.failures
        )
        blocks.extend(f"{_paint(page, 'note', 'dim')}: {escape(note)}" for note in page.gate.notes)
    return "\n\n".join([*_joined(blocks), page.summary()]) + "\n"


def _joined(blocks: list[str]) -> list[str]:
    """Lines that stand alone are kept together, blocks of several lines apart."""
    out: list[str] = []
    for several, group in itertools.groupby(blocks, key=lambda block: "\n" in block):
        members = list(group)
        out.extend(members if several else ["\n".join(members)])
    return out


def _place(page: Page, report: Report) -> str:
    """The skill's file, and its function where others of the file are judged too."""
    shared = sum(r.path == report.path for r in page.reports) > 1
    return escape(f"{report.path}::{report.name}" if shared else report.path)


def _report(page: Page, report: Report) -> Iterator[str]:
    row = page.row(report)
    yield from _findings(page, report)
    yield from (_question(page, report, n, q) for n, q in enumerate(report.questions, 1))
    missing = [n for n in report.not_checked if report.verdict is not Verdict.PASS]
    silent = all(f.severity == "info" for _, f in findings(report))
    headed = bool(missing) and silent and not row.reasons
    if headed:
        yield f"{_paint(page, report.verdict.name, report.verdict.name)} {_place(page, report)}: {escape(report.why)}"
    for why in dict.fromkeys(n.why for n in missing):
        ids = ", ".join(n.id for n in missing if n.why == why)
        said = "" if headed and report.why.endswith(why) else f": {escape(why)}"
        yield f"{_paint(page, 'not checked', 'INCONCLUSIVE')}: {escape(ids)}{said}"
    shown = _place(page, report)
    if row.verdict is Verdict.PASS:
        yield from _pass(page, report)
    elif row.reasons:
        for reason in row.reasons:
            if not _said(reason, report):
                yield f"{_paint(page, row.verdict.name, row.verdict.name)} {shown}: {escape(clip(reason, _MAX_COLUMNS))}"
    elif not missing and not any(True for _ in findings(report)):
        yield f"{_paint(page, report.verdict.name, report.verdict.name)} {shown}: {escape(report.why)}"
    if report.edited:
        yield f"{_paint(page, 'note', 'dim')}: {shown}: {escape(edited_line(report))}"


def _findings(page: Page, report: Report) -> Iterator[str]:
    seen: Counter[str] = Counter()
    # Information stands under the skills that pass, and in the other formats.
    for group in _same(pair for pair in findings(report) if pair[1].severity != "info"):
        for check, _ in group:
            seen[check.id] += 1
        if any(seen[check.id] <= _MAX_FINDINGS for check, _ in group):
            yield _finding(page, [check for check, _ in group], group[0][1])
    for id, count in seen.items():
        if count > _MAX_FINDINGS:
            yield f"{plural(count - _MAX_FINDINGS, 'more finding')} of {id} in {escape(report.path)} (the other formats have all)"


def _pass(page: Page, report: Report) -> Iterator[str]:
    shown = _place(page, report)
    yield f"{_paint(page, 'PASS', 'PASS')} {shown}: {_passed(report)}"
    for check, finding in findings(report):
        if finding.severity == "info":
            yield f"  {_paint(page, 'info', 'info')}[{escape(check.id)}] line {finding.line}: {escape(finding.message)}"
    for waiver in page.row(report).waived:
        until = f"until {waiver.expires.isoformat()}: {waiver.reason}"
        yield f"{_paint(page, 'waived', 'warning')} {shown}: {escape(waiver.check)} {escape(until)}"


def _same(pairs: Iterable[tuple[CheckResult, Finding]]) -> Iterable[list[tuple[CheckResult, Finding]]]:
    """Findings of several checks that are one thing said several times (a file that does not parse) are kept together."""
    groups: dict[object, list[tuple[CheckResult, Finding]]] = {}
    for n, (check, finding) in enumerate(pairs):
        alike = finding.counterexample is None and not finding.rule and not finding.reproduce
        key = (label(check, finding), finding.message, finding.path, finding.line) if alike else n
        groups.setdefault(key, []).append((check, finding))
    return groups.values()


def _said(reason: str, report: Report) -> bool:
    """Whether a reason of the gate only repeats a finding, or a check that was not made, which are shown above it."""
    told = tuple(f"{c.id}: " for c in report.checks if c.findings)
    return reason.startswith(told) or any(reason.endswith(f" not checked: {n.why}") for n in report.not_checked)


def _passed(report: Report) -> str:
    parts = [score_line(report)] if not report.partial else [f"partial: {plural(len(report.checks), 'check')}"]
    if report.evidence.traces:
        parts.append(evidence_line(report))
    if report.capabilities:
        parts.append(", ".join(report.capabilities))
    parts += [count_line(report)] if report.questions or report.decisions else []
    if report.excluded:
        parts.append("excluded: " + ", ".join(f"{t} ({why})" for t, why in report.excluded.items()))
    return escape("; ".join(parts))


def _finding(page: Page, checks: Sequence[CheckResult], finding: Finding) -> str:
    check = checks[0]
    name = label(check, finding)
    ids = ", ".join(c.id for c in checks)
    rule = f"{ids}/{finding.rule}" if finding.rule and finding.rule != check.id else ids
    lines = [f"{_paint(page, f'{name}[{escape(rule)}]', name)}: {_clipped(headline(finding))}"]
    lines += _excerpt(page, check, finding)
    lines += [f"   = {key}:{text if text.startswith(chr(10)) else ' ' + text}" for key, text in _facts(check, finding)]
    return "\n".join(lines)


def _question(page: Page, report: Report, n: int, question: Question) -> str:
    lines = [f"{_paint(page, f'QUESTION[{n}]', 'QUESTION')}: {_clipped(question.message)}", f"  --> {escape(report.path)}"]
    facts = [("breaks", question.invariant), ("case", case_line(question)), ("start", "\n".join(start(question)))]
    facts += [("commands", "\n".join(did(question.commands))), ("skill", "\n".join(did(question.skill)))]
    if question.answer:
        facts.append(("answer", f"{question.answer} {' | '.join(option for option, _ in ANSWERS)}"))
    shown = ((key, escape(text) if key == "answer" else _clipped(text)) for key, text in facts)
    return "\n".join([*lines, *(f"   = {key}:{text if text.startswith(chr(10)) else ' ' + text}" for key, text in shown)])


def _excerpt(page: Page, check: CheckResult, finding: Finding) -> list[str]:
    if not finding.path:
        return []
    text = page.line(finding.path, finding.line)
    head = f"  --> {escape(finding.path)}:{finding.line}"
    if text is None or not points_at_line(check, finding):
        return [head]
    number = str(finding.line)
    pad = " " * max(len(number), 2)
    return [head, f"{pad} |", f"{number:>2} | {escape(clip(text.rstrip(), _MAX_COLUMNS), keep=chr(9)).expandtabs(4)}", f"{pad} |"]


def _facts(check: CheckResult, finding: Finding) -> Iterator[tuple[str, str]]:
    compared, notes = sides(finding)
    for note in notes:
        key, colon, text = note.partition(": ")
        plain_key = colon and key.replace("-", "").replace(" ", "").isalpha() and len(key) < 20
        yield (key, _clipped(text)) if plain_key else ("note", _clipped(note))
    example = finding.counterexample
    if example is not None:
        arguments = f" with {_clipped(one_line(dict(example.args)))}" if example.args else ""
        yield "case", _clipped(example.case) + arguments
    for side in compared:
        if side.heading:
            yield "effect", _clipped(side.heading)
        yield "expected", _clipped(side.expected or "nothing", _MAX_VALUE)
        yield "observed", _clipped(side.observed or "nothing", _MAX_VALUE)
    if finding.fix is not None:
        how = "safe: `assay verify --fix` applies it" if finding.fix.safe else "look at it first"
        yield "fix", f"{_clipped(finding.fix.title)} ({how})"
    if finding.reproduce:
        yield "reproduce", escape(finding.reproduce)
    if finding.severity == "error":
        yield "why", f"assay verify --explain {escape(check.id)}"


def _clipped(text: str, columns: int = _MAX_COLUMNS) -> str:
    """Foreign text of several lines, indented under its key, bounded."""
    lines = [escape(clip(line, columns), keep="\t") for line in text.rstrip("\n").split("\n")]
    if len(lines) > _MAX_LINES:
        lines = [*lines[:_MAX_LINES], f"… ({len(lines) - _MAX_LINES} more lines)"]
    if len(lines) == 1:
        return lines[0]
    return "\n" + textwrap.indent("\n".join(lines), "       ")


def _paint(page: Page, text: str, kind: str) -> str:
    return f"\x1b[{_COLORS[kind]}m{text}\x1b[0m" if page.color and kind in _COLORS else text

"""One self-contained HTML page: no network, and no script but the one whose hash its policy names.

What it shows is worked out here; the template only lays it out.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from verifiers.formats.compared import MAX_SHORT, MAX_TEXT, Compared, apart, compare, matched
from verifiers.formats.effects import headline, sides
from verifiers.formats.measured import Point, ScoreView, Survivor, score, strips, survivors
from verifiers.formats.page import Page, edited_line, evidence_line, findings, label, points_at_line, score_line
from verifiers.formats.questions import case_line, commands, did, start
from verifiers.formats.text import clip, escape, one_line, seconds
from verifiers.interface import CheckResult, Finding, NotChecked, Question, Report, Verdict

_MARKS = {"PASS": "✓", "FAIL": "✕", "INCONCLUSIVE": "?", "NOT_APPLICABLE": "–", "NOT_CHECKED": "·"}
_WORST_FIRST = ("FAIL", "INCONCLUSIVE", "PASS")
_MAX_REASON = 240
_CONTEXT = 2
"""Source lines shown before and after a finding's line."""


@dataclass(frozen=True, slots=True)
class FindingView:
    label: str
    check: str
    message: str
    place: str
    excerpt: tuple[tuple[int, str, bool], ...]
    """Line number, text, whether it is the finding's own line."""
    notes: tuple[str, ...]
    case: str
    args: str
    compared: tuple[Compared, ...]
    reproduce: str
    fix: str


@dataclass(frozen=True, slots=True)
class CheckView:
    id: str
    title: str
    state: str
    mark: str
    why: str
    runs: int
    time: str
    findings: tuple[FindingView, ...]


@dataclass(frozen=True, slots=True)
class ExampleView:
    """A counterexample in short, for the table."""

    check: str
    where: str
    expected: str
    observed: str
    rest: str
    """What the finding says, and its case: a narrow window cuts it off."""


@dataclass(frozen=True, slots=True)
class QuestionView:
    n: int
    message: str
    invariant: str
    case: str
    start: tuple[str, ...]
    compared: Compared
    """What the commands did, and what the skill did."""
    answers: tuple[tuple[str, str], ...]
    """Command to copy, and what it says."""


@dataclass(frozen=True, slots=True)
class SkillView:
    anchor: str
    """Of its section: its name, so that a link holds when other skills come and go."""
    report: Report
    state: str
    mark: str
    why: str
    """The first reason, and how many more there are: for the table."""
    example: ExampleView | None
    """The first counterexample, which the table shows instead of a reason."""
    reasons: tuple[str, ...]
    """Those that no check below says."""
    waived: tuple[str, ...]
    score: ScoreView | None
    no_score: str
    checks: tuple[CheckView, ...]
    questions: tuple[QuestionView, ...]
    strips: tuple[tuple[str, tuple[Point, ...]], ...]
    """Trace and its points."""
    survivors: tuple[Survivor, ...]
    same: tuple[Survivor, ...]
    """Mutants that behaved as the skill does in every run."""
    bindings: tuple[tuple[str, str, bool], ...]
    evidence: str
    edited: str
    time: str
    open: bool


def render(page: Page) -> str:
    """Returns the page: overview, then a section a skill, the worst first, those that passed folded."""
    names = _anchors([r.name for r in page.reports])
    views = (_skill(page, report, name) for report, name in zip(page.reports, names, strict=True))
    skills = sorted(views, key=lambda s: _WORST_FIRST.index(s.state))
    return _template().render(
        verdict=page.verdict.name,
        summary=page.summary(),
        counts=[(name, page.counts[name.lower()]) for name in _WORST_FIRST],
        skills=skills,
        failures=page.gate.failures if page.gate is not None else (),
        notes=page.gate.notes if page.gate is not None else (),
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters["spans"] = _spans
    environment.filters["name"] = _name
    # The policy lets this script run and no other: all else in the page is foreign text.
    script = (Path(__file__).parent / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals.update(script=Markup(script), script_hash=digest, marks=_MARKS, worst_first=_WORST_FIRST)
    return environment.get_template("report.html.j2")


def _shown(value: object) -> object:
    """All text is foreign: control characters are written out before the template escapes the markup."""
    return escape(value, keep="\n\t") if type(value) is str else value


def _spans(text: str) -> Markup:
    """Text in which what stands between backticks is shown as code."""
    parts = re.split(r"`([^`\n]+)`", escape(text, keep="\n\t"))
    return Markup("").join(Markup("<code>{}</code>").format(p) if n % 2 else p for n, p in enumerate(parts))


def _name(text: str) -> Markup:
    """A name or path that may be broken, where it does not fit, after ``_``, ``/`` and ``-`` alone."""
    return Markup("<wbr>").join(re.split(r"(?<=[_/-])(?=[^_/-])", escape(text, keep="\n\t")))


def _anchors(names: Sequence[str]) -> list[str]:
    """An id for each name: its letters, digits and ``_``; with a number where that is not enough."""
    used: Counter[str] = Counter()
    out = []
    for name in names:
        plain = re.sub(r"[^a-zA-Z0-9_]+", "-", name).strip("-") or "skill"
        used[plain] += 1
        out.append(f"s-{plain}" if used[plain] == 1 else f"s-{plain}.{used[plain]}")
    return out


def _unsaid(report: Report, reasons: Sequence[str]) -> tuple[str, ...]:
    """Reasons that no check of the list below says in its own row."""
    rows = [f"{c.id}: " for c in report.checks if c.findings or c.why]
    causes = {n.why for n in report.not_checked}
    return tuple(r for r in reasons if not r.startswith(tuple(rows)) and not any(r.endswith(f"not checked: {w}") for w in causes))


def _skill(page: Page, report: Report, anchor: str) -> SkillView:
    row = page.row(report)
    reasons = [clip(r, _MAX_REASON) for r in row.reasons or ((report.why,) if row.verdict is not Verdict.PASS else ())]
    checks = _checks(page, report)
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return SkillView(
        anchor=anchor,
        report=report,
        state=row.verdict.name,
        mark=_MARKS[row.verdict.name],
        why=f"{reasons[0]}{more}" if reasons else "",
        example=_example(checks) if row.verdict is Verdict.FAIL else None,
        reasons=_unsaid(report, reasons) if row.reasons else (),
        waived=tuple(f"{w.check} until {w.expires.isoformat()}: {w.reason}" for w in row.waived),
        score=score(report),
        no_score=score_line(report),
        checks=checks,
        questions=tuple(_question(n, q) for n, q in enumerate(report.questions, 1)),
        strips=strips(report),
        survivors=survivors(page, report, "survivors"),
        same=survivors(page, report, "same"),
        bindings=tuple((task, one_line(dict(args)), task in report.inferred) for task, args in sorted(report.bindings.items())),
        evidence=evidence_line(report),
        edited=edited_line(report),
        time=seconds(report.seconds),
        open=row.verdict is not Verdict.PASS or len(page.reports) == 1 or bool(report.questions),
    )


def _example(checks: Sequence[CheckView]) -> ExampleView | None:
    """The first counterexample of a check that fails: what it shows, and the first line in which the two sides part."""
    found = next(((c.id, f) for c in checks for f in c.findings if f.label == "FAIL" and (f.compared or f.case)), None)
    if found is None:
        return None
    check, finding = found
    where = clip(finding.compared[0].heading, MAX_SHORT) if finding.compared else ""
    expected, observed = apart(finding.compared[0]) if finding.compared else ("", "")
    case = f"{finding.case} with {finding.args}" if finding.args else finding.case
    return ExampleView(check, where, expected, observed, clip(f"{finding.message}; {case}".removesuffix("; "), _MAX_REASON))


def _question(n: int, question: Question) -> QuestionView:
    sides = (tuple(clip(line, MAX_TEXT) for line in did(b)) for b in (question.commands, question.skill))
    compared = Compared("", *matched(*sides))
    first = tuple(clip(line, MAX_TEXT) for line in start(question))
    case = case_line(question)
    return QuestionView(n, question.message, question.invariant, case, first, compared, tuple(commands(question)))


def _checks(page: Page, report: Report) -> tuple[CheckView, ...]:
    order = {"FAIL": 0, "INCONCLUSIVE": 1, "NOT_CHECKED": 2, "PASS": 3, "NOT_APPLICABLE": 4}
    views = [_check(page, report, c) for c in report.checks] + _missing(report.not_checked)
    return tuple(sorted(views, key=lambda v: order[v.state]))


def _check(page: Page, report: Report, check: CheckResult) -> CheckView:
    state = check.verdict.name if check.verdict is not None else "NOT_APPLICABLE"
    shown = [f for c, f in findings(report) if c is check and not (check.id == "mutants-killed" and f.severity == "info")]
    views = _without_repeats(_finding(page, check, f) for f in shown)
    why = "" if any(f.message == check.why for f in check.findings) else check.why
    return CheckView(check.id, page.title(check.id), state, _MARKS[state], why, check.runs, seconds(check.seconds), views)


def _without_repeats(views: Iterable[FindingView]) -> tuple[FindingView, ...]:
    """The findings of a check; lines that the one before has shown are not shown again."""
    out: list[FindingView] = []
    shown: tuple[tuple[int, str, bool], ...] = ()
    for view in views:
        out.append(replace(view, excerpt=()) if view.excerpt == shown else view)
        shown = view.excerpt
    return tuple(out)


def _missing(rows: Sequence[NotChecked]) -> list[CheckView]:
    """One row for each cause, with the checks that did not run for it."""
    causes: dict[str, list[str]] = {}
    for row in rows:
        causes.setdefault(row.why, []).append(row.id)
    return [CheckView(", ".join(ids), "", "NOT_CHECKED", _MARKS["NOT_CHECKED"], why, 0, "", ()) for why, ids in causes.items()]


def _finding(page: Page, check: CheckResult, finding: Finding) -> FindingView:
    example = finding.counterexample
    compared, notes = sides(finding)
    fix = finding.fix
    return FindingView(
        label=label(check, finding),
        check=f"{check.id}/{finding.rule}" if finding.rule and finding.rule != check.id else check.id,
        message=headline(finding),
        place=f"{finding.path}:{finding.line}" if finding.path else "",
        excerpt=_excerpt(page, finding) if points_at_line(check, finding) else (),
        notes=tuple(notes),
        case=example.case if example is not None else "",
        args=one_line(dict(example.args)) if example is not None and example.args else "",
        compared=tuple(compare(c) for c in compared),
        reproduce=finding.reproduce,
        fix=f"{fix.title} ({'safe: assay verify --fix applies it' if fix.safe else 'look at it first'})"
        if fix is not None
        else "",
    )


def _excerpt(page: Page, finding: Finding) -> tuple[tuple[int, str, bool], ...]:
    first = max(1, finding.line - _CONTEXT)
    rows = ((n, page.line(finding.path, n)) for n in range(first, finding.line + _CONTEXT + 1))
    kept = tuple((n, clip(text, 400), n == finding.line) for n, text in rows if text is not None)
    return kept if any(own for _, _, own in kept) else ()

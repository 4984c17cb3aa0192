"""What every format is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from verifiers.formats.text import bound, plural, seconds
from verifiers.gating.gate import GateResult, Row
from verifiers.interface import CheckResult, Finding, Report, Severity, Verdict, merge
from verifiers.score import unvaried


@dataclass(frozen=True, slots=True)
class Page:
    """Reports to show, with what helps to show them. All texts in it are foreign: formats escape them."""

    reports: Sequence[Report]
    gate: GateResult | None = None
    """The policy's verdicts on these reports, where a gate was asked."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Shown path -> text of the file, for excerpts."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Check id -> its question, one line."""
    seconds: float | None = None
    """Wall time of the whole command; None = the reports' own sum."""
    color: bool = False
    _rows: dict[int, Row] = field(init=False, repr=False, compare=False, default_factory=dict)
    """The gate's rows by the identity of their report: there can be thousands."""

    def __post_init__(self) -> None:
        for row in self.gate.rows if self.gate is not None else ():
            self._rows[id(row.report)] = row

    @property
    def verdict(self) -> Verdict:
        """The gate's verdict, else the worst of the reports'."""
        return self.gate.verdict if self.gate is not None else merge(r.verdict for r in self.reports)

    @property
    def counts(self) -> Mapping[str, int]:
        """Skills that ``pass``, ``fail`` or are ``inconclusive``."""
        if self.gate is not None:
            return self.gate.counts
        order = (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE)
        return {v.name.lower(): sum(r.verdict is v for r in self.reports) for v in order}

    def row(self, report: Report) -> Row:
        """The gate's row of a report; one made from its own verdict without a gate."""
        return self._rows.get(id(report)) or Row(report, report.verdict)

    def title(self, id: str) -> str:
        """A check's question; its id where none is known."""
        return self.titles.get(id) or id

    def line(self, path: str, number: int) -> str | None:
        """One source line, 1-based; None if it is not known."""
        lines = self.sources.get(path, "").splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else None

    def summary(self) -> str:
        """``1 skill: 0 pass, 1 fail, 0 inconclusive (14 checks, 212 runs, 3.1 s)``; of what nothing ran for now, ``cached``."""
        counts = self.counts
        total = sum(counts.values())
        checks = sum(len(r.checks) for r in self.reports)
        runs = sum(r.sandbox.runs if r.sandbox else sum(c.runs for c in r.checks) for r in self.reports)
        spent = self.seconds if self.seconds is not None else sum(r.seconds for r in self.reports)
        numbers = f"{counts['pass']} pass, {counts['fail']} fail, {counts['inconclusive']} inconclusive"
        known = sum(r.cached for r in self.reports)
        ended = "cached" if known == total > 0 else f"{known} of {total} cached, {seconds(spent)}" if known else seconds(spent)
        asked = sum(len(r.questions) for r in self.reports)
        numbers += f", {plural(asked, 'open question')}" if asked else ""
        return f"{plural(total, 'skill')}: {numbers} ({plural(checks, 'check')}, {plural(runs, 'run')}, {ended})"


_RANK: Mapping[Severity, int] = {"error": 0, "warning": 1, "info": 2}


def findings(report: Report) -> Iterator[tuple[CheckResult, Finding]]:
    """All findings of a report, with their checks: errors of failed checks first, then other errors, warnings, information."""
    pairs = [(check, finding) for check in report.checks for finding in check.findings]
    yield from sorted(pairs, key=lambda p: (_RANK[p[1].severity], -(0 if p[0].verdict is None else int(p[0].verdict))))


ABOUT_TEXT = frozenset({"parses", "conventions", "ruff-clean", "mypy-strict"})
"""Checks whose findings are about lines. Those of others name a line only to say which function."""


def points_at_line(check: CheckResult, finding: Finding) -> bool:
    """Whether the line of a finding says something: the first line of a file stands for the whole of it elsewhere."""
    return check.id in ABOUT_TEXT or finding.line > 1


def label(check: CheckResult, finding: Finding) -> str:
    """``FAIL`` or ``INCONCLUSIVE`` for the errors of a check that is so, else the severity."""
    if finding.severity == "error" and check.verdict is not None:
        return check.verdict.name if check.verdict is not Verdict.PASS else "error"
    return finding.severity


def edited_line(report: Report) -> str:
    """``edited since it was exported: scripts/skill.py``; "" for what is as it was, or was never exported."""
    return f"edited since it was exported: {', '.join(report.edited)}" if report.edited else ""


def evidence_line(report: Report) -> str:
    """``4 of 5 traces usable, 1 reconstructed``."""
    e = report.evidence
    rest = f", {e.reconstructed} reconstructed" if e.reconstructed else ""
    return f"{e.usable} of {plural(e.traces, 'trace')} usable{rest}"


def score_line(report: Report) -> str:
    """``score at least 0.46 (fixed, and no trace varies it: dict)``; why there is none otherwise."""
    if report.score is not None:
        names = unvaried(report.score.inputs)
        note = f" (fixed, and no trace varies it: {names})" if names else ""
        return f"score at least {bound(report.score.value)}{note}"
    if report.verdict is not Verdict.PASS:
        return "no score: only a full PASS has one"
    return "no score: the report is partial" if report.partial else "no score: mutants have not run"

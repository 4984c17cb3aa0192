"""The gate: reports and a policy in, one verdict out. Pure; what changed in git, signatures and approvals are handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from sandbox.interface import JsonValue
from verifiers.formats.effects import headline
from verifiers.formats.json_report import report_to_json
from verifiers.formats.text import bound, does
from verifiers.gating.policy import QUESTIONS, SCORE, Policy, Waiver
from verifiers.interface import AssayError, CheckResult, NotChecked, NothingToVerify, Report, Verdict, merge

SCHEMA = "assay-gate/1"
NOT_REQUIRED = frozenset({"mutants-killed"})
"""May be missing without closing the gate (docs/semantics.md, "Results and merging")."""
TORN_WRITE = "torn-write"
"""``Finding.rule`` of a write that does not survive a kill in its middle."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the gate is told from outside the reports."""

    changed: frozenset[str] = frozenset()
    """Shown paths of skills whose evidence or bindings changed since the revision."""
    signed: Callable[[Report], bool] = lambda report: False
    """Whether an attestation that verifies binds this report's digests."""
    attested: bool = False
    """Whether such an attestation is required."""
    approved: Callable[[Report], bool] = lambda report: False
    revision_known: bool = False
    """Whether ``changed`` was measured (--since was given)."""
    allow_partial: bool = False
    """``--static`` or ``--checks`` was asked for: reports that are partial are what was wanted."""
    unchanged: int = 0
    """Skills that --since left out. If there are only those, nothing was to be judged, and the gate is open."""


@dataclass(frozen=True, slots=True)
class Row:
    """One skill at the gate."""

    report: Report
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    """Why the gate's verdict is not PASS, one sentence each."""
    waived: tuple[Waiver, ...] = ()
    """Waivers that made a difference."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A target that gave no report: what was wrong with it."""

    path: str
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """What the gate says about all of them."""

    verdict: Verdict
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()
    """Waivers that were not needed, or name no skill."""
    minimum_score: float = 0.0
    """What the policy asked for, and the digest of its salt."""
    salt_digest: str = ""
    unchanged: int = 0
    """Skills that did not change since the revision and were not looked at."""

    @property
    def reports(self) -> tuple[Report, ...]:
        return tuple(row.report for row in self.rows)

    @property
    def counts(self) -> dict[str, int]:
        """``pass``, ``fail`` and ``inconclusive`` skills."""
        verdicts = [row.verdict for row in self.rows] + [f.verdict for f in self.failures]
        return {name.lower(): sum(v.name == name for v in verdicts) for name in ("PASS", "FAIL", "INCONCLUSIVE")}

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 inconclusive, 4 nothing to verify."""
        if not self.rows and not self.failures and not self.unchanged:
            return NothingToVerify.exit_code
        return exit_code(self.verdict)


def exit_code(verdict: Verdict) -> int:
    """The process exit code of a verdict (docs/design.md, "Exit codes")."""
    return {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.INCONCLUSIVE: 3}[verdict]


def judge(
    reports: Sequence[Report],
    policy: Policy | None = None,
    *,
    today: date,
    facts: Facts | None = None,
    failures: Iterable[Failure] = (),
) -> GateResult:
    """Returns the gate's verdict: the worst of all skills' verdicts under the policy; INCONCLUSIVE for no skill at all."""
    rules, known = policy or Policy(), facts or Facts()
    rows = tuple(_row(report, rules, today, known) for report in reports)
    broken = (*failures, *_expired(rows, rules, today))
    verdicts = [row.verdict for row in rows] + [f.verdict for f in broken]
    notes = _notes(rows, rules, today, known.unchanged)
    verdict = merge(verdicts or [Verdict.PASS] * known.unchanged)
    return GateResult(verdict, rows, broken, tuple(notes), rules.minimum_score, rules.salt_digest, known.unchanged)


def failure(path: str, error: AssayError) -> Failure:
    """The failure that an error stands for: INCONCLUSIVE if something was missing, FAIL if the file itself is wrong."""
    why = error.diagnostics().removeprefix(f"{path}: ")
    return Failure(path, Verdict.INCONCLUSIVE if error.exit_code == 3 else Verdict.FAIL, why)


def gate_to_json(result: GateResult) -> dict[str, JsonValue]:
    """The ``assay-gate/1`` object."""
    skills: list[JsonValue] = [
        {
            "name": row.report.name,
            "path": row.report.path,
            "verdict": row.verdict.name,
            "reasons": list(row.reasons),
            "waived": [_waiver(w) for w in row.waived],
        }
        for row in result.rows
    ]
    return {
        "schema": SCHEMA,
        "verdict": result.verdict.name,
        "exit_code": result.exit_code,
        "counts": dict(result.counts),
        "skills": skills,
        "failures": [{"path": f.path, "verdict": f.verdict.name, "why": f.why} for f in result.failures],
        "notes": list(result.notes),
        "unchanged": result.unchanged,
        "policy": {"minimum_score": result.minimum_score, "seed_salt_sha256": result.salt_digest},
        "reports": [report_to_json(r) for r in result.reports],
    }


# ---------------------------------------------------------------- one skill


def _expired(rows: Sequence[Row], policy: Policy, today: date) -> Iterator[Failure]:
    """Expired waivers of skills that were not judged: a promise that was not kept, whatever changed."""
    names = {n for row in rows for n in (row.report.name, row.report.path)}
    for w in policy.waivers:
        if w.skill not in names and w.expired(today):
            yield Failure(w.skill, Verdict.FAIL, f"the waiver for {w.check} expired on {w.expires.isoformat()} ({w.reason})")


def _row(report: Report, policy: Policy, today: date, facts: Facts) -> Row:
    mine = [w for w in policy.waivers if w.skill in (report.name, report.path)]
    holding = {w.check: w for w in mine if not w.expired(today)}
    verdicts: list[Verdict] = []
    reasons: list[str] = []
    used: list[Waiver] = []
    for verdict, check, why in _problems(report, policy, facts):
        if check in holding:
            used.append(holding[check])
            continue
        verdicts.append(verdict)
        reasons.append(why)
    for waiver in mine:
        if waiver.expired(today):
            verdicts.append(Verdict.FAIL)
            reasons.append(f"the waiver for {waiver.check} expired on {waiver.expires.isoformat()} ({waiver.reason})")
    verdict = merge(verdicts) if verdicts else Verdict.PASS
    return Row(report, verdict, _told_once(report, reasons), tuple(dict.fromkeys(used)))


def _told_once(report: Report, reasons: Sequence[str]) -> tuple[str, ...]:
    """The reasons, those of checks that did not run for one cause in one sentence."""
    by_cause: dict[str, list[str]] = {}
    for row in report.not_checked:
        if _not_checked(row) in reasons:
            by_cause.setdefault(row.why, []).append(row.id)
    together = {
        _not_checked(NotChecked(id, why)): f"{ids[0]} and {len(ids) - 1} more were not checked: {why}"
        for why, ids in by_cause.items() if len(ids) > 1 for id in ids
    }  # fmt: skip
    return tuple(dict.fromkeys(together.get(reason, reason) for reason in reasons))


def _not_checked(row: NotChecked) -> str:
    return f"{row.id} was not checked: {row.why}"


def _problems(report: Report, policy: Policy, facts: Facts) -> Iterator[tuple[Verdict, str, str]]:
    """Everything that speaks against a skill, as (verdict, the check that a waiver must name, sentence)."""
    yield from _check_problems(report, policy)
    if report.partial and not facts.allow_partial:
        yield Verdict.INCONCLUSIVE, "partial", "the report is partial: not every required check was asked for"
    if not report.partial:
        # Where nothing was replayed, nobody has counted, and why is said already.
        if report.evidence.usable < policy.min_usable and report.check("evidence-reproduces") is not None:
            usable = f"{report.evidence.usable} usable trace{'' if report.evidence.usable == 1 else 's'}"
            yield Verdict.INCONCLUSIVE, "min_usable", f"{usable}, and {policy.min_usable} are needed"
        yield from _score_problems(report, policy)
    yield from _open_questions(report, policy)
    for capability in policy.forbid:
        if capability in report.capabilities:
            yield Verdict.FAIL, capability, f"the skill {does(capability)}, which the policy forbids"
    if policy.evidence == "pinned":
        yield from _pinning_problems(report, facts)
    if facts.attested and not facts.signed(report):
        yield Verdict.INCONCLUSIVE, "attestation", "no attestation under the required key holds for these files"
    if policy.approval and not facts.approved(report):
        yield Verdict.INCONCLUSIVE, "approval", "nobody has approved this version"


def _check_problems(report: Report, policy: Policy) -> Iterator[tuple[Verdict, str, str]]:
    explained = False
    for check in report.checks:
        # A check that is not PASS in a report that is PASS was not a required one (mutants-killed).
        counts = report.verdict is not Verdict.PASS or check.id in policy.required
        if counts and check.verdict is not None and check.verdict is not Verdict.PASS:
            explained = True
            yield check.verdict, check.id, f"{check.id}: {_first_error(check)}"
    for row in report.not_checked:
        if row.id in policy.required or (report.verdict is not Verdict.PASS and row.id not in NOT_REQUIRED):
            explained = explained or report.verdict is not Verdict.PASS
            yield Verdict.INCONCLUSIVE, row.id, _not_checked(row)
    if not report.checks:
        explained = True
        yield Verdict.INCONCLUSIVE, "checks", "nothing was checked"
    listed = {c.id for c in report.checks} | {n.id for n in report.not_checked}
    for id in policy.required:
        if id not in listed:
            yield Verdict.INCONCLUSIVE, id, f"{id} is required by the policy and did not run"
    if report.verdict is not Verdict.PASS and not explained:
        yield report.verdict, "verdict", report.why
    if policy.torn_writes == "fail":
        for check in report.checks:
            for finding in check.findings:
                if finding.rule == TORN_WRITE:
                    yield Verdict.FAIL, TORN_WRITE, f"torn write: {finding.message}"


def _score_problems(report: Report, policy: Policy) -> Iterator[tuple[Verdict, str, str]]:
    if policy.minimum_score <= 0.0:
        return
    if report.score is None:
        if report.verdict is Verdict.PASS:
            yield Verdict.INCONCLUSIVE, SCORE, "no score, and the policy asks for one (did mutants-killed run?)"
    elif report.score.value < policy.minimum_score:
        yield Verdict.FAIL, SCORE, f"score at least {bound(report.score.value)} is below the policy's {policy.minimum_score:g}"


def _open_questions(report: Report, policy: Policy) -> Iterator[tuple[Verdict, str, str]]:
    """Nobody has said that the skill is wrong, and nobody that it is right."""
    count = len(report.questions)
    if policy.questions is not None and count > policy.questions:
        allowed = "none" if policy.questions == 0 else f"at most {policy.questions}"
        said = f"{count} open question{'' if count == 1 else 's'}, the policy allows {allowed}: answer with `assay answer`"
        yield Verdict.INCONCLUSIVE, QUESTIONS, said


def _pinning_problems(report: Report, facts: Facts) -> Iterator[tuple[Verdict, str, str]]:
    if facts.signed(report):
        return
    if not facts.revision_known:
        yield Verdict.INCONCLUSIVE, "evidence", "the policy pins evidence: give --since REV, or sign it"
    elif report.path in facts.changed:
        yield Verdict.FAIL, "evidence", "evidence or bindings changed together with the skill and are not signed"


def _first_error(check: CheckResult) -> str:
    return next((headline(f) for f in check.findings if f.severity == "error"), check.why)


def _notes(rows: Sequence[Row], policy: Policy, today: date, unchanged: int) -> Iterator[str]:
    if unchanged:
        yield f"{unchanged} skill{' did not change and was' if unchanged == 1 else 's did not change and were'} not looked at"
    used = {w for row in rows for w in row.waived}
    names = {n for row in rows for n in (row.report.name, row.report.path)}
    for waiver in policy.waivers:
        if waiver.skill not in names and not unchanged and not waiver.expired(today):
            yield f"the waiver for {waiver.skill} / {waiver.check} names no skill that was verified"
        elif waiver.skill in names and waiver not in used and not waiver.expired(today):
            yield f"the waiver for {waiver.skill} / {waiver.check} is no longer needed"


def _waiver(waiver: Waiver) -> JsonValue:
    return {
        "skill": waiver.skill,
        "check": waiver.check,
        "reason": waiver.reason,
        "expires": waiver.expires.isoformat(),
    }

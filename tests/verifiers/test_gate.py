"""The gate: what closes it, what a waiver opens, and the exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.formats.json_report import report_from_json
from verifiers.gating.gate import Facts, Failure, GateResult, exit_code, failure, gate_to_json, judge
from verifiers.gating.policy import Policy, Waiver
from verifiers.interface import CheckResult, Finding, Inconclusive, NotChecked, Report, SkillFileError, Verdict, merge

GOLDEN = Path(__file__).parent.parent / "golden" / "reports"
TODAY = date(2026, 11, 21)


def load(name: str) -> Report:
    return report_from_json(json.loads((GOLDEN / f"{name}.json").read_text()))


PASSING, FAILING, UNSURE, PARTIAL = load("passing"), load("failing"), load("inconclusive"), load("partial")
ASKING = load("asking")


def gate(*reports: Report, policy: Policy | None = None, facts: Facts | None = None) -> GateResult:
    return judge(reports, policy, today=TODAY, facts=facts)


def waiver(check: str, *, days: int = 30, skill: str = "rotate_logs") -> Waiver:
    return Waiver(skill, check, "known", date.fromordinal(TODAY.toordinal() + days))


def one_failure() -> Report:
    """Failing in one check only, everything else checked."""
    return replace(FAILING, checks=tuple(c for c in FAILING.checks if c.id != "crash-convergent"), not_checked=())


@pytest.mark.parametrize(
    ("reports", "verdict", "code"),
    [
        ((PASSING,), Verdict.PASS, 0),
        ((PASSING, FAILING), Verdict.FAIL, 1),
        ((PASSING, UNSURE), Verdict.INCONCLUSIVE, 3),
        ((UNSURE, FAILING), Verdict.FAIL, 1),
        ((), Verdict.INCONCLUSIVE, 4),
    ],
)
def test_verdict_and_exit_code(reports: tuple[Report, ...], verdict: Verdict, code: int) -> None:
    """The worst skill decides; nothing to verify is its own exit code."""
    result = gate(*reports)
    assert (result.verdict, result.exit_code) == (verdict, code)


def test_nothing_changed_is_not_nothing_to_verify() -> None:
    """With --since, skills that did not change are out of question: exit 0, and the notes say how many there are."""
    result = gate(facts=Facts(unchanged=12))
    assert (result.verdict, result.exit_code) == (Verdict.PASS, 0)
    assert result.notes == ("12 skills did not change and were not looked at",)
    assert gate(FAILING, facts=Facts(unchanged=12)).verdict is Verdict.FAIL


def test_traces_are_counted_only_where_they_were_replayed() -> None:
    """Without an engine nobody knows how many are usable: that is no lack of them."""
    unseen = replace(UNSURE, checks=(), evidence=replace(UNSURE.evidence, usable=0))
    (row,) = gate(unseen).rows
    assert row.verdict is Verdict.INCONCLUSIVE
    assert not [reason for reason in row.reasons if "usable trace" in reason]


def test_counts() -> None:
    """Failures of loading count as skills."""
    result = judge([PASSING, FAILING, UNSURE], today=TODAY, failures=[Failure("x", Verdict.FAIL, "broken")])
    assert result.counts == {"pass": 1, "fail": 2, "inconclusive": 1}


def test_errors_become_failures() -> None:
    """What is missing is inconclusive, what is wrong fails."""
    missing = failure("a.py", Inconclusive("no evidence", "Record some."))
    assert (missing.verdict, missing.why) == (Verdict.INCONCLUSIVE, "no evidence. Record some.")
    assert failure("a.py", SkillFileError("is not text")).verdict is Verdict.FAIL


def test_a_waiver_opens_the_gate() -> None:
    """The waived check is out, and the row says so."""
    result = gate(one_failure(), policy=Policy(waivers=(waiver("idempotent-replay"),)))
    assert result.verdict is Verdict.PASS
    assert [w.check for w in result.rows[0].waived] == ["idempotent-replay"]


def test_a_waiver_for_the_path_works_too() -> None:
    """Skills are named by name or by path."""
    rule = waiver("idempotent-replay", skill=FAILING.path)
    assert gate(one_failure(), policy=Policy(waivers=(rule,))).verdict is Verdict.PASS


def test_a_waiver_covers_nothing_else() -> None:
    """Another check's failure, and what was not checked because of the first, keep it closed."""
    result = gate(FAILING, policy=Policy(waivers=(waiver("idempotent-replay"),)))
    assert result.verdict is Verdict.FAIL
    left = replace(one_failure(), not_checked=(NotChecked("generalises", "stopped after the first FAIL"),))
    assert gate(left, policy=Policy(waivers=(waiver("idempotent-replay"),))).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("facts", [Facts(), Facts(revision_known=True, unchanged=2)])
def test_an_expired_waiver_of_a_skill_that_was_not_judged_fails(facts: Facts) -> None:
    """--since must not hide that the time is up."""
    result = gate(PASSING, policy=Policy(waivers=(waiver("crash-convergent", days=-1, skill="elsewhere"),)), facts=facts)
    assert (result.exit_code, [f.path for f in result.failures]) == (1, ["elsewhere"])
    assert "expired on 2026-11-20" in result.failures[0].why
    assert not any("elsewhere" in n for n in result.notes)


def test_an_expired_waiver_fails() -> None:
    """Even a skill that passes: the policy must be cleaned up."""
    result = gate(PASSING, policy=Policy(waivers=(waiver("ruff-clean", days=-1, skill="rename_extension"),)))
    assert result.verdict is Verdict.FAIL
    assert "expired on 2026-11-20" in result.rows[0].reasons[0]


def test_superfluous_waivers_are_noted() -> None:
    """A waiver that nothing needs, or for a skill that is not there, is said, and does not fail."""
    result = gate(PASSING, policy=Policy(waivers=(waiver("contained"), waiver("contained", skill="rename_extension"))))
    assert result.verdict is Verdict.PASS
    assert [n.rpartition(" ")[2] for n in result.notes] == ["verified", "needed"]


@pytest.mark.parametrize(
    ("report", "policy", "verdict", "part"),
    [
        (PASSING, Policy(minimum_score=0.7), Verdict.FAIL, "score at least 0.67 is below the policy's 0.7"),
        (PASSING, Policy(minimum_score=0.6), Verdict.PASS, ""),
        (replace(PASSING, score=None), Policy(minimum_score=0.1), Verdict.INCONCLUSIVE, "no score"),
        (PASSING, Policy(min_usable=4), Verdict.INCONCLUSIVE, "3 usable traces, and 4 are needed"),
        (PASSING, Policy(required=("hand-check",)), Verdict.INCONCLUSIVE, "hand-check is required by the policy and did not run"),
        (PASSING, Policy(forbid=("creates",)), Verdict.FAIL, "creates files, which the policy forbids"),
        (PASSING, Policy(forbid=("deletes",)), Verdict.PASS, ""),
        (PASSING, Policy(approval=True), Verdict.INCONCLUSIVE, "nobody has approved this version"),
        (PASSING, Policy(evidence="pinned"), Verdict.INCONCLUSIVE, "give --since REV, or sign it"),
        (ASKING, Policy(), Verdict.PASS, ""),
        (ASKING, Policy(questions=2), Verdict.PASS, ""),
        (ASKING, Policy(questions=1), Verdict.INCONCLUSIVE, "2 open questions, the policy allows at most 1: answer with"),
        (ASKING, Policy(questions=0), Verdict.INCONCLUSIVE, "2 open questions, the policy allows none"),
        (PASSING, Policy(questions=0), Verdict.PASS, ""),
        (FAILING, Policy(torn_writes="fail"), Verdict.FAIL, "torn write: trace rotate-01"),
        (PARTIAL, Policy(), Verdict.INCONCLUSIVE, "the report is partial"),
        (replace(PASSING, checks=()), Policy(), Verdict.INCONCLUSIVE, "nothing was checked"),
        (replace(UNSURE, checks=PASSING.checks, not_checked=()), Policy(min_usable=1), Verdict.INCONCLUSIVE, "nothing"),
    ],
)
def test_rules(report: Report, policy: Policy, verdict: Verdict, part: str) -> None:
    """Each rule of the policy closes the gate with its own sentence."""
    row = gate(report, policy=policy).rows[0]
    assert row.verdict is verdict
    assert part in "; ".join(row.reasons)
    assert bool(row.reasons) == (verdict is not Verdict.PASS)


def test_torn_writes_strict() -> None:
    """A torn write alone closes the gate only where the policy says so."""
    torn = CheckResult("crash-convergent", Verdict.PASS, (Finding("12 bytes lost", severity="warning", rule="torn-write"),))
    report = replace(PASSING, checks=(torn,))
    assert gate(report).verdict is Verdict.PASS
    assert gate(report, policy=Policy(torn_writes="fail")).verdict is Verdict.FAIL


def test_optional_checks_close_it_only_if_required() -> None:
    """``mutants-killed`` may be inconclusive, unless the policy asks for it."""
    mutants = CheckResult.inconclusive("mutants-killed", "no mutant behaved differently")
    report = replace(PASSING, checks=(*PASSING.checks[:-1], mutants))
    assert gate(report).verdict is Verdict.PASS
    assert gate(report, policy=Policy(required=("mutants-killed",))).verdict is Verdict.INCONCLUSIVE


def test_pinned_evidence() -> None:
    """Changed evidence fails, unchanged or signed evidence passes."""
    policy = Policy(evidence="pinned")
    changed = frozenset({PASSING.path})
    assert gate(PASSING, policy=policy, facts=Facts(revision_known=True)).verdict is Verdict.PASS
    assert gate(PASSING, policy=policy, facts=Facts(changed, revision_known=True)).verdict is Verdict.FAIL
    assert gate(PASSING, policy=policy, facts=Facts(changed, signed=lambda r: True, revision_known=True)).verdict is Verdict.PASS


def test_a_required_attestation() -> None:
    """What nobody signed does not get through, and a waiver must say so."""
    unsigned = Facts(attested=True)
    assert gate(PASSING, facts=unsigned).verdict is Verdict.INCONCLUSIVE
    assert gate(PASSING, facts=replace(unsigned, signed=lambda r: r is PASSING)).verdict is Verdict.PASS
    lifted = Policy(waivers=(waiver("attestation", skill=PASSING.name),))
    assert gate(PASSING, policy=lifted, facts=unsigned).verdict is Verdict.PASS


def test_approval_and_partial_can_be_allowed() -> None:
    """Approved versions pass; a static gate takes partial reports."""
    assert gate(PASSING, policy=Policy(approval=True), facts=Facts(approved=lambda r: True)).verdict is Verdict.PASS
    assert gate(PARTIAL, facts=Facts(allow_partial=True)).verdict is Verdict.PASS


verdicts = st.sampled_from(Verdict)
ids = st.sampled_from(["parses", "contained", "generalises", "exercised"])


@st.composite
def reports(draw: st.DrawFn) -> Report:
    rows = [CheckResult(i, draw(verdicts | st.none()), why="why") for i in sorted(draw(st.sets(ids, min_size=1)))]
    judged = [r.verdict for r in rows if r.verdict is not None]
    return replace(PASSING, checks=tuple(rows), verdict=merge(judged))


@given(st.lists(reports(), max_size=4))
def test_never_better_than_the_reports(rows: list[Report]) -> None:
    """Without waivers the gate is never kinder than the reports; it passes only if all of them do."""
    result = gate(*rows)
    assert result.verdict >= merge(r.verdict for r in rows)
    assert (result.exit_code == 0) == (bool(rows) and all(r.verdict is Verdict.PASS for r in rows))
    assert sum(result.counts.values()) == len(rows)
    assert json.loads(json.dumps(gate_to_json(result)))["verdict"] == result.verdict.name


@given(reports(), ids)
def test_a_waiver_never_hurts_and_never_covers_more(report: Report, check: str) -> None:
    """With a waiver the verdict is that of the other checks."""
    rule = waiver(check, skill=report.name)
    others = [c.verdict for c in report.checks if c.verdict is not None and c.id != check]
    with_it = gate(report, policy=Policy(waivers=(rule,))).verdict
    assert with_it <= gate(report).verdict
    assert not any(v > with_it for v in others)


def test_exit_codes() -> None:
    """The table of the manual."""
    assert [exit_code(v) for v in (Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE)] == [0, 1, 3]

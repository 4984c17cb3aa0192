"""Output formats, compared as literal text with the files below tests/golden/formats (GOLDEN=write renews them)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml

from verifiers.formats import FORMATS, render, step_summary
from verifiers.formats.github import SUMMARY_BYTES, fit_summary
from verifiers.formats.json_report import report_from_json
from verifiers.formats.page import findings
from verifiers.formats.text import clip, escape, plural, seconds
from verifiers.gating.gate import Failure, GateResult, judge
from verifiers.gating.policy import Policy, Waiver
from verifiers.interface import CheckResult, Counterexample, Finding, NotChecked, Report, Verdict

GOLDEN = Path(__file__).parent.parent / "golden"
NAMES = ("passing", "failing", "inconclusive", "partial")
SUFFIXES = {
    "plain": "txt",
    "json": "json",
    "sarif": "sarif",
    "junit": "xml",
    "github": "txt",
    "html": "html",
    "markdown": "md",
    "gitlab": "json",
    "badge": "svg",
}
SOURCES = {
    "drafts/rotate_logs/skill.py": "import time\n@skill_command\nasync def rotate_logs() -> None:\n"
    '    """Rotate."""\n    src.rename(dst.with_suffix(f".{time():.0f}"))\n    src.write_text("")\n'
}
TITLES = {"idempotent-replay": "No second effect?", "crash-convergent": "Interrupted anywhere, then run again: same end state?"}


def load(name: str) -> Report:
    return report_from_json(json.loads((GOLDEN / "reports" / f"{name}.json").read_text()))


REPORTS = [load(name) for name in NAMES]


def show(reports: Sequence[Report], format: str, gate: GateResult | None = None, color: bool = False) -> str:
    return render(reports, format, sources=SOURCES, titles=TITLES, seconds=3.1, gate=gate, color=color)


def check_golden(name: str, text: str) -> None:
    file = GOLDEN / "formats" / name
    if os.environ.get("GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


def gated() -> GateResult:
    waivers = (
        Waiver("rotate_logs", "idempotent-replay", "fixed in the next release", date(2027, 1, 31)),
        Waiver("rotate_logs", "crash-convergent", "ticket 4711", date(2026, 1, 31)),
    )
    broken = [Failure("drafts/empty", Verdict.INCONCLUSIVE, "no evidence for empty. Record some with `assay record`.")]
    return judge(REPORTS, Policy(waivers=waivers), today=date(2026, 11, 21), failures=broken)


@pytest.mark.parametrize("format", FORMATS)
def test_golden(format: str) -> None:
    """Four reports with everything in them."""
    check_golden(f"{format}.{SUFFIXES[format]}", show(REPORTS, format))


@pytest.mark.parametrize("format", FORMATS)
def test_golden_gate(format: str) -> None:
    """The same at a gate with waivers, an expired one, and a target that gave no report."""
    check_golden(f"gate-{format}.{SUFFIXES[format]}", show(REPORTS, format, gated()))


def test_golden_single_pass() -> None:
    """A skill that passes is one line and what it was seen to do."""
    check_golden("plain-single.txt", show([REPORTS[0]], "plain"))


@pytest.mark.parametrize("format", FORMATS)
def test_golden_questions(format: str) -> None:
    """A skill that passes with two open questions, after an earlier one was answered."""
    check_golden(f"asking-{format}.{SUFFIXES[format]}", show([load("asking")], format))


def test_color_only_adds_color() -> None:
    """Without its escape sequences, the coloured text is the plain one."""
    reports = [*REPORTS, load("asking")]
    painted = show(reports, "plain", color=True)
    for code in ("1;31", "1;33", "33", "36", "1;32", "1;35", "2", "0"):
        painted = painted.replace(f"\x1b[{code}m", "")
    assert painted == show(reports, "plain")


@pytest.mark.parametrize("format", ["plain", "sarif", "junit", "github", "html", "markdown"])
def test_no_control_characters_reach_the_reader(format: str) -> None:
    """Escape sequences and bidirectional overrides of a skill are written out."""
    text = show([*REPORTS, load("asking")], format)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "u202e" in text


def test_unknown_format() -> None:
    """A wrong format names the right ones."""
    with pytest.raises(ValueError, match="there are plain, json"):
        render(REPORTS, "yaml")


def test_excerpts_are_read_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without given sources, the lines come from the files; a missing file only costs its excerpt."""
    (tmp_path / "drafts/rotate_logs").mkdir(parents=True)
    (tmp_path / "drafts/rotate_logs/skill.py").write_text(SOURCES["drafts/rotate_logs/skill.py"])
    monkeypatch.chdir(tmp_path)
    assert "5 |     src.rename(dst" in render(REPORTS, "plain", titles={})


# ---------------------------------------------------------------- JUnit


def test_junit_is_read_by_its_reader() -> None:
    """The parser counts what the reports hold; a gate's failure is a case too."""
    document = JUnitXml.fromstring(show(REPORTS, "junit", gated()).encode())
    assert (document.tests, document.skipped) == (47, 7)
    root = ElementTree.fromstring(show(REPORTS, "junit"))
    assert root.tag == "testsuites"
    kinds = {c.tag for case in root.iter("testcase") for c in case}
    assert kinds == {"failure", "error", "skipped", "system-out"}
    assert not [a for e in root.iter() for a in e.attrib if a in ("hostname", "timestamp")]


def test_junit_closes_on_what_was_not_checked() -> None:
    """Only skipped cases would look green: the skill's own verdict is an error."""
    report = replace(REPORTS[2], checks=())
    root = ElementTree.fromstring(show([report], "junit"))
    (case,) = [c for c in root.iter("testcase") if c.get("name") == "verdict"]
    assert case.find("error") is not None


# ---------------------------------------------------------------- GitHub


def many(count: int, severity: str = "error") -> Report:
    rows = tuple(Finding(f"finding {n}", "a.py", n, severity) for n in range(1, count + 1))  # type: ignore[arg-type]  # a literal
    return replace(REPORTS[1], checks=(CheckResult("contained", Verdict.FAIL, rows),), not_checked=())


def test_github_keeps_to_the_limits() -> None:
    """Ten errors a step, the last of them says how many more there are; every skill gets one before any gets two."""
    other = replace(REPORTS[1], path="b.py", checks=(CheckResult("contained", Verdict.FAIL, (Finding("only one", "b.py"),)),))
    lines = show([many(25), other], "github").splitlines()
    errors = [line for line in lines if line.startswith("::error")]
    assert len(errors) == 10
    assert "only one" in errors[1]
    assert errors[-1].endswith("::17 more errors are in the other outputs")


def test_every_closed_skill_gets_an_annotation_and_a_result() -> None:
    """Checks that did not run fill one line a skill, and a skill without evidence comes before anybody's second line."""
    stopped = tuple(NotChecked(f"check-{n}", "stopped after the first FAIL (--all goes on)") for n in range(15))
    failing = [replace(REPORTS[1], path=f"{n}.py", not_checked=stopped) for n in range(4)]
    unsure = replace(REPORTS[2], path="unsure.py", checks=())
    result = judge([*failing, unsure], today=date(2026, 11, 21), failures=[Failure("empty", Verdict.INCONCLUSIVE, "no evidence")])
    shown = render(list(result.reports), "github", gate=result, seconds=1.0)
    first = [line.split("file=")[1].split(",")[0] for line in shown.splitlines() if line.startswith("::error file")][:6]
    assert "empty" in first
    assert "unsure.py" in first
    log = json.loads(render(list(result.reports), "sarif", gate=result, titles=TITLES))
    own = [r for r in log["runs"][0]["results"] if r["ruleId"] == "not-judged"]
    assert [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in own] == ["unsure.py", "empty"]
    assert {r["level"] for r in own} == {"warning"}
    assert all("check-0" not in reason or "14 more" in reason for row in result.rows for reason in row.reasons)


def test_a_skill_that_asks_gets_its_error_too() -> None:
    """An inconclusive skill with questions, among more findings than a step may have: why it is closed comes before they do."""
    failing = [replace(many(2), path=f"{n}.py") for n in range(8)]
    asking = load("asking")
    assert asking.questions
    unsure = replace(asking, path="asks.py", verdict=Verdict.INCONCLUSIVE, checks=())
    result = judge([*failing, unsure], today=date(2026, 11, 21))
    lines = render(list(result.reports), "github", gate=result, seconds=1.0).splitlines()
    assert [line for line in lines if line.startswith("::error file=asks.py")]
    assert [line for line in lines if line.startswith("::notice file=asks.py") and "QUESTION[1]" in line]
    assert len([line for line in lines if line.startswith("::error")]) == 10


def test_github_commands_cannot_be_forged() -> None:
    """A message with line breaks and ``::`` stays one command; properties cannot be ended early."""
    bad = Finding("a\r\n::error::b %0A", "x,y:z.py", 1)
    report = replace(REPORTS[1], checks=(CheckResult("contained", Verdict.FAIL, (bad,)),))
    first = show([report], "github").splitlines()[0]
    assert first.startswith("::error file=x%2Cy%3Az.py,line=1,title=assay FAIL[contained]::a%0A::error::b %250A")


def test_gitlab_gets_what_code_scanning_gets() -> None:
    """Every result that is not waived, with the fields that GitLab asks for, each print once."""
    issues = json.loads(show(REPORTS, "gitlab", gated()))
    (run,) = json.loads(show(REPORTS, "sarif", gated()))["runs"]
    assert len(issues) == len([r for r in run["results"] if not r.get("suppressions")]) > 3
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({i["fingerprint"] for i in issues}) == len(issues)


def test_a_badge_says_the_verdict() -> None:
    """An image that is well-formed, of the verdict, and holds no word of a report."""
    for reports, told in ((REPORTS[:1], "1 of 1 skill PASS"), (REPORTS, "1 of 4 skills FAIL")):
        root = ElementTree.fromstring(show(reports, "badge"))
        assert root.get("aria-label") == f"assay: {told}"
        assert all("rotate" not in (e.text or "") for e in root.iter())


def test_step_summary_fits() -> None:
    """A huge summary is cut at a line, says so, and stays within a mebibyte."""
    text = step_summary([replace(many(9), path=f"skill{n}.py") for n in range(2000)])
    assert len(text.encode()) <= SUMMARY_BYTES
    assert text.endswith("did not fit into a step summary (1 MiB)._\n")
    assert fit_summary("short\n") == "short\n"


# ---------------------------------------------------------------- text


@given(st.text())
def test_escape_leaves_only_what_can_be_seen(text: str) -> None:
    """Everything that is left is printable or a space; printable ASCII is untouched."""
    shown = escape(text)
    assert all(c.isprintable() or c.isspace() for c in shown)
    assert not set(shown) & set("\n\r\t\x1b\x07\u202e\u2028")
    assert escape(shown) == shown


@given(st.text(max_size=50), st.integers(0, 60))
def test_clip_says_what_is_missing(text: str, limit: int) -> None:
    """Short texts are whole; cut ones say by how much."""
    cut = clip(text, limit)
    assert cut == text or f"({len(text) - limit} more characters)" in cut
    assert len(cut) <= len(text)
    assert len(text) > limit or cut == text
    assert clip(f"{text:60}", 0) == f"… ({max(len(text), 60)} more characters)"


def test_words_for_numbers() -> None:
    """Counts and durations as people write them."""
    assert [plural(1, "skill"), plural(0, "run")] == ["1 skill", "0 runs"]
    assert [seconds(0.314), seconds(3.14), seconds(314.1)] == ["0.31 s", "3.1 s", "314 s"]


# ---------------------------------------------------------------- any report

texts = st.text(max_size=30) | st.sampled_from(["na\udce9me.py", "a\nb", "]]>", "<b>", "\0"])
args = st.dictionaries(texts, texts | st.integers() | st.none(), max_size=2)


@st.composite
def any_report(draw: st.DrawFn) -> Report:
    examples = st.builds(Counterexample, texts, args, texts, texts, st.none() | texts)
    rows = st.builds(
        Finding, texts, texts, st.integers(-1, 9), st.sampled_from(["error", "warning", "info"]), st.none() | examples, texts,
        st.none(), st.lists(texts, max_size=2).map(tuple), texts,
    )  # fmt: skip
    verdicts = st.none() | st.sampled_from(Verdict)
    rowlists = st.lists(rows, max_size=3).map(tuple)
    ids = st.sampled_from(["contained", "crash-convergent", "mutants-killed", "x"])
    measured = st.dictionaries(st.sampled_from(["strip", "survivors", "n"]), st.lists(args | texts, max_size=2), max_size=2)
    checks = st.builds(CheckResult, ids, verdicts, rowlists, texts, st.integers(0, 9), st.just(0.0), measured)
    base = draw(st.sampled_from(REPORTS))
    verdict = draw(st.sampled_from(Verdict))
    return replace(base, name=draw(texts), path=draw(texts), verdict=verdict, checks=tuple(draw(st.lists(checks, max_size=3))))


@settings(max_examples=60)
@given(any_report())
def test_any_report_can_be_shown(report: Report) -> None:
    """Whatever a skill puts into a report, every format shows it and is well-formed."""
    for format in FORMATS:
        text = show([report], format)
        assert text.endswith("\n")
        text.encode()
    ElementTree.fromstring(show([report], "junit"))
    json.loads(show([report], "sarif"))
    assert "\x1b" not in show([report], "plain")


def test_findings_come_worst_first() -> None:
    """Errors of failed checks, other errors, warnings, information."""
    order = [f.severity for _, f in findings(REPORTS[1])]
    assert order == sorted(order, key=["error", "warning", "info"].index)

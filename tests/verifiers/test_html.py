"""The HTML page: whole, self-contained, safe. test_html_browser.py looks at it in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from verifiers.formats import render
from verifiers.formats.compared import compare, side_by_side
from verifiers.formats.effects import Side
from verifiers.formats.html_page import _anchors
from verifiers.formats.json_report import report_from_json
from verifiers.formats.page import score_line
from verifiers.gating.gate import Failure, judge
from verifiers.interface import NotChecked, Report, Verdict

GOLDEN = Path(__file__).parent.parent / "golden" / "reports"
VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


def load(name: str) -> Report:
    return report_from_json(json.loads((GOLDEN / f"{name}.json").read_text()))


REPORTS = [load(name) for name in ("passing", "failing", "inconclusive", "partial")]


def page(reports: list[Report]) -> str:
    return render(reports, "html", titles={}, sources={}, seconds=3.1)


class Reader(HTMLParser):
    """Checks nesting and gathers what tests ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "wbr":
            self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open and "script" not in self.open:
            self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def test_is_whole_and_self_contained() -> None:
    """Well nested, nothing to load, no script but the one that the policy lets run."""
    reader = read(page(REPORTS))
    assert not [t for t, _ in reader.tags if t in ("iframe", "object", "embed", "img", "form")]
    urls = [v for _, a in reader.tags for k, v in a.items() if k in ("href", "src", "action", "srcset")]
    assert all(u is not None and (u.startswith("#") or u == "data:,") for u in urls)
    assert not re.search(r"url\(|@import|https?:", page(REPORTS))
    (policy,) = [a["content"] for t, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    (script,) = re.findall(r"<script>(.*?)</script>", page(REPORTS), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")


def test_links_lead_somewhere() -> None:
    """Each overview row leads to its section, each check that ran to itself; ids are unique."""
    reader = read(page(REPORTS))
    ids = [a["id"] for t, a in reader.tags if t == "details" and "id" in a]
    every = [a["id"] for _, a in reader.tags if "id" in a]
    assert len(every) == len(set(every))
    assert len(ids) == len(REPORTS)
    assert [a["href"] for t, a in reader.tags if t == "a"][: len(ids)] == [f"#{i}" for i in ids]
    assert {str(a["href"])[1:] for t, a in reader.tags if t == "a"} == {i for i in every if str(i).startswith("s-")}
    assert "s-rotate_logs.idempotent-replay" in every
    assert "s-rotate_logs" in ids  # the name: a link to it holds when other skills come and go
    assert len(set(_anchors(["a b", "a-b", "", "é"]))) == 4


def test_the_worst_comes_first() -> None:
    """Skills that fail, then those that are open, then the rest; what gave no report is in the table too."""
    broken = [Failure("drafts/empty", Verdict.INCONCLUSIVE, "no evidence: run `assay record`")]
    gate = judge(REPORTS, today=date(2026, 11, 21), failures=broken)
    html = render(REPORTS, "html", titles={}, sources={}, gate=gate)
    states = re.findall(r'<details class="card skill of (\w+)"', html)
    assert states == sorted(states, key=["FAIL", "INCONCLUSIVE", "PASS"].index)
    table = html[html.index("<tbody>") : html.index("</tbody>")]
    assert '<tr class="of INCONCLUSIVE">\n<td class="name"><b class="whole">drafts/<wbr>empty</b>' in table
    assert "run <code>assay record</code>" in table
    assert [a["id"] for t, a in read(html).tags if t == "input"] == [
        "find", "show-all", "show-FAIL", "show-INCONCLUSIVE", "show-PASS",
    ]  # fmt: skip


def test_the_table_tells_each_counterexample() -> None:
    """In short, with the first line in which both sides part; of what fails alone."""
    other = replace(REPORTS[1], name="other", checks=tuple(c for c in REPORTS[1].checks if c.id != "idempotent-replay"))
    html = page([other, *REPORTS])
    shown = re.findall(r'<p class="short">(.*?)</p>', html)
    first, second = (" ".join(re.sub(r"<[^>]*>", "", text).split()) for text in shown)
    assert first.startswith("crash-convergent: expected logs/app.log: file 0644, 0 bytes, observed logs/app.log: missing; trace ")
    assert "killed before create /ws/logs/app.log, then run again: logs/app.log is missing; trace rotate-01 with {" in first
    assert second.startswith(
        "idempotent-replay: expected nothing changed, observed created logs/app.1732.log (812 bytes); second"
    )


def test_what_did_not_run_is_said_once() -> None:
    """One row for each cause, not a table cell, a list and fifteen rows."""
    stopped = tuple(NotChecked(f"check-{n}", "stopped after the first FAIL (--all goes on)") for n in range(15))
    reports = [replace(REPORTS[1], not_checked=stopped)]
    gate = judge(reports, today=date(2026, 11, 21))
    text = " ".join(read(render(reports, "html", titles={}, sources={}, gate=gate)).text)
    assert text.count("stopped after the first FAIL") == 1
    assert text.count("check-7") == 1


def test_a_hundred_skills_stay_small() -> None:
    """What passed takes a bounded part of the page, and all but what needs attention is folded."""
    reports = [replace(REPORTS[0], name=f"skill_{n}", path=f"s{n}.py") for n in range(100)] + [REPORTS[1]]
    html = page(reports)
    assert len(html) < 3_000_000
    folds = [("open" in a) for t, a in read(html).tags if t == "details" and "skill" in str(a.get("class"))]
    assert folds == [True] + [False] * 100


def test_holds_the_parts() -> None:
    """Score with its parts, crash strip, survivors, sides, reproduce lines, unusable traces, bindings."""
    text = " ".join(" ".join(read(page(REPORTS)).text).split())
    for part in (
        "0.67", "at least, with 95 % confidence", "0.85 adequacy",
        "killed before call 2, create /ws/logs/app.log: does not converge",
        "in the middle of call 3", "changed.append(...) removed", "created logs/app.1732.log (812 bytes)",
        "assay replay drafts/rotate_logs --trace rotate-03 --check idempotent-replay", "its commands need the network",
        '{"new_ext": "txt", "old_ext": "html"}', "no score: only a full PASS has one", "counts a file twice",
    ):  # fmt: skip
        assert part in text, part


def test_names_that_no_trace_varies_are_shown() -> None:
    """In the page, in plain text and in Markdown; nothing of it where there are none."""
    passing = REPORTS[0]
    assert passing.score is not None
    inputs = {**passing.score.inputs, "fixed": ["dict", "<b>"]}
    shown = " ".join(read(page([replace(passing, score=replace(passing.score, inputs=inputs))])).text)
    assert "no trace varies it: dict, <b>." in shown
    assert "no trace varies" not in " ".join(read(page(REPORTS)).text)
    named = replace(passing, score=replace(passing.score, inputs=inputs))
    assert score_line(named).endswith("(fixed, and no trace varies it: dict, <b>)")
    assert score_line(passing) == "score at least 0.67"


def test_holds_mutants_that_no_run_told_from_the_skill() -> None:
    """What the evidence does not pin down has two parts: changes that nothing refused, and changes that showed nowhere."""
    row = {"line": 27, "operator": "constants", "description": "2 in place of 1"}
    passing = REPORTS[0]
    checks = tuple(replace(c, measured={**c.measured, "same": [row]}) if c.id == "mutants-killed" else c for c in passing.checks)
    text = " ".join(" ".join(read(page([replace(passing, checks=checks)])).text).split())
    assert "behaved the same in every run" in text
    assert "2 in place of 1" in text
    assert "changed.append(...) removed" in text


def test_passed_skills_are_folded() -> None:
    """Among several, only what needs attention is open; a single one is open."""
    folds = [("open" in a) for t, a in read(page(REPORTS)).tags if t == "details"]
    assert folds == [True, True, False, False]
    assert [("open" in a) for t, a in read(page(REPORTS[:1])).tags if t == "details"] == [True]


def test_same_reports_same_bytes() -> None:
    """No clock and no random id is in it."""
    assert page(REPORTS) == page(REPORTS)


@given(st.text(max_size=40))
def test_foreign_text_stays_text(text: str) -> None:
    """Whatever a skill is called, the page's structure does not change."""
    reader = read(page([replace(REPORTS[1], name=text, path=text)]))
    assert [t for t, _ in reader.tags] == [t for t, _ in read(page([REPORTS[1]])).tags]
    assert all(re.fullmatch(r"[\w.-]+", str(a["id"]), re.ASCII) for _, a in reader.tags if "id" in a)


@given(st.text(alphabet="ab\n", max_size=20), st.text(alphabet="ab\n", max_size=20))
def test_sides_show_every_line(expected: str, observed: str) -> None:
    """Both sides are whole; what is equal is unmarked on both, in the same number of lines."""
    left, right = side_by_side(expected, observed)
    if expected or observed:
        assert [line.text for line in left] == (expected.splitlines() or ["nothing"])
        assert [line.text for line in right] == (observed.splitlines() or ["nothing"])
        assert sum(line.kind == "same" for line in left) == sum(line.kind == "same" for line in right)


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_contents_are_shown_as_lines(expected: bytes, observed: bytes) -> None:
    """A quoted content loses its quotes and its escaped line ends, and nothing else: as many lines, sizes in the captions."""
    quoted = [f"{len(data)} bytes {data.decode('latin-1')!r}" for data in (expected, observed)]
    shown = compare(Side("a: content", *quoted))
    assert (shown.expected_size, shown.observed_size) == (f"{len(expected)} bytes", f"{len(observed)} bytes")
    for data, lines in ((expected, shown.expected), (observed, shown.observed)):
        texts = [line.text for line in lines]
        if not data:
            assert texts == ["(nothing)"]
            continue
        assert (texts[-1] == "(no newline at the end)") == (not data.endswith(b"\n"))
        body = texts if data.endswith(b"\n") else texts[:-1]
        assert [repr(part)[1:-1].replace("\\'", "'") for part in _parts(data)] == [t.replace("\\'", "'") for t in body]


def _parts(data: bytes) -> list[str]:
    return data.decode("latin-1").removesuffix("\n").split("\n")


def test_repeated_lines_are_shown_once() -> None:
    """Findings of one check at one place: the source is shown with the first."""
    failing = REPORTS[1]
    check = next(c for c in failing.checks if c.findings and c.findings[0].line > 1)
    twice = replace(check, findings=(check.findings[0], replace(check.findings[0], message="again")))
    rest = tuple(twice if c is check else replace(c, findings=()) for c in failing.checks)
    text = render([replace(failing, checks=rest)], "html", sources={failing.path: "\n".join(f"line {n}" for n in range(30))})
    assert text.count('<pre class="source"') == 1
    assert "again" in text

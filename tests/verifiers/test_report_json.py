"""``assay-report/1`` and its kin: round trip, the shipped schemas, SARIF's official one."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry, Resource

from verifiers.formats import render
from verifiers.formats.json_report import ReportFormatError, dump, report_from_json, report_to_json, without_times
from verifiers.gating.gate import Facts, Failure, gate_to_json, judge
from verifiers.gating.policy import Policy, Waiver
from verifiers.gating.saved import gate_from_json
from verifiers.interface import CheckResult, Counterexample, Finding, Fix, NotChecked, Report, Verdict

ROOT = Path(__file__).parent.parent.parent
FORMATS = ROOT / "verifiers" / "formats"
REPORTS = {
    p.stem: report_from_json(json.loads(p.read_text())) for p in sorted((ROOT / "tests" / "golden" / "reports").glob("*.json"))
}
SCHEMA = json.loads((FORMATS / "assay-report-1.schema.json").read_text())
GATE_SCHEMA = json.loads((FORMATS / "assay-gate-1.schema.json").read_text())
KNOWN: Registry[Any] = Registry().with_resource("urn:assay:report:1", Resource.from_contents(SCHEMA))
SARIF_SCHEMA = json.loads((ROOT / "fixtures" / "schemas" / "sarif-2.1.0-rtm.5.json").read_text())

texts = st.text(max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=5,
)
objects = st.dictionaries(texts, values, max_size=3)
rows = st.builds(
    Finding, texts, texts, st.integers(0, 999), st.sampled_from(["error", "warning", "info"]),
    st.none() | st.builds(Counterexample, texts, objects, texts, texts, st.none() | texts), texts,
    st.none() | st.builds(Fix, st.booleans(), texts, texts), st.lists(texts, max_size=2).map(tuple), texts,
)  # fmt: skip
checks = st.builds(
    CheckResult, texts, st.none() | st.sampled_from(Verdict), st.lists(rows, max_size=2).map(tuple), texts, st.integers(0, 99),
    st.integers(0, 9999).map(lambda n: n / 1000), objects,
)  # fmt: skip


@st.composite
def reports(draw: st.DrawFn) -> Report:
    base = draw(st.sampled_from(sorted(REPORTS)))
    missing = st.lists(st.builds(NotChecked, texts, st.text(min_size=1, max_size=9)), max_size=2).map(tuple)
    return replace(
        REPORTS[base], name=draw(texts), verdict=draw(st.sampled_from(Verdict)), not_checked=draw(missing),
        checks=tuple(draw(st.lists(checks, max_size=4))), seconds=draw(st.integers(0, 10**6)) / 1000,
    )  # fmt: skip


@settings(max_examples=100)
@given(reports())
def test_round_trip_and_schema(report: Report) -> None:
    """What is written is read back, through text, and keeps the shipped schema."""
    data = json.loads(dump(report_to_json(report)))
    assert report_from_json(data) == report
    jsonschema.Draft202012Validator(SCHEMA).validate(data)


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_samples_are_what_is_written(name: str) -> None:
    """The stored samples are byte for byte what this version writes."""
    file = ROOT / "tests" / "golden" / "reports" / f"{name}.json"
    assert render([REPORTS[name]], "json") == file.read_text()


def test_names_that_are_not_utf8_survive() -> None:
    """Surrogates are escaped in the text and come back."""
    report = replace(REPORTS["passing"], path="na\udce9me.py")
    text = dump(report_to_json(report))
    text.encode()
    assert report_from_json(json.loads(text)) == report


def test_times_can_be_left_out() -> None:
    """Two verifications of the same bytes differ in ``seconds`` only."""
    slow = replace(REPORTS["passing"], seconds=99.0)
    assert report_to_json(slow) != report_to_json(REPORTS["passing"])
    assert without_times(report_to_json(slow)) == without_times(report_to_json(REPORTS["passing"]))


def test_order_of_dictionaries_does_not_matter() -> None:
    """The same facts in another order are the same bytes."""
    report = REPORTS["passing"]
    turned = replace(report, bindings=dict(reversed(report.bindings.items())), tools=dict(reversed(report.tools.items())))
    assert dump(report_to_json(turned)) == dump(report_to_json(report))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"schema": "assay-report/2"}, "not an assay-report/1 report (found 'assay-report/2')"),
        ({"verdict": "MAYBE"}, "damaged report"),
        ({"verdict": None}, "expected text, found NoneType"),
        ({"budget": "huge"}, "expected one of fast, standard, thorough"),
        ({"checks": {}}, "expected a list, found dict"),
        ({"seed": True}, "expected a whole number, found bool"),
        ({"subject": {"name": "a"}}, "key 'path' is missing"),
    ],
)
def test_damage_is_named(change: dict[str, object], part: str) -> None:
    """Another schema or a wrong part is one clear error."""
    data = {**report_to_json(REPORTS["failing"]), **change}
    with pytest.raises(ReportFormatError) as caught:
        report_from_json(data, "r.json")
    assert part in caught.value.diagnostics()


@given(values)
def test_foreign_json_is_refused(data: object) -> None:
    """No JSON crashes the reader."""
    with pytest.raises(ReportFormatError):
        report_from_json(data)


@given(st.sampled_from(sorted(report_to_json(REPORTS["failing"]))), values)
def test_any_damaged_key_is_read_or_refused(key: str, value: object) -> None:
    """Any value under any key gives a report or a ReportFormatError."""
    data = {**report_to_json(REPORTS["failing"]), key: value}
    try:
        report_from_json(data)
    except ReportFormatError as e:
        text = e.diagnostics()
        assert "report" in text  # either outcome is fine, but never another exception


def test_gate_keeps_its_schema() -> None:
    """The gate's JSON is valid, with waivers and failures in it."""
    waiver = Waiver("rotate_logs", "idempotent-replay", "soon", date(2027, 1, 1))
    failures = [Failure("x.py", Verdict.FAIL, "is not UTF-8 text")]
    result = judge(list(REPORTS.values()), Policy(waivers=(waiver,)), today=date(2026, 1, 1), failures=failures)
    jsonschema.Draft202012Validator(GATE_SCHEMA, registry=KNOWN).validate(json.loads(dump(gate_to_json(result))))


def sarif(report: Report, **more: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(render([report], "sarif", titles={}, sources=more.pop("sources", {}), **more))
    jsonschema.Draft4Validator(SARIF_SCHEMA).validate(data)
    return data


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_sarif_is_valid(name: str) -> None:
    """The official schema accepts every sample."""
    data = sarif(REPORTS[name])
    used = {r["ruleId"] for r in data["runs"][0]["results"]}
    assert used == {r["id"] for r in data["runs"][0]["tool"]["driver"]["rules"]}


@settings(max_examples=40)
@given(reports())
def test_sarif_is_valid_for_any_report(report: Report) -> None:
    """Whatever is in a report, the official schema accepts it."""
    for result in sarif(report)["runs"][0]["results"]:
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1


def test_sarif_fingerprints_outlive_edits() -> None:
    """Lines added above and counts that change keep the fingerprint; two findings never share one."""
    old = sarif(REPORTS["failing"], sources={"drafts/rotate_logs/skill.py": "a\nb\nc\nd\nrename()\nwrite()\n"})
    finding = REPORTS["failing"].checks[7].findings[0]
    moved = replace(REPORTS["failing"].checks[7], findings=(replace(finding, line=7, message="second run changed 4 paths"),))
    report = replace(REPORTS["failing"], checks=(moved,))
    new = sarif(report, sources={"drafts/rotate_logs/skill.py": "0\n0\na\nb\nc\nd\n  rename()\nwrite()\n"})
    prints = [r["partialFingerprints"]["primaryLocationLineHash"] for r in old["runs"][0]["results"]]
    assert new["runs"][0]["results"][0]["partialFingerprints"]["primaryLocationLineHash"] in prints
    assert len(set(prints)) == len(prints)


def test_sarif_keeps_githubs_limits() -> None:
    """Five thousand results at most, the worst first; what was left out is said."""
    notes = tuple(Finding(f"n{n}", "a.py", severity="info") for n in range(6000))
    last = CheckResult("z", Verdict.FAIL, (Finding("the error", "a.py"),))
    run = sarif(replace(REPORTS["failing"], checks=(CheckResult("a", Verdict.PASS, notes), last)))["runs"][0]
    assert len(run["results"]) == 5000
    assert run["results"][0]["message"]["text"] == "the error"
    assert any("1001 more results" in n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"])


def test_sarif_suppresses_what_is_waived() -> None:
    """A waived finding is there, with its reason."""
    waiver = Waiver("rotate_logs", "idempotent-replay", "soon", date(2027, 1, 1))
    result = judge([REPORTS["failing"]], Policy(waivers=(waiver,)), today=date(2026, 1, 1))
    rows = {r["ruleId"]: r for r in sarif(REPORTS["failing"], gate=result)["runs"][0]["results"]}
    assert rows["idempotent-replay"]["suppressions"][0]["justification"] == "soon (until 2027-01-01)"
    assert "suppressions" not in rows["crash-convergent"]


@given(st.lists(reports(), max_size=3), st.integers(0, 2), st.booleans())
@settings(max_examples=60)
def test_gate_round_trip(rows: list[Report], unchanged: int, broken: bool) -> None:
    """A saved gate read back is the same gate: verdicts, reasons, waivers, failures, exit code."""
    failures = [Failure("b/skill.py", Verdict.FAIL, "is not text")] if broken else []
    waivers = (Waiver("rotate_logs", "idempotent-replay", "ticket", date(2099, 1, 1)),)
    gate = judge(
        rows, Policy(waivers=waivers, minimum_score=0.5, seed_salt="x"), today=date(2027, 1, 1),
        facts=Facts(unchanged=unchanged), failures=failures,
    )  # fmt: skip
    document = json.loads(dump(gate_to_json(gate)))
    again = gate_from_json(document)
    assert gate_to_json(again) == document
    assert again.exit_code == gate.exit_code


@given(st.data())
def test_damaged_gates_are_refused(data: st.DataObject) -> None:
    """A document with a part missing or of another type is an error of ours, never a verdict."""
    gate = judge(list(REPORTS.values()), today=date(2027, 1, 1), failures=[Failure("b", Verdict.FAIL, "x")])
    document = json.loads(dump(gate_to_json(gate)))
    key = data.draw(st.sampled_from(["schema", "skills", "failures", "notes", "unchanged", "reports"]))
    if data.draw(st.booleans()):
        del document[key]
    else:
        document[key] = data.draw(st.sampled_from([None, "x", 7.5, {"a": 1}, [1]]))
    if key == "notes" and isinstance(document.get("notes"), list):
        return  # any list reads as texts
    with pytest.raises(ReportFormatError):
        gate_from_json(document)

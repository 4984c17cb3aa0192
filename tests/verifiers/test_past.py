"""Past counterexamples: kept per skill, tried first, harmless when damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox import open_sandbox
from sandbox.interface import Entry, Snapshot
from verifiers.binding.bindings import load_bindings
from verifiers.evidence import load_evidence
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Report, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify
from verifiers.worlds.catalog import CATALOG
from verifiers.worlds.grammar import grammar
from verifiers.worlds.past import MAX_BYTES, MOST, SCHEMA, Failing, Past, matching
from verifiers.worlds.plans import Plan
from verifiers.worlds.template import templates
from verifiers.worlds.variation import Step
from verifiers.worlds.world import realise

SKILL = Path(__file__).parents[2] / "fixtures" / "skills" / "rename_ext"
numbers = st.integers(-3, 8)
parts = numbers | st.sampled_from(["a.txt", "d/b.txt", "d", "", "less", "twice", "letters", "hidden file", "b"])
steps = st.builds(Step, st.sampled_from([*CATALOG, "gone"]), st.lists(parts, max_size=3).map(tuple))
any_plan = st.builds(Plan, st.lists(steps, max_size=4).map(tuple), numbers)
FILE, OTHER = Entry("file", 0o644, b"one\ntwo\nthree\n"), Entry("file", 0o600, b"x")
BASE = Snapshot({"a.txt": FILE, "d": Entry("dir", 0o755), "d/b.txt": OTHER})
(TEMPLATE,) = templates([(("mv a.txt c.txt",), {"file": "a.txt"})])
GRAMMAR = grammar("t", {"file": "a.txt"}, TEMPLATE, Expectation(BASE, BASE, frozenset(), "", True, (0,), (True,)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans=st.lists(any_plan, min_size=1, max_size=5, unique=True), name=st.text(max_size=20))
def test_what_is_added_comes_back(tmp_path: Path, plans: list[Plan], name: str) -> None:
    """Newest first, for any plan and any name; another name's file is another one."""
    past = Past(tmp_path / "new", name)
    past.file.unlink(missing_ok=True)
    assert all(past.add(Failing("t", p)) for p in plans)
    assert [f.plan for f in past.failing()] == plans[::-1]
    assert past.add(Failing("t", plans[0]))
    assert past.failing()[0].plan == plans[0]
    assert len(past.failing()) == len(plans)
    assert Past(tmp_path / "new", name + "x").file != past.file
    assert past.file.parent == tmp_path / "new"


def test_the_number_is_bounded(tmp_path: Path) -> None:
    """The oldest are forgotten."""
    past = Past(tmp_path, "skill")
    for salt in range(MOST + 5):
        past.add(Failing("t", Plan(salt=salt)))
    assert [f.plan.salt for f in past.failing()] == list(range(MOST + 4, 4, -1))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(["task_id", "plan", "steps", "salt", "x"]), v),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=json_values, tail=st.binary(max_size=20))
def test_foreign_content_is_passed_over(tmp_path: Path, rows: object, tail: bytes) -> None:
    """Whatever the file holds, reading it gives plans or nothing."""
    past = Past(tmp_path, "skill")
    for data in (tail, json.dumps({"schema": SCHEMA, "failing": rows}).encode() + tail, json.dumps(rows).encode()):
        past.file.write_bytes(data)
        assert all(isinstance(f.task_id, str) and hash(f.plan) for f in past.failing())


OTHER_VERSION = b'{"schema": "assay-counterexamples/9", "failing": [{"task_id": "t", "plan": {"steps": [], "salt": 0}}]}'
OLD_VERSION = b'{"schema": "assay-counterexamples/1", "failing": [{"task_id": "t", "plan": {"drops": [0]}}]}'


@pytest.mark.parametrize("content", [b"[" * 100_000, b" " * (MAX_BYTES + 1), OTHER_VERSION, OLD_VERSION])
def test_hostile_files_hold_nothing(tmp_path: Path, content: bytes) -> None:
    """Deep nesting, great length, another version."""
    past = Past(tmp_path, "skill")
    past.file.write_bytes(content)
    assert past.failing() == ()


def test_an_unwritable_directory_costs_nothing(tmp_path: Path) -> None:
    """What cannot be kept is not kept."""
    (tmp_path / "file").touch()
    assert not Past(tmp_path / "file", "skill").add(Failing("t", Plan()))


@given(any_plan)
def test_plans_that_fit_can_be_realised(plan: Plan) -> None:
    """A stored plan is tried only where every choice means something, and then never breaks."""
    if plan.fits(GRAMMAR):
        realise(GRAMMAR, plan)
        assert matching([Failing("t", plan)], [GRAMMAR]) == [(GRAMMAR, plan)]
    else:
        assert matching([Failing("t", plan)], [GRAMMAR]) == []
    assert matching([Failing("other", plan)], [GRAMMAR]) == []


@pytest.mark.engine
def test_a_counterexample_is_tried_again(tmp_path: Path) -> None:
    """What broke one version is found at once in the next; a version that is right has the report that it has anyway."""
    source = (SKILL / "skill.py").read_text(encoding="utf-8")
    broken = source.replace("    source.rename(target)\n", "    if 'a' in source.name:\n        source.rename(target)\n")
    assert broken != source
    evidence, bindings = load_evidence(SKILL / "evidence.jsonl"), load_bindings(SKILL / "bindings.json")

    def judged(text: str, kept: Path | None) -> Report:
        options = Options(budget="fast", checks=frozenset({"generalises"}), database=kept, seed=1)
        return verify(parse_subject(text, "skill.py"), evidence, bindings, sandbox=box, options=options)

    with open_sandbox() as box:
        assert judged(broken, tmp_path).verdict is Verdict.FAIL
        past = Past(tmp_path, "rename_ext")
        assert past.failing()
        again = judged(broken, tmp_path).check("generalises")
        assert again is not None
        assert again.findings[0].counterexample is not None
        assert "past counterexample" in again.findings[0].counterexample.case
        with_it, without_it = judged(source, tmp_path), judged(source, None)
        assert with_it.verdict is Verdict.PASS
        assert [c.measured for c in with_it.checks] == [c.measured for c in without_it.checks]
        assert with_it.sandbox is not None
        assert without_it.sandbox is not None
        assert with_it.sandbox.runs == without_it.sandbox.runs

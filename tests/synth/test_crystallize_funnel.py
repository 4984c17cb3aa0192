"""Where traces are lost on the way to skills."""

from __future__ import annotations

from dataclasses import replace

from factories import draft, report, trace

from synth.config import Evolution
from synth.crystallization.funnel import funnel
from synth.crystallization.outcome import PatternOutcome
from synth.importers.funnel import shown


def test_each_stage_says_what_it_lost() -> None:
    """Failures, what was done too seldom, what does not replay, what was refused; and what would save the most."""
    traces = [replace(trace(n), task_id=f"t{n}") for n in range(8)]
    traces[7] = replace(traces[7], success=False)
    judged = report(draft())
    judged = replace(judged, evidence=replace(judged.evidence, unusable={"t1": "it ends in another tree"}))
    outcomes = [
        PatternOutcome("rename", ("t0", "t1", "t2"), "registered", "", skill="rename", report=judged),
        PatternOutcome("count", ("t3", "t4", "t5"), "no-candidate", "a program that nobody knows"),
    ]
    stages = funnel(traces, outcomes, Evolution())
    assert [(s.name, s.count) for s in stages] == [
        ("traces", 8), ("successful", 7), ("repeated", 6), ("replayable", 2), ("skills", 1),
    ]  # fmt: skip
    lines = "\n".join(shown(stages))
    for line in (
        "successful: 1 lost, the recording failed (t7)",
        "repeated: 1 lost, done fewer than 3 times (t6)",
        "replayable: 1 lost, it ends in another tree (t1)",
        "skills: 1 lost, a program that nobody knows (count)",
    ):
        assert line in lines
    assert lines.endswith("most would be saved by more recordings of the same task (1)")


def test_a_reason_that_the_table_has_is_not_told_whole_once_more() -> None:
    """Tasks that fail by one check are one loss; what no check says stays as it is."""
    failed = report(draft())
    check = failed.checks[0].id
    outcomes = [
        PatternOutcome("one", ("t0",), "refused", f"{check}: trace t0: a.txt: content: expected 1, observed 2", report=failed),
        PatternOutcome("two", ("t1",), "refused", f"{check}: trace t1: no such path", report=failed),
        PatternOutcome("three", ("t2",), "inconclusive", "no engine: none answers"),
    ]
    lines = "\n".join(shown(funnel([], outcomes, Evolution())))
    assert f"skills: 2 lost, {check} (one)" in lines
    assert "skills: 1 lost, no engine: none answers (three)" in lines

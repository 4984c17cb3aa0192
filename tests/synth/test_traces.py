"""Traces to JSON and back, and many stores as one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.interface import ExecutionTrace
from synth.tracing.traces import (
    consolidate,
    dump_trace,
    dump_traces,
    load_traces,
    to_evidence,
    trace_digest,
    trace_from_record,
    unique_ids,
)
from verifiers.interface import EvidenceError

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def trace(task_id: str = "t", output: str = "a\n", at: datetime = NOW, **more: Any) -> ExecutionTrace:
    return ExecutionTrace(task_id, "list files", ("ls",), (output,), True, 1.5, at, {}, **more)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
any_text = st.text(st.characters(exclude_characters="\0"))
command_text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
"""A lone surrogate stands for no byte: no command can hold it."""


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    n = draw(st.integers(0, 3))
    lists = st.lists(any_text, min_size=n, max_size=n)
    record: dict[str, Any] = {
        "task_id": draw(st.text(min_size=1, max_size=20).filter(lambda s: bool(s.strip()))),
        "task_description": draw(st.text()),
        "commands": draw(st.lists(command_text, min_size=n, max_size=n)),
        "outputs": draw(lists),
        "success": draw(st.booleans()),
        "duration_ms": draw(st.floats(0, 1e9) | st.integers(0, 10**6)),
        "timestamp": draw(st.datetimes(timezones=st.just(UTC))).isoformat(),
        "metadata": draw(st.dictionaries(st.sampled_from(["source", "x"]), json_values)),
    }
    if draw(st.booleans()):
        record["exit_codes"] = draw(st.lists(st.integers(0, 255), min_size=n, max_size=n))
        record["workspace"] = {"a b.txt": {"type": "file", "mode": "0600", "content_b64": "aGk="}}
    record.update(draw(st.dictionaries(st.text(min_size=1).map(lambda s: "x_" + s), json_values, max_size=2)))
    return record


@given(records())
def test_json_round_trip_is_exact(record: dict[str, Any]) -> None:
    """Every key and value, known or not, comes back as it was."""
    loaded = trace_from_record(record, "x")
    assert json.loads(dump_trace(loaded)) == record
    assert trace_from_record(json.loads(dump_trace(loaded)), "x") == loaded


def test_text_that_utf8_cannot_hold_survives() -> None:
    """File names that are no UTF-8 come as lone surrogates and stay."""
    line = dump_trace(trace(output="\udcff\n"))
    line.encode("utf-8")
    assert trace_from_record(json.loads(line), "x").outputs == ("\udcff\n",)


def test_to_evidence_keeps_what_replay_needs() -> None:
    """Base and end state are parsed; the codes stay."""
    tree = {"a": {"type": "file", "mode": "0644", "content_b64": ""}}
    evidence = to_evidence(trace(workspace=tree, post_workspace=tree, exit_codes=(0,)))
    assert evidence.base is not None
    assert evidence.base.to_json() == tree
    assert evidence.exit_codes == (0,)


def test_one_bad_record_is_raised_or_handed_over(tmp_path: Path) -> None:
    """The caller chooses; the good records are not lost either way."""
    path = tmp_path / "t.jsonl"
    path.write_text(dump_trace(trace("a")) + "\n{}\n" + dump_trace(trace("b")) + "\n", "utf-8")
    with pytest.raises(EvidenceError, match="'commands' is missing"):
        load_traces(path)
    errors: list[EvidenceError] = []
    assert [t.task_id for t in load_traces(path, errors.append)] == ["a", "b"]
    assert [e.where for e in errors] == [f"{path}:2"]


def test_a_cut_file_in_a_directory_does_not_hide_the_others(tmp_path: Path) -> None:
    """With an error callback the rest of the directory still loads."""
    (tmp_path / "1.json").write_text("{", "utf-8")
    (tmp_path / "2.json").write_text(dump_trace(trace("b")), "utf-8")
    errors: list[EvidenceError] = []
    assert [t.task_id for t in load_traces(tmp_path, errors.append)] == ["b"]
    assert len(errors) == 1


def test_consolidate_merges_stores_by_content(tmp_path: Path) -> None:
    """A copy counts once (the oldest stays); a reused task_id gets a suffix."""
    old, new = trace("a", at=NOW - timedelta(days=1)), trace("a2", at=NOW)
    other = trace("a", output="b\n")
    (tmp_path / "1.jsonl").write_text(dump_traces([new, other]), "utf-8")
    (tmp_path / "2.jsonl").write_text(dump_traces([old]), "utf-8")
    merged = consolidate([tmp_path / "1.jsonl", tmp_path / "2.jsonl"])
    assert [(t.task_id, t.outputs) for t in merged] == [("a", ("a\n",)), ("a~2", ("b\n",))]


def test_the_digest_is_of_content_not_of_circumstance() -> None:
    """Time and task_id do not make a new trace; another output does."""
    assert trace_digest(trace("a")) == trace_digest(trace("b", at=NOW + timedelta(1)))
    assert trace_digest(trace()) != trace_digest(trace(output="b\n"))


@given(st.lists(st.sampled_from(["a", "a~2", "b"]), max_size=6))
def test_ids_become_unique(ids: list[str]) -> None:
    """No two traces share a task_id afterwards, and none is lost."""
    named = [t.task_id for t in unique_ids(trace(i) for i in ids)]
    assert len(set(named)) == len(ids)

"""Evidence files: what loads, and the one clear error for what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.evidence import evidence_from_record, load_evidence
from verifiers.interface import EvidenceError

EIGHT: dict[str, Any] = {
    "task_id": "t-1",
    "task_description": "list",
    "commands": ["ls", "ls -A"],
    "outputs": ["a\n", "a\n"],
    "success": True,
    "duration_ms": 3.5,
    "timestamp": "2026-11-21T21:06:10+00:00",
    "metadata": {},
}


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records), "utf-8")
    return path


def test_a_record_with_only_the_seeds_eight_fields_loads(tmp_path: Path) -> None:
    """The eight fields are enough: what is not recorded is None, not a guess."""
    (evidence,) = load_evidence(write(tmp_path / "e.jsonl", EIGHT))
    assert evidence.commands == ("ls", "ls -A")
    assert (evidence.base, evidence.post, evidence.exit_codes, evidence.stderrs) == (None, None, None, None)


def test_unknown_keys_are_ignored() -> None:
    """A newer writer's keys do not stop an older reader."""
    assert evidence_from_record({**EIGHT, "colour": "blue"}, "x").task_id == "t-1"


@pytest.mark.parametrize(
    ("change", "needle"),
    [
        ({"task_id": 7}, "'task_id': expected a string, got a number"),
        ({"task_id": " "}, "'task_id': expected a name"),
        ({"task_description": None}, "'task_description': expected a string, got null"),
        ({"commands": "ls"}, "'commands': expected a list of strings, got a string"),
        ({"commands": ["ls", 3]}, "'commands[1]': expected a string, got a number"),
        ({"commands": ["ls", "a\0b"]}, "'commands[1]': holds a character"),
        ({"commands": ["ls", "\ud800"]}, "'commands[1]': holds a character"),
        ({"workspace": {"\ud800": {"type": "dir"}}}, "no file name can hold"),
        ({"outputs": ["a"]}, "'outputs' has 1 items for 2 commands"),
        ({"outputs": ["a", {"stdout": "b"}]}, "'outputs[1]': expected a string, got an object"),
        ({"success": 1}, "'success': expected true or false, got a number"),
        ({"success": "yes"}, "'success': expected true or false, got a string"),
        ({"duration_ms": True}, "'duration_ms': expected a number"),
        ({"duration_ms": -1}, "'duration_ms'"),
        ({"timestamp": "yesterday"}, "'timestamp': 'yesterday' is not an ISO 8601 time"),
        ({"metadata": []}, "'metadata': expected an object, got a list"),
        ({"metadata": {"stderrs": ["x"]}}, "'metadata.stderrs' has 1 items"),
        ({"metadata": {"workspace_root": "work"}}, "'metadata.workspace_root': expected an absolute path"),
        ({"exit_codes": [0]}, "'exit_codes' has 1 items for 2 commands"),
        ({"exit_codes": [0, True]}, "'exit_codes[1]': expected an integer, got true or false"),
        ({"workspace": {"/etc": {"type": "dir"}}}, "workspace['/etc']"),
        ({"workspace": {"a": {"type": "file", "content_b64": "%%"}}}, "content_b64 is not base64"),
        ({"workspace": {"a": {"type": "file", "content": "x"}}}, "a file needs content_b64"),
        ({"post_workspace": 4}, "post_workspace: expected an object"),
    ],
)
def test_a_wrong_field_is_named_with_file_and_line(tmp_path: Path, change: dict[str, Any], needle: str) -> None:
    """One error, that says file, line, field and what was expected."""
    path = write(tmp_path / "e.jsonl", EIGHT, {**EIGHT, "task_id": "t-2", **change})
    with pytest.raises(EvidenceError) as caught:
        load_evidence(path)
    assert caught.value.where == f"{path}:2"
    assert needle in caught.value.diagnostics()


@pytest.mark.parametrize("field", ["task_id", "task_description", "commands", "outputs", "success"])
def test_a_missing_field_is_named(field: str) -> None:
    """The five fields that replay needs cannot be left out."""
    with pytest.raises(EvidenceError, match=f"'{field}' is missing"):
        evidence_from_record({k: v for k, v in EIGHT.items() if k != field}, "x:1")


def test_a_file_cut_in_half_says_so(tmp_path: Path) -> None:
    """A crash of the writer is recognised as such."""
    path = tmp_path / "e.jsonl"
    whole = json.dumps(EIGHT) + "\n" + json.dumps({**EIGHT, "task_id": "t-2"})
    path.write_text(whole[: len(whole) - 40], "utf-8")
    with pytest.raises(EvidenceError, match="cut off") as caught:
        load_evidence(path)
    assert caught.value.where.endswith(":2")


@pytest.mark.parametrize(
    ("data", "needle"),
    [
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"{'a': 1}\n", "not JSON"),
        (b"[1, 2]\n", "expected a JSON object, got a list"),
        (b'{"task_id": NaN}\n', "NaN is not a JSON number"),
        (b"[" * 100_000, "JSON"),
    ],
)
def test_what_is_no_trace_file_is_refused(tmp_path: Path, data: bytes, needle: str) -> None:
    """Foreign bytes give one sentence, never a traceback of the parser."""
    path = tmp_path / "e.jsonl"
    path.write_bytes(data)
    with pytest.raises(EvidenceError, match=needle):
        load_evidence(path)


def test_a_missing_file_names_what_makes_one(tmp_path: Path) -> None:
    """The advice is the command that records."""
    with pytest.raises(EvidenceError) as caught:
        load_evidence(tmp_path / "none.jsonl")
    assert "assay record" in caught.value.diagnostics()


def test_an_empty_file_holds_no_evidence(tmp_path: Path) -> None:
    """No line is no evidence; whether that is enough is judged elsewhere."""
    (tmp_path / "e.jsonl").write_text("\n\n", "utf-8")
    assert load_evidence(tmp_path / "e.jsonl") == []


def test_an_indented_json_file_and_a_directory_load(tmp_path: Path) -> None:
    """The Omni layout: one JSON document a file, many files a directory."""
    (tmp_path / "b.json").write_text(json.dumps({**EIGHT, "task_id": "b"}, indent=2), "utf-8")
    (tmp_path / "a.jsonl").write_text("\ufeff" + json.dumps({**EIGHT, "task_id": "a"}), "utf-8")
    (tmp_path / ".tmp.json").write_text("{", "utf-8")
    assert [e.task_id for e in load_evidence(tmp_path)] == ["a", "b"]


def test_copies_count_once_and_clashes_are_refused(tmp_path: Path) -> None:
    """A task_id stands for one trace: bindings are keyed by it."""
    assert len(load_evidence(write(tmp_path / "same.jsonl", EIGHT, EIGHT))) == 1
    with pytest.raises(EvidenceError, match="already used"):
        load_evidence(write(tmp_path / "clash.jsonl", EIGHT, {**EIGHT, "outputs": ["b\n", "a\n"]}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*EIGHT, "workspace", "exit_codes", "other"]), json_values))
def test_no_record_breaks_the_reader(change: dict[str, Any]) -> None:
    """Whatever JSON an object holds, the reader answers with evidence or with its own error."""
    try:
        evidence = evidence_from_record({**EIGHT, **change}, "x:1")
    except EvidenceError as e:
        where, lengths = e.where, (0, 0)
    else:
        where, lengths = "x:1", (len(evidence.outputs), len(evidence.commands))
    assert where == "x:1"
    assert lengths[0] == lengths[1]


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Whatever a file holds, the answer is evidence or one EvidenceError."""
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(data)
    where = str(path)
    try:
        load_evidence(path)
    except EvidenceError as e:
        where = e.where
    assert where.startswith(str(path))

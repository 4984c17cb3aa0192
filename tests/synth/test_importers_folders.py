"""Folders of recordings of all kinds, and recordings of which something is not as it should be."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import CLINE_ENVIRONMENT, CLINE_START, SWE_ASKED, answer, block, call, cline, log, mini, said, saved

from synth.importers import ImportReport, UnknownFormat, import_path
from verifiers.interface import EvidenceError


def reasons(report: ImportReport) -> str:
    return "\n".join(map(str, report.dropped))


def test_files_that_no_importer_knows_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    """With what each seems to be, whatever it is called; of a repository's own records nothing is read."""
    saved(tmp_path / "a.traj.json", mini(block("ls"), said("a\n")))
    (tmp_path / "table.tsv").write_text("a\tb\nc\td\n")
    (tmp_path / "image").write_bytes(bytes(range(256)))
    (tmp_path / ".empty").write_text("\n")
    (tmp_path / "notes.md").write_text("hello\n")
    (tmp_path / "broken.json").write_text('{"a": [')
    saved(tmp_path / "other.json", {"goose": 1, "working_dir": "/x"})
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[core]\n")
    report = import_path(tmp_path)
    assert len(report.traces) == report.sessions == 1
    found = {Path(d.where).name: d.why.rpartition(": ")[2] for d in report.dropped}
    assert found == {
        "table.tsv": "it looks like a table", "image": "it holds no text", ".empty": "it is empty",
        "notes.md": "it holds text without a prompt", "broken.json": "it looks like JSON and is none, or no list of objects",
        "other.json": "its first record has goose, working_dir",
    }  # fmt: skip
    with pytest.raises(UnknownFormat, match="first record has goose"):
        import_path(tmp_path / "other.json")
    (tmp_path / "blank.json").write_text("\n\n" + json.dumps(mini(block("ls"), said("x" * 99_999)), indent=1))
    assert import_path(tmp_path / "blank.json").kind == "mini-swe-agent"


@pytest.mark.parametrize("head", ['{"messages": [\n', "Script started on x\n", "# aider chat", "\n\n"])
def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path, head: str) -> None:
    """Where it must be read as a whole; half a gigabyte that is nowhere on the disk."""
    path = tmp_path / "huge"
    path.write_text(head)
    with path.open("r+b") as file:
        file.truncate(500 << 20)
    with pytest.raises(UnknownFormat):
        import_path(path)


def test_a_folder_without_any_recording_is_an_error(tmp_path: Path) -> None:
    """How many files there are, and what the first of them is."""
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("hello\n")
    with pytest.raises(UnknownFormat, match=r"knows: 2 files, of which \S+a\.md is no recording"):
        import_path(tmp_path)


def test_a_folder_of_one_kind(tmp_path: Path) -> None:
    """Files of other kinds are named, not read as what they are not."""
    saved(tmp_path / "a.traj.json", mini(block("ls"), said("a\n")))
    cline(tmp_path / "ui_messages.json", CLINE_START, ("say", "command", "ls"))
    report = import_path(tmp_path, "cline")
    assert [t.metadata["source"] for t in report.traces] == ["cline"]
    assert "is a recording of kind mini-swe-agent, not cline" in reasons(report)


def test_the_same_file_twice_counts_once(tmp_path: Path) -> None:
    """Also where the copy is exact, under the same name."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        saved(tmp_path / folder / "x.traj.json", mini(block("ls"), said("a\n")))
        (tmp_path / folder / "s.txt").write_text("$ ls\na\n")
    report = import_path(tmp_path)
    assert sorted(t.metadata["source"] for t in report.traces) == ["mini-swe-agent", "shell"]
    assert [(d.what, d.why.partition(":")[0]) for d in report.dropped] == [
        ("copy", "another file has the same recording"), ("copy", "another file has the same request"),
    ]  # fmt: skip


# ---------------------------------------------------------------- foreign data

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def samples(path: Path) -> list[tuple[Path, list[Any]]]:
    ui = cline(
        path / "ui.json",
        CLINE_START,
        CLINE_ENVIRONMENT,
        ("say", "command", "ls"),
        ("say", "tool", '{"tool":"newFileCreated","path":"a"}'),
    )
    chat = log(path / "log.jsonl", [SWE_ASKED, call("bash", 1, command="ls"), answer("a"), call("submit", 2)])
    acts = [
        {"tool_call_id": "1", "action": {"kind": "TerminalAction", "command": "ls"}},
        {"tool_call_id": "1", "observation": {"output": "a"}},
    ]
    cast = [{"version": 3, "term": {"cols": 80, "rows": 24}, "timestamp": 1}, [0.5, "o", "$ ls\r\na"], [1, "r", "80x24"]]
    return [
        (
            path / "m.json",
            [
                mini(
                    block("ls"),
                    said("a\n"),
                    call("bash", 1, command="ls"),
                    answer("b", extra={"raw_output": "", "returncode": 0}),
                )
            ],
        ),
        (path / "o.json", [{"instruction": "a", "history": acts}]),
        (path / "c.cast", cast),
        (path / "results.json", [{"task_id": "a", "instruction": "b", "is_resolved": True, "agent_started_at": "x"}]),
        (ui, json.loads(ui.read_text())),
        (chat, [json.loads(line) for line in chat.read_text().splitlines()]),
    ]


def spoil(value: Any, data: st.DataObject) -> None:
    """Replaces one value somewhere below."""
    key = data.draw(st.sampled_from(list(value) if isinstance(value, dict) else list(range(len(value)))))
    if isinstance(value[key], dict | list) and value[key] and data.draw(st.integers(0, 5)):
        spoil(value[key], data)
    else:
        value[key] = data.draw(JSON)


@given(st.integers(0, 5), st.data())
def test_any_value_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, number: int, data: st.DataObject
) -> None:
    """One field of a whole session is replaced by anything: never a crash."""
    path, lines = samples(tmp_path_factory.mktemp("s"))[number]
    spoil(lines, data)
    text = json.dumps(lines) if path.name == "ui.json" else "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(text[: data.draw(st.integers(len(text) // 2, len(text)))] if data.draw(st.booleans()) else text)
    with contextlib.suppress(EvidenceError, UnknownFormat):
        assert all(d.why for d in import_path(path).dropped)

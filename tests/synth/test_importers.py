"""Importers: real formats in, traces out, and every drop with its reason."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.importers import ImportReport, UnknownFormat, import_path
from synth.importers.common import parse_time
from synth.importers.reader import detect_kind
from synth.tracing.traces import dump_traces, load_traces
from verifiers.interface import EvidenceError

FIXTURES = Path(__file__).parents[2] / "fixtures"
FILES = FIXTURES / "importers"


def reasons(report: ImportReport) -> str:
    return "\n".join(map(str, report.dropped))


def test_a_claude_code_session_becomes_one_trace_a_request() -> None:
    """Commands, both streams, exit codes and the working directory; the rest is dropped with a reason."""
    report = import_path(FILES / "claude_code.jsonl")
    rename, count = report.traces
    assert report.kind == "claude-code"
    assert rename.task_description == "rename all .txt files here to .md"
    assert rename.commands == ("ls", 'for f in *.txt; do mv "$f" "${f%.txt}.md"; done')
    assert rename.outputs == ("a.txt\nb c.txt\n", "")
    assert (rename.exit_codes, rename.success, rename.duration_ms) == ((0, 0), True, 6500)
    assert rename.metadata["workspace_root"] == "/home/dev/notes"
    assert (count.exit_codes, count.success) == ((1,), False)
    assert count.outputs == ("wc: missing.md: No such file or directory\n",)
    assert "never shows whole" in reasons(report)
    assert "sub-agent" in reasons(report)
    assert report.notes


def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    """A format that may have changed is not guessed at."""
    path = tmp_path / "s.jsonl"
    path.write_text((FILES / "claude_code.jsonl").read_text("utf-8").replace('"2.0.14"', '"9.0.0"'), "utf-8")
    with pytest.raises(UnknownFormat) as caught:
        import_path(path)
    assert "version '9.0.0' is not known" in caught.value.diagnostics()


def test_a_session_from_the_future_is_read(tmp_path: Path) -> None:
    """A clock that is wrong, and fields that nobody knows yet."""
    text = (FILES / "claude_code.jsonl").read_text("utf-8")
    path = tmp_path / "s.jsonl"
    path.write_text(re.sub(r'"timestamp": ?"\d{4}', '"later": {"x": []}, "timestamp":"2999', text), "utf-8")
    traces = import_path(path, "claude-code").traces
    assert [t.timestamp.year for t in traces] == [2999] * len(traces) != []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"interrupted": True}, "interrupted"),
        ({"isImage": True}, "image"),
        ({"backgroundTaskId": "b1"}, "background"),
        ({"persistedOutputPath": "/x/b1.txt"}, "more than the session keeps"),
        ({"timedOutAfterMs": 120000}, "out of time"),
    ],
)
def test_results_that_are_no_output_drop_the_trace(tmp_path: Path, change: dict[str, bool], reason: str) -> None:
    """What a command printed must be known."""
    lines = [json.loads(line) for line in (FILES / "claude_code.jsonl").read_text("utf-8").splitlines()[:4]]
    lines[3]["toolUseResult"].update(change)
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    report = import_path(path)
    assert report.traces == ()
    assert reason in reasons(report)


def session(tmp_path: Path, **change: object) -> ImportReport:
    """The import of a session with one Bash call whose ``toolUseResult`` has these values."""
    lines = [json.loads(line) for line in (FILES / "claude_code.jsonl").read_text("utf-8").splitlines()[:4]]
    lines[3]["toolUseResult"].update(change)
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return import_path(path)


def test_an_explained_exit_code_is_not_zero(tmp_path: Path) -> None:
    """Claude Code does not count grep's 1 as an error, but it was 1."""
    (trace,) = session(tmp_path, stdout="", returnCodeInterpretation="No matches found").traces
    assert trace.exit_codes == (1,)


def test_what_claude_code_adds_to_an_error_stream_is_left_out(tmp_path: Path) -> None:
    """The command never printed it."""
    (trace,) = session(tmp_path, stderr="warn\nShell cwd was reset to /home/dev/notes").traces
    assert trace.metadata["stderrs"] == ["warn\n"]


def test_an_interrupted_request_is_dropped_and_begins_no_other(tmp_path: Path) -> None:
    """The note about the interruption is nobody's request."""
    lines = (FILES / "claude_code.jsonl").read_text("utf-8").splitlines()[:4]
    said = {"role": "user", "content": "[Request interrupted by user for tool use]"}
    note = {**json.loads(lines[1]), "uuid": "n", "parentUuid": "u2", "message": said}
    path = tmp_path / "s.jsonl"
    path.write_text(
        "\n".join([json.dumps({"type": "file-history-snapshot", "messageId": "m"}), *lines, json.dumps(note)]), "utf-8"
    )
    report = import_path(path)
    assert report.traces == ()
    assert len(report.dropped) == 1
    assert "interrupted the request" in reasons(report)


def test_a_swe_agent_1_trajectory_starts_where_its_prompt_says() -> None:
    """Its states are those after each action; carriage returns are the terminal's; views and refused commands are no steps."""
    (trace,) = import_path(FILES / "swe_agent_1.traj").traces
    assert trace.task_description == "Call x y in a.py"
    assert trace.commands == ("cd lib && ls", "grep -c x a.py b.py", "sed -i 's/x/y/' a.py")
    assert trace.outputs == ("a.py\nb.py\n", "a.py:1\nb.py:0\n", "")
    assert trace.metadata["workspace_root"] == "/shop"
    assert trace.duration_ms == 1500


def test_a_swe_agent_step_that_ran_out_of_time_spoils_the_trace(tmp_path: Path) -> None:
    """What it left is not known."""
    record = json.loads((FILES / "swe_agent.traj").read_text("utf-8"))
    record["trajectory"][0]["observation"] = "\nEXECUTION TIMED OUT"
    path = tmp_path / "t.traj"
    path.write_text(json.dumps(record), "utf-8")
    report = import_path(path)
    assert report.traces == ()
    assert "out of time" in reasons(report)


def test_a_swe_agent_trajectory_keeps_its_shell_steps() -> None:
    """SWE-agent's own commands are dropped one by one; the issue is the description."""
    report = import_path(FILES / "swe_agent.traj")
    (trace,) = report.traces
    assert trace.task_description == "Rename old_name to new_name in the sources"
    assert trace.commands == ("ls", "grep -rn old_name src | wc -l", "sed -i 's/old_name/new_name/g' src/*.py")
    assert trace.outputs[1] == "3\n"
    assert trace.success
    assert trace.metadata["workspace_root"] == "/testbed"
    assert [d.what for d in report.dropped] == ["step", "step"]


def test_a_trajectory_with_the_agents_own_edits_is_dropped() -> None:
    """What a shell cannot repeat is no evidence."""
    report = import_path(FILES / "swe_agent_edit.traj")
    assert report.traces == ()
    assert "str_replace_editor" in reasons(report)


def test_omnis_three_formats_load() -> None:
    """Evolution, Hippocampus and tracer files; outputs that are no strings become JSON text, and that is said."""
    report = import_path(FILES / "omni")
    by_id = {t.task_id: t for t in report.traces}
    assert set(by_id) == {"rename", "hp-1", "tr-1"}
    assert json.loads(by_id["rename"].outputs[0])[0]["name"] == "a.txt"
    assert by_id["hp-1"].commands == ("ls *.py", "wc -l a.py")
    assert by_id["tr-1"].commands == ("ls notes | wc -l",)
    assert by_id["tr-1"].outputs == ("4\n",)
    assert "was no string" in reasons(report)
    assert "llm_call ran no command" in reasons(report)


def test_wayland_turns_are_no_evidence() -> None:
    """Requests and outcomes for the bucketer, and a sentence that says so."""
    report = import_path(FILES / "wayland_turns.jsonl")
    assert [(t.user_input, t.outcome) for t in report.turns] == [
        ("refactor the code", "success"),
        ("code refactor please", "failure"),
    ]
    assert report.traces == ()
    assert "no commands" in reasons(report)


def test_a_terminals_text_is_split_into_tasks() -> None:
    """Prompts, continued commands and outputs; headings begin a task."""
    for kind in ("shell", "typescript", None):
        report = import_path(FILES / "shell" / "session.txt", kind)
        assert report.kind == (kind or "typescript")
    count, compress = report.traces
    assert (count.task_description, compress.task_description) == ("count the lines of the logs", "compress the logs")
    assert count.commands == ("ls", 'for f in *.log; do\n  wc -l "$f"\ndone')
    assert count.outputs == ("a.log\nb.log\n", "3 a.log\n4 b.log\n")
    assert compress.commands == ("gzip *.log", "ls")


def test_a_history_is_no_terminals_text() -> None:
    """It has no prompts, and nothing could be checked against it."""
    with pytest.raises(UnknownFormat, match="no prompt"):
        import_path(FILES / "shell" / "bash.history", "shell")


def test_our_own_format_comes_back_whole(tmp_path: Path) -> None:
    """JSONL in, the same traces out; damaged lines are named."""
    source = FIXTURES / "traces" / "traces.jsonl"
    report = import_path(source)
    assert report.kind == "jsonl"
    assert list(report.traces) == load_traces(source)
    path = tmp_path / "t.jsonl"
    path.write_text(dump_traces(report.traces[:1]) + '{"task_id"', "utf-8")
    assert "cut off" in reasons(import_path(path))


@pytest.mark.parametrize("text", ["", "hello\n", '{"a": 1}\n', "[]", "\x00\x01"])
def test_a_file_that_nobody_knows_is_refused(tmp_path: Path, text: str) -> None:
    """With the names of the formats that are known."""
    path = tmp_path / "x.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(UnknownFormat) as caught:
        import_path(path)
    assert str(path) in caught.value.diagnostics()


def test_one_bad_file_of_a_directory_does_not_stop_the_others(tmp_path: Path) -> None:
    """It is in the report; a directory with nothing good is an error."""
    (tmp_path / "a.json").write_text((FILES / "omni" / "hippocampus.json").read_text("utf-8"), "utf-8")
    (tmp_path / "b.json").write_text('{"x": 1}', "utf-8")
    report = import_path(tmp_path)
    assert [t.task_id for t in report.traces] == ["hp-1"]
    assert [d.what for d in report.dropped] == ["file"]
    (tmp_path / "a.json").unlink()
    with pytest.raises(UnknownFormat):
        import_path(tmp_path)


@pytest.mark.parametrize(
    ("value", "year"),
    [("2026-01-30T10:15:00", 2026), ("2026-02-01T08:00:00.123456789Z", 2026), (1_700_000_000, 2023), (1_700_000_000_000, 2023)],
)
def test_times_come_in_many_forms(value: object, year: int) -> None:
    """ISO text, seconds and milliseconds; always with a zone."""
    found = parse_time(value)
    assert found is not None
    assert (found.year, found.tzinfo is not None) == (year, True)
    assert parse_time("soon") is None
    assert parse_time(True) is None


WAYLAND_REPLAY = {
    "wcore_version": "0.13.4",
    "session_id": "s",
    "events": [
        {"type": "UserMessage", "ts_ms": 1, "text": "Count the lines"},
        {
            "type": "ToolCall",
            "ts_ms": 3,
            "tool": "Bash",
            "input": {"command": "ls"},
            "output": "Exit code: 0\nSTDOUT:\na\nSTDERR:\n",
        },
    ],
}
OMNI_DETAILED = {
    "task_id": "t", "task_description": "Look", "commands": ["omniCell.nuShell: {'command': 'ls'}"], "success": True,
    "duration_ms": 1.0, "timestamp": "2026-01-30T10:15:00", "metadata": {"detailed_trace_available": True},
}  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
SAMPLES = [
    json.loads((FILES / "swe_agent.traj").read_text("utf-8")),
    json.loads((FILES / "omni" / "hippocampus.json").read_text("utf-8")),
    json.loads((FILES / "omni" / "tracer.json").read_text("utf-8")),
    json.loads((FILES / "omni" / "20260130_101500_rename_0.json").read_text("utf-8")),
    *[json.loads(line) for line in (FILES / "claude_code.jsonl").read_text("utf-8").splitlines()[1:4]],
    json.loads((FILES / "wayland_turns.jsonl").read_text("utf-8").splitlines()[0]),
    json.loads((FILES / "wayland_session.json").read_text("utf-8")),
    WAYLAND_REPLAY,
    {**OMNI_DETAILED, "outputs": ["omniCell.nuShell: {'output': 'a'}"]},
]


def paths_in(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at] * bool(at) + [p for key, child in children for p in paths_in(child, (*at, key))]


@settings(max_examples=400)
@given(st.data())
def test_a_damaged_recording_never_crashes_an_importer(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """One value of a real file replaced by any other: a report, or one of two errors."""
    sample = json.loads(json.dumps(data.draw(st.sampled_from(SAMPLES))))
    *way, last = data.draw(st.sampled_from(paths_in(sample)))
    inner = sample
    for key in way:
        inner = inner[key]
    inner[last] = data.draw(json_values)
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_text(json.dumps(sample), "utf-8")
    try:
        report = import_path(path)
    except (UnknownFormat, EvidenceError):
        report = ImportReport("jsonl")
    assert all(d.why for d in report.dropped)


@given(st.text())
def test_any_text_is_a_session_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Foreign text never breaks the reader of terminals."""
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        report = import_path(path, "shell")
    except (UnknownFormat, EvidenceError):
        report = ImportReport("shell")
    assert all(len(t.commands) == len(t.outputs) for t in report.traces)


def test_titles_of_terminals_hide_no_command(tmp_path: Path) -> None:
    """An OSC sequence ends with BEL or with ESC and a backslash, on its own line; what is cut off hides nothing either."""
    path = tmp_path / "s.txt"
    path.write_text("# task: t\n$ cat a\n\x1b]0;title\x1b\\one\n$ rm -rf b\n\x1b]cut off\n$ printf x\a\nthree\n$ ls\nfour\n")
    (trace,) = import_path(path, "shell").traces
    assert trace.commands == ("cat a", "rm -rf b", "printf x", "ls")


def test_each_fixture_is_recognised() -> None:
    """The format is told from the content."""
    kinds = {p.name: detect_kind(p) for p in sorted(FILES.rglob("*")) if p.is_file()}
    assert kinds == {
        "20260130_101500_rename_0.json": "omni", "bash.history": "history", "claude_code.jsonl": "claude-code",
        "hippocampus.json": "omni",
        "session.txt": "typescript", "swe_agent.traj": "swe-agent", "swe_agent_1.traj": "swe-agent",
        "swe_agent_edit.traj": "swe-agent", "tracer.json": "omni",
        "wayland_turns.jsonl": "wayland",
        "wayland_session.json": "wayland", "mini_swe_agent.traj.json": "mini-swe-agent", "swe_agent_log.jsonl": "swe-agent-log",
        "ui_messages.json": "cline", "terminal.cast": "asciicast", "zsh.history": "history",
    }  # fmt: skip

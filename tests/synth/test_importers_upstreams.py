"""What the two upstreams record: Wayland's sessions and replays, Omni's failed and detailed traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_importers import reasons

from synth.importers import UnknownFormat, import_path

BASH = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "wc -l a.txt"}}


def wayland_session(**changes: object) -> dict[str, object]:
    """A session as Wayland Core writes it, of two requests: one ran a command and wrote a file, one only looked."""

    def message(role: str, *blocks: dict[str, object]) -> dict[str, object]:
        return {"role": role, "content": list(blocks), "timestamp": "2026-08-21T03:16:32.5Z"}

    def result(call: str, text: str, error: bool = False) -> dict[str, object]:
        return {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": error}

    write = {"type": "tool_use", "id": "c2", "name": "Write", "input": {"file_path": "/w/n.md", "content": "x\n"}}
    read = {"type": "tool_use", "id": "c3", "name": "Read", "input": {"file_path": "/w/n.md"}}
    return {
        "schema_version": 1, "id": "s1", "created_at": "2026-08-21T03:16:30Z", "updated_at": "2026-08-21T03:17:00Z",
        "provider": "p", "model": "m", "cwd": "/w", "total_usage": {},
        "messages": [
            message("user", {"type": "text", "text": "Count the lines of a.txt and note them"}),
            message("assistant", {"type": "thinking", "thinking": "hm"}, BASH),
            message("user", result("c1", "Exit code: 1\nSTDOUT:\n3 a.txt\n\nSTDERR:\nwarn\n", error=True)),
            message("assistant", write),
            message("user", result("c2", "Created /w/n.md (1 lines)")),
            message("assistant", {"type": "text", "text": "done"}),
            message("user", {"type": "text", "text": "Show me the notes"}),
            message("assistant", read),
            message("user", result("c3", "1 x")),
        ],
        **changes,
    }  # fmt: skip


def test_a_wayland_session_is_evidence(tmp_path: Path) -> None:
    """Commands with output, exit code and error stream apart, edits as steps, each request a trace."""
    path = tmp_path / "s1.json"
    path.write_text(json.dumps(wayland_session(), indent=2))
    report = import_path(path)
    (trace,) = report.traces
    assert (report.kind, report.sessions) == ("wayland", 1)
    assert trace.task_description == "Count the lines of a.txt and note them"
    assert (trace.commands, trace.outputs, trace.exit_codes) == (("wc -l a.txt",), ("3 a.txt\nwarn\n",), (1,))
    assert trace.metadata["stderrs"] == ["warn\n"]
    assert trace.steps is not None
    assert trace.steps[1]["edit"]["path"] == "n.md"
    assert trace.steps[1]["edit"]["before"] is None
    assert "ran no command and changed no file" in reasons(report)


@pytest.mark.parametrize(
    ("name", "answer", "why"),
    [
        ("delegate", "ok", "delegate was used too"),
        ("Bash", "Command timed out after 5ms", "not recorded as"),
        ("Bash", None, "ended before it did"),
        ("Bash", "Exit code: 0\nSTDOUT:\n\ufffd\nSTDERR:\n\n[wayland] Some output bytes were not valid UTF-8 and", "are no text"),
    ],
)
def test_a_wayland_request_that_cannot_be_repeated_is_dropped(tmp_path: Path, name: str, answer: str | None, why: str) -> None:
    """Tools of unknown effect, lost output, a session that broke off."""
    record = json.loads(json.dumps(wayland_session()))
    record["messages"][1]["content"][1]["name"] = name
    if answer is None:
        del record["messages"][2:]
    else:
        record["messages"][2]["content"][0]["content"] = answer
    (tmp_path / "s.json").write_text(json.dumps(record))
    report = import_path(tmp_path / "s.json")
    assert report.traces == ()
    assert why in reasons(report)


@pytest.mark.parametrize(
    "answer", ["Command refused, nothing ran: a pipe into sh", "Refused to run this command: the check did not finish"]
)
def test_a_command_that_wayland_refused_never_ran(tmp_path: Path, answer: str) -> None:
    """The rest of the request stands."""
    record = json.loads(json.dumps(wayland_session()))
    record["messages"][2]["content"][0]["content"] = answer
    (tmp_path / "s.json").write_text(json.dumps(record))
    (trace,) = import_path(tmp_path / "s.json").traces
    assert trace.commands == ()
    assert trace.steps is not None
    assert [s["edit"]["path"] for s in trace.steps] == ["n.md"]


def test_a_newer_wayland_session_is_refused(tmp_path: Path) -> None:
    """Its fields may mean something else."""
    (tmp_path / "s.json").write_text(json.dumps(wayland_session(schema_version=2)))
    with pytest.raises(UnknownFormat, match="schema 2"):
        import_path(tmp_path / "s.json")


@pytest.mark.parametrize("output", ["Exit code: 0\nSTDOUT:\n3 a.txt\n\nSTDERR:\n", {"content": None, "is_error": False}])
def test_a_wayland_replay_is_evidence(tmp_path: Path, output: object) -> None:
    """Its events hold commands with their output, as text or in an object."""
    if isinstance(output, dict):
        output["content"] = "Exit code: 0\nSTDOUT:\n3 a.txt\n\nSTDERR:\n"
    events = [
        {"type": "UserMessage", "ts_ms": 1, "text": "Count the lines"},
        {
            "type": "LlmCall",
            "ts_ms": 2,
            "provider": "p",
            "model": "m",
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "response": "",
        },
        {"type": "ToolCall", "ts_ms": 3, "tool": "Bash", "input": BASH["input"], "output": output, "duration_ms": 4},
        {"type": "SessionEnd", "ts_ms": 9, "reason": "done"},
    ]
    (tmp_path / "t.json").write_text(json.dumps({"wcore_version": "0.13.4", "session_id": "s", "events": events}, indent=2))
    (trace,) = import_path(tmp_path / "t.json").traces
    assert (trace.commands, trace.outputs, trace.exit_codes) == (("wc -l a.txt",), ("3 a.txt\n",), (0,))


def omni_trace(**changes: object) -> dict[str, object]:
    return {
        "task_id": "t", "task_description": "Count lines", "commands": ["ls", "wc -l a"], "outputs": ["a\n", "wc: a: no\n"],
        "success": True, "duration_ms": 120.0, "timestamp": "2026-01-30T10:15:00", "metadata": {}, **changes,
    }  # fmt: skip


WRITTEN = {"cwd": "/w", "error_type": "execution_failure", "error_message": "a is missing"}
"""The metadata of ``record_failure``."""


@pytest.mark.parametrize(
    ("outputs", "metadata", "reason", "kept"),
    [
        (["a\n", "wc: a: no\n", "Error: a is missing"], WRITTEN, "Error: a is missing", ("a\n", "wc: a: no\n")),
        (["a\n", "Error: a is missing"], WRITTEN, "Error: a is missing", ("a\n", "")),
        (["a\n", "wc: a: no\n", "Task failed: a is missing"], {}, "Task failed: a is missing", ("a\n", "wc: a: no\n")),
    ],
)
def test_omnis_reason_of_a_failure_is_no_output(
    tmp_path: Path, outputs: list[str], metadata: dict[str, str], reason: str, kept: tuple[str, ...]
) -> None:
    """``record_failure`` puts it behind the outputs, of which that of the failed command may be missing."""
    record = omni_trace(success=False, outputs=outputs, metadata=metadata)
    (tmp_path / "t.json").write_text(json.dumps(record))
    report = import_path(tmp_path / "t.json")
    (trace,) = report.traces
    assert (trace.outputs, trace.success) == (kept, False)
    assert trace.metadata["failure"] == reason
    assert "reason of the failure" in reasons(report)
    assert ("is not recorded" in reasons(report)) == ("" in kept)


@pytest.mark.parametrize(
    ("outputs", "changes"),
    [
        (["a\n", "Error: a is missing"], {"success": True, "metadata": WRITTEN}),
        (["a\n", "Error: a is missing"], {"success": False}),
        (["a\n", "wc: a: no\n"], {"success": False, "metadata": WRITTEN}),
    ],
)
def test_what_a_command_printed_is_no_reason_of_a_failure(tmp_path: Path, outputs: list[str], changes: dict[str, object]) -> None:
    """However it begins, and whatever the metadata says beside it."""
    (tmp_path / "t.json").write_text(json.dumps(omni_trace(outputs=outputs, **changes)))
    report = import_path(tmp_path / "t.json")
    assert report.traces[0].outputs == tuple(outputs)
    assert "failure" not in report.traces[0].metadata


@pytest.mark.parametrize("outputs", [[], ["Error: a is missing"]])
def test_omnis_failure_that_lacks_more_outputs_is_dropped(tmp_path: Path, outputs: list[str]) -> None:
    """Which belongs to which is not recorded."""
    (tmp_path / "t.json").write_text(json.dumps(omni_trace(success=False, outputs=outputs, metadata=WRITTEN)))
    report = import_path(tmp_path / "t.json")
    assert report.traces == ()
    assert "which belongs to which" in reasons(report)


def test_omnis_detailed_traces_are_read_as_commands(tmp_path: Path) -> None:
    """``record_detailed`` writes each call as ``tool: {input}``: what ran is in it; another tool's effect cannot be repeated."""
    detailed = {"detailed_trace_available": True, "trace_id": "t"}
    calls = ["omniCell.nuShell: {'command': 'ls'}", "omniCell.nuShell: {'command': \"wc -l 'a b'\"}"]
    said = ["omniCell.nuShell: {'output': 'a b\\n'}", "omniCell.nuShell: plain"]
    (tmp_path / "t.json").write_text(json.dumps(omni_trace(commands=calls, outputs=said, metadata=detailed)))
    (trace,) = import_path(tmp_path / "t.json").traces
    assert trace.commands == ("ls", "wc -l 'a b'")
    assert trace.outputs == ("a b\n", "plain")
    for wrong, why in ((["git.commit: {'message': 'x'}"], "no shell command"), ([calls[0]], "2 outputs for 1 commands")):
        (tmp_path / "t.json").write_text(json.dumps(omni_trace(commands=wrong, outputs=said, metadata=detailed)))
        report = import_path(tmp_path / "t.json")
        assert report.traces == ()
        assert why in reasons(report)

"""Sessions of mini-SWE-agent, SWE-agent's log, OpenHands, Cline and aider, and folders of all kinds."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.importers import ImportReport, UnknownFormat, import_path
from synth.tracing.traces import to_evidence
from verifiers.interface import EvidenceError

ROOT = "/testbed"


def reasons(report: ImportReport) -> str:
    return "\n".join(map(str, report.dropped))


def saved(path: Path, record: Any) -> Path:
    path.write_text(json.dumps(record), "utf-8")
    return path


def call(name: str, number: int = 1, **given: Any) -> dict[str, Any]:
    made = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    return {"role": "assistant", "content": "", "tool_calls": [made]}


def answer(text: Any, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text, **more}


# ---------------------------------------------------------------- mini-SWE-agent


def mini(*messages: dict[str, Any], status: str = "Submitted", cwd: str = ROOT, **info: Any) -> dict[str, Any]:
    config = {"environment": {"cwd": cwd}}
    asked = {"role": "user", "content": "<pr_description>\nMove a to b\n</pr_description>\nInstructions"}
    return {
        "info": {"exit_status": status, "config": config, **info}, "trajectory_format": "mini-swe-agent-1",
        "messages": [{"role": "system", "content": "You are"}, asked, *messages],
    }  # fmt: skip


def block(command: str, fence: str = "bash") -> dict[str, Any]:
    return {"role": "assistant", "content": f"THOUGHT: now\n\n```{fence}\n{command}\n```"}


def said(output: str, code: int = 0) -> dict[str, Any]:
    return {"role": "user", "content": f"<returncode>{code}</returncode>\n<output>\n{output}</output>"}


def test_the_older_dialect_of_mini_swe_agent(tmp_path: Path) -> None:
    """Fenced blocks and results as messages; each command starts in the configured directory; submitting is no step."""
    record = mini(
        block("cd src && ls"), said("a\n"), block("mv src/a src/b", "mswea_bash_command"), said(""),
        block("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff"),
    )  # fmt: skip
    report = import_path(saved(tmp_path / "x.traj.json", record))
    (trace,) = report.traces
    assert trace.commands == ("cd src && ls", f"cd {ROOT}", "mv src/a src/b")
    assert (trace.outputs, trace.exit_codes, trace.success) == (("a\n", "", ""), (0, 0, 0), True)
    assert (trace.task_description, trace.metadata["workspace_root"]) == ("Move a to b", ROOT)
    assert (report.kind, report.sessions) == ("mini-swe-agent", 1)


def test_the_newer_dialect_of_mini_swe_agent(tmp_path: Path) -> None:
    """Calls side by side, answered by id; the raw result counts where the shown one is cut."""
    both = {
        "role": "assistant", "content": "two",
        "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}, {"command": "wc -l a", "tool_call_id": "c2"}]},
    }  # fmt: skip
    second = answer("<returncode>1</returncode>\n<warning>too long</warning>", 2, extra={"raw_output": "x" * 20, "returncode": 1})
    first = answer(
        "<returncode>0</returncode>\n<output>\na\n</output>", extra={"raw_output": "a\n", "returncode": 0, "timestamp": 1.7e9}
    )
    record = mini(
        both, second, first, call("bash", 3, command="pwd"), answer("<returncode>0</returncode>\n<output>\n/</output>", 3)
    )
    (trace,) = import_path(saved(tmp_path / "x.traj.json", record)).traces
    assert (trace.commands, trace.outputs, trace.exit_codes) == (("wc -l a", "ls", "pwd"), ("x" * 20, "a\n", "/"), (1, 0, 0))
    assert trace.timestamp.year == 2023


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        (
            [block("seq 9999"), {"role": "user", "content": "<returncode>0</returncode>\n<warning>\ntoo long</warning>"}],
            "more than the",
        ),
        (
            [block("sleep 99"), {"role": "user", "content": "The last command <command>sleep 99</command> timed out"}],
            "ran out of time",
        ),
        (
            [call("bash", 1, command="sleep 99"), answer("", extra={"exception_info": "timeout", "raw_output": ""})],
            "ran out of time",
        ),
        ([block("ls"), block("pwd"), said("/\n")], "has no result"),
        ([], "ran no command"),
    ],
)
def test_what_of_mini_swe_agent_cannot_be_repeated(tmp_path: Path, messages: list[dict[str, Any]], why: str) -> None:
    report = import_path(saved(tmp_path / "x.traj.json", mini(*messages)))
    assert (report.traces, why in reasons(report)) == ((), True)


def test_commands_of_mini_swe_agent_that_never_ran(tmp_path: Path) -> None:
    """Refused by the person, or in a form that the agent does not take; a new task begins another request."""
    record = mini(
        block("rm -r /"), {"role": "user", "content": "Command not executed. The user rejected your command"},
        {"role": "assistant", "content": "no command"}, {"role": "user", "content": "Please give EXACTLY ONE action"},
        block("mv a b"), said(""), {"role": "user", "content": "The user added a new task: count the files"},
        block("ls | wc -l"), said("3\n"), status="LimitsExceeded",
    )  # fmt: skip
    report = import_path(saved(tmp_path / "x.traj.json", record))
    assert [(t.commands, t.success) for t in report.traces] == [(("mv a b",), True), (("ls | wc -l",), False)]
    assert report.traces[1].task_description == "count the files"


def test_where_commands_of_mini_swe_agent_start_must_be_known(tmp_path: Path) -> None:
    """Each has a shell of its own: one that goes elsewhere cannot be placed without the directory."""
    report = import_path(saved(tmp_path / "x.traj.json", mini(block("cd x && ls"), said("a\n"), cwd="")))
    assert "where it started is not recorded" in reasons(report)
    assert import_path(saved(tmp_path / "x.traj.json", mini(block("ls"), said("a\n"), cwd=""))).traces
    with pytest.raises(UnknownFormat, match=r"version '9\.1'"):
        import_path(saved(tmp_path / "x.traj.json", mini(mini_version="9.1")))


# ---------------------------------------------------------------- SWE-agent's log


def log(path: Path, *chats: list[dict[str, Any]]) -> Path:
    lines = []
    for messages in chats:
        lines.append({"timestamp": "2026-01-01T10:00:00", "type": "request", "request_params": {"messages": messages}})
        lines.append({"timestamp": "2026-01-01T10:00:01", "type": "response", "response": {}})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


ASKED = {
    "role": "user",
    "content": [
        {"type": "text", "text": "<uploaded_files>\n/shop\n</uploaded_files>\n<pr_description>\nRename x\n</pr_description>"}
    ],
}


def test_the_last_request_of_a_log_holds_the_run(tmp_path: Path) -> None:
    """Whether it was submitted is known; exit codes are not."""
    chat = [
        ASKED, call("bash", 1, command="ls"), answer([{"type": "text", "text": "OBSERVATION:\na.py"}]),
        call("str_replace_editor", 2, command="create", path="/shop/b.py", file_text="x\n"),
        answer("OBSERVATION:\nFile created", 2),
        call("bash", 3, command="rm a.py"),
        answer("OBSERVATION:\nYour command ran successfully and did not produce any output.", 3), call("submit", 4),
    ]  # fmt: skip
    report = import_path(log(tmp_path / "log.jsonl", chat[:3], chat[:5], chat))
    (trace,) = report.traces
    assert (trace.commands, trace.outputs, trace.exit_codes, trace.success) == (("ls", "rm a.py"), ("a.py\n", ""), None, True)
    assert [(e.path, e.after_commands) for e in to_evidence(trace).edits] == [("b.py", 1)]
    assert (trace.task_description, trace.metadata["workspace_root"], report.kind) == ("Rename x", "/shop", "swe-agent-log")
    assert not import_path(log(tmp_path / "log.jsonl", chat[:3])).traces[0].success


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([call("bash", 1, command="ls")], "has no result"),
        ([call("edit_anthropic", 1), answer("x")], "edit_anthropic was used too"),
        ([call("bash", 1, command="ls"), answer("OBSERVATION:\nEXECUTION TIMED OUT")], "ran out of time"),
    ],
)
def test_what_of_a_log_cannot_be_repeated(tmp_path: Path, messages: list[dict[str, Any]], why: str) -> None:
    assert why in reasons(import_path(log(tmp_path / "log.jsonl", [ASKED, *messages])))


# ---------------------------------------------------------------- OpenHands


def test_calls_of_openhands_that_are_spelled_out(tmp_path: Path) -> None:
    """Models without tools write them into the text, behind an example that is no request."""
    asked = "Here is an example\n--- START OF EXAMPLE ---\nUSER: make x\n--- END OF EXAMPLE ---\nmove a"
    spelled = "Now.\n<function=execute_bash>\n<parameter=command>\nmv a b\n</parameter>\n</function>"
    result = "EXECUTION RESULT of [execute_bash]:\nok\n[Command finished with exit code 0]"
    record = {
        "messages": [
            {"role": "user", "content": asked}, {"role": "assistant", "content": spelled}, {"role": "user", "content": result},
            {"role": "assistant", "content": "<function=finish>\n</function>"},
        ],
        "response": {},
    }  # fmt: skip
    (trace,) = import_path(saved(tmp_path / "log.json", record)).traces
    assert (trace.commands, trace.outputs, trace.exit_codes, trace.task_description) == (("mv a b",), ("ok\n",), (0,), "move a")


def test_the_newer_events_of_openhands(tmp_path: Path) -> None:
    """Actions with a kind, answered by the id of the call, in any order."""

    def action(number: int, kind: str, **given: Any) -> dict[str, Any]:
        return {"kind": "ActionEvent", "source": "agent", "tool_call_id": f"c{number}", "action": {"kind": kind, **given}}

    def seen(number: int, output: str, code: int | None = None) -> dict[str, Any]:
        what = {"kind": "ExecuteBashObservation", "output": output, "exit_code": None, "metadata": {"exit_code": code}}
        return {"kind": "ObservationEvent", "source": "environment", "tool_call_id": f"c{number}", "observation": what}

    events = [
        action(1, "ExecuteBashAction", command="ls", is_input=False), action(2, "TerminalAction", command="rm a", is_input=False),
        seen(2, "", 1), seen(1, "\x1b[?2004l\ra\n\x1b[?2004h", 0),
        action(3, "FileEditorAction", command="create", path="/w/b", file_text="x"), seen(3, "created"),
        action(4, "FinishAction"),
    ]  # fmt: skip
    (trace,) = import_path(saved(tmp_path / "o.json", {"instruction": "tidy up", "history": events})).traces
    assert (trace.commands, trace.outputs, trace.exit_codes) == (("ls", "rm a"), ("a\n", ""), (0, 1))
    assert [e.path for e in to_evidence(trace).edits] == ["b"]
    typed = [action(1, "ExecuteBashAction", command="y", is_input=True), seen(1, "ok", 0)]
    assert "typed into" in reasons(import_path(saved(tmp_path / "o.json", {"instruction": "tidy up", "history": typed})))


# ---------------------------------------------------------------- Cline


def cline(path: Path, *messages: tuple[str, str, str] | dict[str, Any]) -> Path:
    full = [m if isinstance(m, dict) else {"type": m[0], m[0]: m[1], "text": m[2]} for m in messages]
    return saved(path, [{"ts": 1767225600000 + 1000 * n, **m} for n, m in enumerate(full)])


START = ("say", "text", "move the page")
ENVIRONMENT = ("say", "api_req_started", json.dumps({"request": "# Current Working Directory (/home/dev/shop) Files\na"}))


def test_a_task_of_cline(tmp_path: Path) -> None:
    """What was asked first and what was answered are requests; commands with their outputs, edits that were allowed."""
    old, new = json.dumps({"tool": "newFileCreated", "path": "a.html", "content": "<p>\n"}), "<b>"
    diff = f"------- SEARCH\n<p>\n=======\n{new}\n+++++++ REPLACE"
    path = cline(
        tmp_path / "ui_messages.json", START, ENVIRONMENT, ("say", "tool", old),
        ("say", "tool", json.dumps({"tool": "readFile"})),
        ("ask", "command", "npm run build"), ("ask", "command_output", ""), ("say", "command_output", "built\n"),
        ("say", "command_output", "ok"), ("say", "completion_result", "done"), ("ask", "completion_result", ""),
        ("say", "user_feedback", "now make it bold"),
        ("say", "tool", json.dumps({"tool": "editedExistingFile", "path": "a.html", "content": diff})),
        ("say", "command", "true"),
    )  # fmt: skip
    report = import_path(path)
    first, second = report.traces
    assert (first.task_description, first.commands, first.outputs) == ("move the page", ("npm run build",), ("built\nok\n",))
    assert (second.task_description, second.commands) == ("now make it bold", ("true",))
    assert [(e.before.content, e.after.content) for e in to_evidence(second).edits if e.before and e.after] == [
        (b"<p>\n", b"<b>\n")
    ]
    assert (first.metadata["workspace_root"], report.kind, first.timestamp.year) == ("/home/dev/shop", "cline", 2026)


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([("ask", "command", "rm -r x")], "whether the person allowed a command"),
        (
            [("ask", "tool", json.dumps({"tool": "newFileCreated", "path": "a", "content": "x"}))],
            "whether the person allowed an edit",
        ),
        ([("say", "tool", json.dumps({"tool": "editedExistingFile", "path": "a", "diff": "@@ -1 +1 @@"}))], "in no form"),
        ([("say", "browser_action", "{}")], "browser_action was used too"),
        ([("say", "api_req_started", '{"cancelReason": "user_cancelled"}')], "interrupted the request"),
        ([{"type": "say", "say": "command", "text": "ls", "partial": True}], "ran no command"),
        (
            [("say", "tool", json.dumps({"tool": "editedExistingFile", "path": "a", "diff": "x"})), ("say", "diff_error", "")],
            "ran no",
        ),
    ],
)
def test_what_of_cline_cannot_be_repeated(tmp_path: Path, messages: list[Any], why: str) -> None:
    report = import_path(cline(tmp_path / "ui_messages.json", START, *messages))
    assert (report.traces, why in reasons(report)) == ((), True)


def test_a_complete_command_of_cline_needs_no_output(tmp_path: Path) -> None:
    allowed = {"type": "ask", "ask": "command", "text": "mkdir x", "commandCompleted": True}
    assert import_path(cline(tmp_path / "ui_messages.json", START, allowed)).traces[0].commands == ("mkdir x",)


# ---------------------------------------------------------------- aider


def test_what_was_pasted_into_aider_is_one_request(tmp_path: Path) -> None:
    """With blank lines in it; answers to aider's own questions are no requests, and what follows a command is one of its own."""
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(
        "# aider chat started at 2026-01-01 10:00:00\n\n#### one  \n####   \n\n#### two  \n#### yes\n\nOK\n\n"
        "#### Add file to the chat? (Y)es/(N)o/(A)ll/(S)kip all [Yes]: skip  \n> a.py\n\n"
        "#### /add b.py  \n#### three  \n\nDone\n#### \n"
    )
    assert [d.where.rpartition(":")[2] for d in import_path(path).dropped] == ["3", "15"]


# ---------------------------------------------------------------- folders


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


def test_a_folder_of_one_kind(tmp_path: Path) -> None:
    """Files of other kinds are named, not read as what they are not."""
    saved(tmp_path / "a.traj.json", mini(block("ls"), said("a\n")))
    cline(tmp_path / "ui_messages.json", START, ("say", "command", "ls"))
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
    assert [d.what for d in report.dropped] == ["copy", "copy"]


def test_a_session_that_begins_with_going_on(tmp_path: Path) -> None:
    """What it goes on with is elsewhere: there is no task to learn from "yes"."""
    report = import_path(cline(tmp_path / "ui_messages.json", ("say", "text", "yes"), ("say", "command", "rm a")))
    assert (report.traces, "with what is in another session" in reasons(report)) == ((), True)


# ---------------------------------------------------------------- foreign data

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def samples(path: Path) -> list[tuple[Path, list[Any]]]:
    ui = cline(
        path / "ui.json", START, ENVIRONMENT, ("say", "command", "ls"), ("say", "tool", '{"tool":"newFileCreated","path":"a"}')
    )
    chat = log(path / "log.jsonl", [ASKED, call("bash", 1, command="ls"), answer("a"), call("submit", 2)])
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

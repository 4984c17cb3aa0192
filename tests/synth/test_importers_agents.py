"""Sessions of mini-SWE-agent, SWE-agent's log, OpenHands, Cline and aider: each trap in a small file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from session_files import CLINE_ENVIRONMENT, CLINE_START, SWE_ASKED, TESTBED, answer, block, call, cline, log, mini, said, saved

from synth.importers import ImportReport, UnknownFormat, import_path
from synth.tracing.traces import to_evidence


def reasons(report: ImportReport) -> str:
    return "\n".join(map(str, report.dropped))


# ---------------------------------------------------------------- mini-SWE-agent


def test_the_older_dialect_of_mini_swe_agent(tmp_path: Path) -> None:
    """Fenced blocks and results as messages; each command starts in the configured directory; submitting is no step."""
    record = mini(
        block("cd src && ls"), said("a\n"), block("mv src/a src/b", "mswea_bash_command"), said(""),
        block("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff"),
    )  # fmt: skip
    report = import_path(saved(tmp_path / "x.traj.json", record))
    (trace,) = report.traces
    assert trace.commands == ("cd src && ls", f"cd {TESTBED}", "mv src/a src/b")
    assert (trace.outputs, trace.exit_codes, trace.success) == (("a\n", "", ""), (0, 0, 0), True)
    assert (trace.task_description, trace.metadata["workspace_root"]) == ("Move a to b", TESTBED)
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


def test_the_last_request_of_a_log_holds_the_run(tmp_path: Path) -> None:
    """Whether it was submitted is known; exit codes are not."""
    chat = [
        SWE_ASKED, call("bash", 1, command="ls"), answer([{"type": "text", "text": "OBSERVATION:\na.py"}]),
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
    assert why in reasons(import_path(log(tmp_path / "log.jsonl", [SWE_ASKED, *messages])))


# ---------------------------------------------------------------- OpenHands


def test_calls_of_openhands_that_are_spelled_out(tmp_path: Path) -> None:
    """Models without tools write them into the text, behind an example that is no request."""
    asked = "Here is an example\n--- CLINE_START OF EXAMPLE ---\nUSER: make x\n--- END OF EXAMPLE ---\nmove a"
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


def test_of_one_instance_the_longest_log_counts(tmp_path: Path) -> None:
    """Each call of the model has a log, which holds those of the calls before."""
    chat = [{"role": "user", "content": "tidy up"}]
    for n, command in enumerate(("ls", "rm a"), 1):
        chat += [call("execute_bash", n, command=command), answer("x\n[Command finished with exit code 0]", n)]
        saved(tmp_path / f"{n}.json", {"messages": chat, "response": {}})
    report = import_path(tmp_path)
    assert [t.commands for t in report.traces] == [("ls", "rm a")]
    assert [d.what for d in report.dropped] == ["copy"]


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


def test_a_task_of_cline(tmp_path: Path) -> None:
    """What was asked first and what was answered are requests; commands with their outputs, edits that were allowed."""
    old, new = json.dumps({"tool": "newFileCreated", "path": "a.html", "content": "<p>\n"}), "<b>"
    diff = f"------- SEARCH\n<p>\n=======\n{new}\n+++++++ REPLACE"
    path = cline(
        tmp_path / "ui_messages.json", CLINE_START, CLINE_ENVIRONMENT, ("say", "tool", old),
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
    report = import_path(cline(tmp_path / "ui_messages.json", CLINE_START, *messages))
    assert (report.traces, why in reasons(report)) == ((), True)


def test_a_complete_command_of_cline_needs_no_output(tmp_path: Path) -> None:
    allowed = {"type": "ask", "ask": "command", "text": "mkdir x", "commandCompleted": True}
    assert import_path(cline(tmp_path / "ui_messages.json", CLINE_START, allowed)).traces[0].commands == ("mkdir x",)


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

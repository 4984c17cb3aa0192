"""Sessions of Claude Code, Codex and Gemini CLI: every trap that real ones hold, each in a small file of the same shape."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_files import ROOT, Claude, Codex, gemini, gemini_call

from synth.config import Evolution
from synth.importers import ImportReport, UnknownFormat, import_path
from synth.importers.funnel import funnel, shown
from synth.importers.keeping import DoesNotApply
from synth.importers.patches import changes, patch_in
from synth.importers.repository import Repository, RepositoryError
from synth.importers.turns import goes_on, relative, replacing
from synth.interface import ExecutionTrace
from synth.tracing.traces import to_evidence
from verifiers.interface import EvidenceError


def reasons(report: ImportReport) -> str:
    return "\n".join(map(str, report.dropped))


def edits(trace: ExecutionTrace) -> list[tuple[str, str | None, str | None]]:
    return [
        (e.path, e.before.content.decode() if e.before else None, e.after.content.decode() if e.after else None)
        for e in to_evidence(trace).edits
    ]


# ---------------------------------------------------------------- requests


@pytest.mark.parametrize(
    "text",
    ["yes", "continue", "Yes, please continue!", "1", "B", "同意", "ok go ahead", "1 to 3", "1, 2 and 4", "...", "да", "weiter"],
)
def test_a_request_without_a_task_belongs_to_the_one_before(text: str) -> None:
    assert goes_on(text)


@pytest.mark.parametrize(
    "text", ["do the tests", "add it to README", "删除 build 目录", "fix", "mach weiter mit den Tests", "go vet ./..."]
)
def test_a_request_with_a_task_is_one_in_any_language(text: str) -> None:
    assert not goes_on(text)


def test_going_on_is_part_of_the_task(tmp_path: Path) -> None:
    """One request is one task, also where the person was asked in between."""
    s = Claude()
    s.ask("rename a to b")
    s.bash("ls", "a\n")
    s.ask("continue")
    s.bash("mv a b")
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert (trace.commands, trace.task_description, trace.metadata["continued"]) == (("ls", "mv a b"), "rename a to b", 1)


# ---------------------------------------------------------------- Claude Code


def test_edits_become_steps_with_whole_files(tmp_path: Path) -> None:
    """What was written, read or shown as the original is known from then on."""
    s = Claude()
    s.ask("set the port")
    s.write("conf.ini", "port = 80\n")
    s.bash("cat conf.ini", "port = 80")
    s.edit("conf.ini", "80", "8080")
    s.edit("old.txt", "a", "b", original="a a\n", replace_all=True)
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert edits(trace) == [
        ("conf.ini", None, "port = 80\n"),
        ("conf.ini", "port = 80\n", "port = 8080\n"),
        ("old.txt", "a a\n", "b b\n"),
    ]
    assert [e.after_commands for e in to_evidence(trace).edits] == [0, 1, 1]
    assert trace.metadata["workspace_root"] == ROOT


def test_a_file_that_was_read_whole_is_known_and_one_that_a_command_wrote_is_not(tmp_path: Path) -> None:
    """Reading a part tells nothing."""
    for lines, command, known in ((2, "ls", True), (1, "ls", False), (2, "sed -i s/x/y/ a.txt", False)):
        s = Claude()
        s.ask("change x")
        detail = {
            "type": "text",
            "file": {"filePath": f"{ROOT}/a.txt", "content": "x\ny", "numLines": lines, "startLine": 1, "totalLines": 2},
        }
        s.answer(s.call("Read", {"file_path": f"{ROOT}/a.txt"}), "1 x", detail)
        s.bash(command)
        s.edit("a.txt", "x", "z")
        report = import_path(s.save(tmp_path / "s.jsonl"))
        assert bool(report.traces) is known
        assert known or "never shows whole" in reasons(report)


def test_several_edits_in_one_call(tmp_path: Path) -> None:
    """MultiEdit, one after another."""
    s = Claude()
    s.ask("change both")
    s.write("a", "1 2\n")
    pairs = [{"old_string": "1", "new_string": "2x"}, {"old_string": "2x", "new_string": "3"}]
    s.answer(s.call("MultiEdit", {"file_path": f"{ROOT}/a", "edits": pairs}), "done", {"originalFile": "1 2\n"})
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert edits(trace)[1] == ("a", "1 2\n", "3 2\n")


def test_calls_that_never_happened_are_no_steps(tmp_path: Path) -> None:
    """Refused by the person, by a rule or by the tool itself; the rest of the task stands."""
    s = Claude()
    s.ask("clean up")
    for text in (
        "The user doesn't want to proceed with this tool use.",
        "<tool_use_error>File has not been read yet</tool_use_error>",
    ):
        s.answer(s.call("Bash", {"command": "rm -rf build"}), text, f"Error: {text}", error=True)
        s.answer(s.call("Edit", {"file_path": f"{ROOT}/a", "old_string": "x", "new_string": "y"}), text, "Error", error=True)
    s.bash("rm -r dist")
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert (trace.commands, trace.steps) == (("rm -r dist",), None)


def test_parallel_calls_keep_their_answers(tmp_path: Path) -> None:
    """Answers hang on the lines of their calls, side by side."""
    s = Claude()
    s.ask("look and move")
    one = s.call("Bash", {"command": "ls"})
    line_one = s.last
    two = s.call("Bash", {"command": "mv a b"})
    line_two = s.last
    s.answer(one, "a", {"stdout": "a", "stderr": ""}, after=line_one)
    s.answer(two, "", {"stdout": "", "stderr": ""}, after=line_two)
    s.ask("and now delete b")
    s.bash("rm b")
    first, second = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert (first.commands, first.outputs, second.commands) == (("ls", "mv a b"), ("a\n", ""), ("rm b",))


def test_what_a_rewind_left_is_no_task(tmp_path: Path) -> None:
    """The branch that the session's end goes back to counts."""
    s = Claude()
    s.ask("make a list")
    s.bash("ls > list")
    fork = s.last
    s.ask("delete everything")
    s.bash("rm -r *")
    s.ask("sort the list", after=fork)
    s.bash("sort -o list list")
    report = import_path(s.save(tmp_path / "s.jsonl"))
    assert [t.task_description for t in report.traces] == ["make a list", "sort the list"]
    assert "went back to before this request" in reasons(report)


def test_a_session_that_goes_on_in_another_file_counts_once(tmp_path: Path) -> None:
    """The old lines are there again, with the same uuid; the fuller copy is kept."""
    s = Claude()
    s.ask("make a")
    s.bash("touch a")
    s.save(tmp_path / "1.jsonl")
    s.bash("touch b")
    s.ask("make c")
    s.bash("touch c")
    s.save(tmp_path / "2.jsonl")
    report = import_path(tmp_path)
    assert sorted(t.commands for t in report.traces) == [("touch a", "touch b"), ("touch c",)]
    assert "the session went on there" in reasons(report)


def test_what_else_a_session_holds_is_nothing(tmp_path: Path) -> None:
    """Titles, queues, progress, snapshots that name backups only: no request, no step, and no line that is lost."""
    s = Claude()
    s.ask("remove b")
    for kind in ("summary", "system", "file-history-snapshot", "queue-operation", "ai-title", "progress"):
        s.lines.append({"type": kind, "sessionId": "s1", "content": "remove c", "operation": "enqueue", "snapshot": {}})
    s.bash("rm b")
    report = import_path(s.save(tmp_path / "s.jsonl"))
    assert ([t.commands for t in report.traces], report.dropped) == ([("rm b",)], ())


def test_a_compaction_is_no_request_and_breaks_no_chain(tmp_path: Path) -> None:
    """What follows the summary belongs to the request before it."""
    s = Claude()
    s.ask("move a")
    s.bash("ls", "a")
    before = s.last
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": before}
    s.lines.append(boundary)
    s.ask("This session is being continued from a previous conversation", after="b", isCompactSummary=True)
    s.bash("mv a b")
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert trace.commands == ("ls", "mv a b")


@pytest.mark.parametrize(
    "text",
    [
        "<command-name>/clear</command-name>",
        "<local-command-stdout>x</local-command-stdout>",
        "Caveat: The messages below",
        "<system-reminder>x</system-reminder>",
        "<ide_opened_file>a</ide_opened_file>",
    ],
)
def test_what_the_client_says_is_no_request(tmp_path: Path, text: str) -> None:
    s = Claude()
    s.ask("make a")
    s.bash("touch a")
    s.ask(text)
    s.ask([{"type": "text", "text": text}])
    s.bash("touch b")
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert trace.commands == ("touch a", "touch b")


def test_a_command_of_the_client_that_stands_for_a_prompt_is_a_request(tmp_path: Path) -> None:
    """``/init`` has one; ``/login`` is the client's own matter."""
    s = Claude()
    s.ask("<command-name>/login</command-name>\n<command-message>login</command-message>\n<command-args></command-args>")
    s.ask("<local-command-stdout>ok</local-command-stdout>")
    s.ask("<command-message>init</command-message>\n<command-name>/init</command-name><command-args>in English</command-args>")
    s.ask([{"type": "text", "text": "Please analyze this codebase"}], isMeta=True)
    s.bash("touch CLAUDE.md")
    s.ask("1")
    s.bash("ls", "CLAUDE.md")
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert (trace.task_description, trace.commands) == ("/init in English", ("touch CLAUDE.md", "ls"))


def test_a_request_in_parts_loses_what_the_client_put_there(tmp_path: Path) -> None:
    s = Claude()
    s.ask([{"type": "text", "text": "<ide_selection>x</ide_selection>"}, {"type": "text", "text": "make a"}])
    s.bash("touch a")
    assert import_path(s.save(tmp_path / "s.jsonl")).traces[0].task_description == "make a"


def test_a_sub_agents_session_is_no_persons(tmp_path: Path) -> None:
    s = Claude()
    s.ask("look around", isSidechain=True)
    s.lines[-1]["isSidechain"] = True
    report = import_path(s.save(tmp_path / "agent-1.jsonl"))
    assert (report.traces, "a sub-agent's" in reasons(report)) == ((), True)


def test_commands_below_the_root_start_there(tmp_path: Path) -> None:
    """Where a request begins elsewhere than the session did, a step goes there; paths of edits stay those of the project."""
    s = Claude()
    s.ask("look")
    s.bash("cd web", "")
    s.cwd = f"{ROOT}/web"
    s.ask("make a page")
    s.write("index.html", "<p>\n")
    s.bash("ls", "index.html")
    _, trace = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert (trace.commands, edits(trace)) == ((f"cd {ROOT}/web", "ls"), [("web/index.html", None, "<p>\n")])
    s.cwd = "/etc"
    s.ask("change the host")
    s.write("hosts", "x\n")
    assert "outside the project's directory" in reasons(import_path(s.save(tmp_path / "s.jsonl")))


def test_an_edit_that_a_person_changed_is_not_repeated(tmp_path: Path) -> None:
    s = Claude()
    s.ask("change a")
    detail = {"originalFile": "x", "userModified": True}
    s.answer(s.call("Edit", {"file_path": f"{ROOT}/a", "old_string": "x", "new_string": "y"}), "ok", detail)
    assert "the person changed an edit" in reasons(import_path(s.save(tmp_path / "s.jsonl")))


def test_an_edit_that_holds_no_text_is_not_repeated(tmp_path: Path) -> None:
    """JSON can name half of a character; a file cannot hold it."""
    s = Claude()
    s.ask("make a")
    s.write("a", "x\ud800")
    assert "half of a character" in reasons(import_path(s.save(tmp_path / "s.jsonl")))


def test_a_session_cut_in_the_middle_keeps_what_is_whole(tmp_path: Path) -> None:
    """One bad line costs that line: cut off, not UTF-8, no JSON, no object."""
    s = Claude()
    s.ask("make a")
    s.bash("touch a")
    path = s.save(tmp_path / "s.jsonl")
    path.write_bytes(path.read_bytes() + b'[1]\n{"x\n"\xff\xfe"\n{"type": "user", "mess')
    report = import_path(path)
    assert report.traces[0].commands == ("touch a",)
    assert sum(d.what == "line" for d in report.dropped) == 4
    assert "ends in the middle" in reasons(report)


# ---------------------------------------------------------------- Codex


@pytest.mark.parametrize(
    ("name", "given", "output"),
    [
        (
            "shell",
            {"command": ["bash", "-lc", "ls"], "workdir": ROOT},
            '{"output":"a\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}',
        ),
        ("shell", {"command": ["ls"], "workdir": ROOT}, '{"output":"a\\n","metadata":{"exit_code":0}}'),
        ("shell_command", {"command": "ls", "workdir": ROOT}, "Exit code: 0\nWall time: 0.1 seconds\nOutput:\na\n"),
        (
            "exec_command",
            {"cmd": "ls", "workdir": ROOT},
            "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 1\nOutput:\na\n",
        ),
    ],
)
def test_each_dialect_of_codex(tmp_path: Path, name: str, given: dict[str, Any], output: str) -> None:
    """The command, what it printed and its exit code."""
    s = Codex()
    s.ask("look")
    s.answer(s.call(name, **given), output)
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert (trace.commands, trace.outputs, trace.exit_codes) == (("ls",), ("a\n",), (0,))
    assert (trace.metadata["workspace_root"], trace.metadata["source"]) == (ROOT, "codex")


@pytest.mark.parametrize(
    ("name", "given", "output", "why"),
    [
        ("shell", {"command": ["powershell", "-NoProfile", "-Command", "ls"]}, "{}", "PowerShell"),
        ("exec_command", {"cmd": "top"}, "Process running with session ID 7", "had not ended"),
        ("write_stdin", {"session_id": 7}, "x", "typed into"),
        (
            "shell_command",
            {"command": "ls"},
            "Exit code: 0\nOutput:\nTotal output lines: 900\n\na",
            "more than the session keeps",
        ),
        (
            "shell_command",
            {"command": "ls"},
            "Exit code: 0\nOutput:\na\n[... omitted 3 of 900 lines ...]\n",
            "more than the session keeps",
        ),
        ("shell", {"command": ["ls"]}, "failed in sandbox: killed by a signal", "own sandbox"),
        ("spawn_agent", {}, "x", "spawn_agent was used too"),
        ("shell", {"command": ["ls"]}, None, "has no result"),
    ],
)
def test_what_of_codex_cannot_be_repeated(tmp_path: Path, name: str, given: dict[str, Any], output: str | None, why: str) -> None:
    s = Codex()
    s.ask("look")
    call = s.call(name, **given)
    if output is not None:
        s.answer(call, output)
    report = import_path(s.save(tmp_path / "s.jsonl"))
    assert (report.traces, why in reasons(report)) == ((), True)


@pytest.mark.parametrize(
    "cut", ["a\n…12 tokens truncated…\nb", "Total output lines: 900\n\na", "a\n[... omitted 7 of 9 lines ...]\nb"]
)
def test_an_output_that_codex_cut_in_the_middle_is_none(tmp_path: Path, cut: str) -> None:
    """What it thought to itself is sealed, looks like a secret at times, and is no part of the trace."""
    s = Codex()
    for text, output in (("look", cut), ("look again", "a\n")):
        s.ask(text)
        s.item(type="reasoning", encrypted_content="gAAAAsk-" + "Ab3" * 10)
        s.answer(s.call("shell", command=["ls"]), json.dumps({"output": output, "metadata": {"exit_code": 0}}))
    report = import_path(s.save(tmp_path / "s.jsonl"))
    assert [t.outputs for t in report.traces] == [("a\n",)]
    assert "Ab3" not in str(report)
    assert "more than the session keeps" in reasons(report)


def test_a_command_that_the_person_refused_never_ran(tmp_path: Path) -> None:
    s = Codex()
    s.ask("clean")
    s.answer(s.call("shell", command=["rm", "-r", "x"]), "exec command rejected by user")
    s.answer(s.call("shell", command=["rm", "y"]), '{"output":"","metadata":{"exit_code":0}}')
    assert import_path(s.save(tmp_path / "s.jsonl")).traces[0].commands == ("rm y",)


def test_the_oldest_sessions_have_no_envelope(tmp_path: Path) -> None:
    """Their directory is in what the client told the model."""
    s = Codex(envelope=False)
    s.ask(f"<environment_context>\n  <cwd>{ROOT}</cwd>\n</environment_context>")
    s.ask("look")
    s.answer(s.call("shell", command=["bash", "-lc", "ls"]), '{"output":"","metadata":{"exit_code":0}}')
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert (trace.task_description, trace.metadata["workspace_root"]) == ("look", ROOT)


def test_requests_of_codex_without_what_the_client_adds(tmp_path: Path) -> None:
    """Each once, though it stands there twice; the editor's wrapping is taken off."""
    s = Codex()
    for text in (
        "<user_instructions>x</user_instructions>",
        "# AGENTS.md instructions for /x",
        "<permissions instructions>x",
        "<skill>x</skill>",
    ):
        s.ask(text)
    s.ask("# Context from my IDE setup:\n\n## Open tabs:\n- a\n\n## My request for Codex:\nmake a\n")
    s.answer(s.call("shell", command=["touch", "a"]), '{"output":"","metadata":{"exit_code":0}}')
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert trace.task_description == "make a"


def test_an_aborted_turn_and_a_sub_agent_are_no_tasks(tmp_path: Path) -> None:
    s = Codex()
    s.ask("make a")
    s.answer(s.call("shell", command=["touch", "a"]), '{"output":"","metadata":{"exit_code":0}}')
    s.event(type="turn_aborted", reason="interrupted")
    assert "interrupted" in reasons(import_path(s.save(tmp_path / "s.jsonl")))
    other = Codex(source={"subagent": "review"})
    other.ask("review")
    assert "a sub-agent's" in reasons(import_path(other.save(tmp_path / "t.jsonl")))


def test_patches_become_edits(tmp_path: Path) -> None:
    """Add, update, move and delete; by the tool, by a here-document and as an argument. One that failed changed nothing."""
    s = Codex()
    s.ask("write the docs")
    s.patch("*** Add File: a.md\n+# A\n+one\n+two")
    s.patch("*** Update File: a.md\n@@\n # A\n-one\n+1")
    s.patch("*** Update File: a.md\n@@\n-zzz\n+1", "apply_patch verification failed: Failed to find expected lines")
    s.answer(
        s.call(
            "shell",
            command=["apply_patch", "*** Begin Patch\n*** Update File: a.md\n*** Move to: b.md\n@@\n-two\n+2\n*** End Patch"],
        ),
        '{"output":"","metadata":{"exit_code":0}}',
    )
    heredoc = "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: b.md\n*** End Patch\nEOF\n"
    s.answer(s.call("shell_command", command=heredoc, workdir=ROOT), "Exit code: 0\nWall time: 0 seconds\nOutput:\n")
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert trace.commands == ()
    assert edits(trace) == [
        ("a.md", None, "# A\none\ntwo\n"),
        ("a.md", "# A\none\ntwo\n", "# A\n1\ntwo\n"),
        ("a.md", "# A\n1\ntwo\n", None),
        ("b.md", None, "# A\n1\n2\n"),
        ("b.md", "# A\n1\n2\n", None),
    ]


def test_a_working_directory_of_each_call_is_gone_to(tmp_path: Path) -> None:
    """Each command of Codex is a shell of its own; ours goes on where the last one ended."""
    s = Codex()
    s.ask("look")
    ok = '{"output":"","metadata":{"exit_code":0}}'
    for command, where in (("cd web && ls", ROOT), ("ls", ROOT), ("ls", f"{ROOT}/my web")):
        s.answer(s.call("shell", command=["bash", "-lc", command], workdir=where), ok)
    (trace,) = import_path(s.save(tmp_path / "s.jsonl")).traces
    assert trace.commands == ("cd web && ls", f"cd {ROOT}", "ls", f"cd '{ROOT}/my web'", "ls")


# ---------------------------------------------------------------- patches


def patched(text: str, body: str) -> str | None:
    (one,) = changes(f"*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch")
    return one.change(text)


def test_hunks_are_found_without_line_numbers() -> None:
    """Below a class or function, at the end, with other blanks; an empty line of context may have lost its blank."""
    text = "class A:\n    x = 1\nclass B:\n    x = 1\n\n    y = 2  \n"
    assert patched(text, "@@ class B:\n-    x = 1\n+    x = 3") == text.replace("class B:\n    x = 1", "class B:\n    x = 3")
    assert patched(text, "@@\n x = 1\n\n-y = 2\n+    y = 5") == "class A:\n    x = 1\nclass B:\nx = 1\n\n    y = 5\n"
    assert patched("a\nb\na\n", "@@\n-a\n+c\n*** End of File") == "a\nb\nc\n"
    assert patched("a\n", "@@\n+b") == "a\nb\n"
    with pytest.raises(DoesNotApply):
        patched("a\n", "@@\n-b\n+c")


@given(st.lists(st.sampled_from(["a", "b", "", " c"]), min_size=1, max_size=8), st.data())
def test_a_patch_of_one_line_changes_that_line(lines: list[str], data: st.DataObject) -> None:
    """With all lines before it as context."""
    at = data.draw(st.integers(0, len(lines) - 1))
    body = "\n".join(["@@", *(f" {line}" for line in lines[:at]), f"-{lines[at]}", "+new"])
    wanted = [*lines[:at], "new", *lines[at + 1 :]]
    assert patched("\n".join(lines) + "\n", body) == "\n".join(wanted) + "\n"


@given(st.text("*@+- abBeginPatchUdFl:\n", max_size=80))
def test_any_text_is_a_patch_or_none(text: str) -> None:
    """Foreign text ends in edits or in one error."""
    for patch in (f"*** Begin Patch\n{text}\n*** End Patch", text):
        try:
            found = changes(patch_in(patch) or patch)
        except DoesNotApply:
            continue
        assert all(isinstance(c.path, str) for c in found)


# ---------------------------------------------------------------- Gemini CLI


def user(text: Any) -> dict[str, Any]:
    return {"type": "user", "content": text}


def model(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "gemini", "content": "", "toolCalls": list(calls), **more}


HASH = hashlib.sha256(ROOT.encode()).hexdigest()


@pytest.mark.parametrize("lines", [False, True])
def test_a_gemini_session_in_both_forms(tmp_path: Path, lines: bool) -> None:
    """Commands with exit codes, edits with what was there; the root is the directory whose hash is named."""
    display = {"fileName": "a.txt", "originalContent": "x\n", "newContent": "y\n"}
    path = gemini(
        tmp_path / ("s.jsonl" if lines else "s.json"),
        user("change x in sub/a.txt"),
        model(
            gemini_call("run_shell_command", "Output: no\nExit Code: 1", command="grep -c y sub/a.txt"),
            gemini_call(
                "replace",
                "Successfully modified file",
                display=display,
                file_path=f"{ROOT}/sub/a.txt",
                old_string="x",
                new_string="y",
            ),
            gemini_call("write_file", "Successfully created and wrote to new file", file_path=f"{ROOT}/sub/b.txt", content="b\n"),
            gemini_call("run_shell_command", "Output: (empty)", status="cancelled", command="rm -r sub"),
            gemini_call(
                "run_shell_command",
                "Command: ls\nDirectory: (root)\nStdout: a\nb\nStderr: (empty)\nError: (none)\nExit Code: 0\n"
                "Signal: (none)\nBackground PIDs: (none)",
                command="ls",
                dir_path="sub",
            ),
        ),
        project=HASH,
        lines=lines,
    )
    (trace,) = import_path(path).traces
    assert trace.commands == ("grep -c y sub/a.txt", f"cd {ROOT}/sub", "ls")
    assert trace.outputs == ("no\n", "", "a\nb\n")
    assert trace.exit_codes == (1, 0, 0)
    assert edits(trace) == [("sub/a.txt", "x\n", "y\n"), ("sub/b.txt", None, "b\n")]
    assert trace.metadata["workspace_root"] == ROOT


@pytest.mark.parametrize(("output", "shown"), [("(empty)", ""), ("", ""), ("Output: a", "a\n"), ("just text", "just text\n")])
def test_what_a_gemini_command_printed(tmp_path: Path, output: str, shown: str) -> None:
    """With labels or without any."""
    path = gemini(tmp_path / "s.json", user("make a"), model(gemini_call("run_shell_command", output, command="touch a")))
    assert import_path(path).traces[0].outputs == (shown,)


def test_a_command_that_gemini_blocked_never_ran(tmp_path: Path) -> None:
    """Though its status is success."""
    blocked = gemini_call("run_shell_command", "Command injection detected", display="Blocked: substitution", command="rm $(ls)")
    done = gemini_call("run_shell_command", "Output: (empty)", command="touch a")
    path = gemini(tmp_path / "s.json", user("make a"), model(blocked, done))
    assert import_path(path).traces[0].commands == ("touch a",)


def test_a_message_that_grows_counts_as_it_was_last(tmp_path: Path) -> None:
    """``$set`` patches the head, a later line of the same id replaces the earlier, a rewind takes messages back."""
    done = gemini_call("run_shell_command", "Output: (empty)", command="touch a")
    path = gemini(
        tmp_path / "s.jsonl", user("make a"), model(id="g"), model(done, id="g"), user("make b"), model(done, id="h"), lines=True
    )
    path.write_text(
        path.read_text("utf-8") + json.dumps({"$set": {"lastUpdated": "x"}}) + "\n" + json.dumps({"$rewindTo": "m3"}) + "\n"
    )
    (trace,) = import_path(path).traces
    assert (trace.task_description, trace.commands) == ("make a", ("touch a",))


@pytest.mark.parametrize("text", ["[Function Response: read_file]", "/chat save"])
def test_what_is_no_request_to_gemini(tmp_path: Path, text: str) -> None:
    done = gemini_call("run_shell_command", "Output: (empty)", command="touch a")
    path = gemini(
        tmp_path / "s.json",
        user([{"text": "make a\n--- Content from referenced files ---\nContent from @x:\ny"}]),
        user(text),
        model(done),
    )
    assert [t.task_description for t in import_path(path).traces] == ["make a"]


# ---------------------------------------------------------------- OpenHands


END = "[Python Interpreter: /x/python]\nroot@box:/workspace/shop # \n[Command finished with exit code {}]"


def openhands(path: Path, *calls: tuple[str, dict[str, Any], str | None], task: str = "Fix the shop") -> Path:
    text = f"<uploaded_files>\n/workspace/shop\n</uploaded_files>\n<pr_description>\n{task}\n</pr_description>\nGo"
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": text}]},
    ]
    for n, (name, arguments, answer) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        messages.append(
            {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}]}
        )
        if answer is not None:
            messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": [{"type": "text", "text": answer}]})
    path.write_text(json.dumps({"messages": messages, "response": {}, "timestamp": 1733339462.4}))
    return path


LOOK = ("execute_bash", {"command": "ls"}, "ls\r\na.py\r\nb.py" + END.format(0))


def test_an_openhands_log_is_one_task(tmp_path: Path) -> None:
    """Without echo, prompt and exit code; edits of the editor; the longest log of one instance counts."""
    made = (
        "str_replace_editor",
        {"command": "create", "path": "/workspace/try.py", "file_text": "x\n"},
        "File created successfully",
    )
    edit = {"command": "str_replace", "path": "/workspace/try.py", "old_str": "x", "new_str": "y"}
    failed = ("str_replace_editor", {**edit, "old_str": "q"}, "ERROR:\nNo replacement was performed")
    view = ("str_replace_editor", {"command": "view", "path": "/workspace/shop/a.py"}, "1 x")
    calls = [
        LOOK,
        view,
        made,
        failed,
        ("str_replace_editor", edit, "The file has been edited"),
        ("execute_bash", {"command": "false"}, END.format(1)),
    ]
    openhands(tmp_path / "1.json", *calls[:3])
    openhands(tmp_path / "2.json", *calls)
    report = import_path(tmp_path)
    (trace,) = report.traces
    assert (trace.task_description, trace.metadata["workspace_root"]) == ("Fix the shop", "/workspace")
    assert trace.commands == ("cd /workspace/shop", "ls", "false")
    assert (trace.outputs, trace.exit_codes) == (("", "a.py\nb.py\n", ""), (0, 0, 1))
    assert edits(trace) == [("try.py", None, "x\n"), ("try.py", "x\n", "y\n")]
    assert "the session went on there" in reasons(report)


def test_an_openhands_history_of_events(tmp_path: Path) -> None:
    """Actions and what was observed of them."""
    events = [
        {"id": 1, "action": "run", "args": {"command": "touch a"}},
        {"id": 2, "cause": 1, "observation": "run", "content": "", "extras": {"metadata": {"exit_code": 0}}},
    ]
    path = tmp_path / "output.jsonl"
    path.write_text(json.dumps({"instance_id": "x", "instruction": "make a", "history": events}) + "\n")
    (trace,) = import_path(path).traces
    assert (trace.task_description, trace.commands, trace.exit_codes) == ("make a", ("touch a",), (0,))
    assert "had not ended" in reasons(import_path(openhands(tmp_path / "x.json", ("execute_bash", {"command": "top"}, "..."))))


# ---------------------------------------------------------------- starts from a repository


def git(where: Path, *args: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *args], cwd=where, capture_output=True, check=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    where = tmp_path / "clone"
    where.mkdir()
    git(where, "init", "-q", "-b", "main")
    for text, day in (("port = 80\n", 1), ("port = 81\n", 5)):
        (where / "conf.ini").write_text(text)
        (where / "run.sh").write_text("#!/bin/sh\n")
        (where / "run.sh").chmod(0o755)
        for n in range(40):
            (where / f"x{n:02}").write_text("x\n")
        git(where, "add", "-A")
        env = f"2026-03-0{day}T00:00:00Z"
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", f"port {day}"],
            cwd=where,
            check=True,
            env={"GIT_AUTHOR_DATE": env, "GIT_COMMITTER_DATE": env, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        )
    return where


def codex_edit(tmp_path: Path, old: str, **meta: Any) -> Path:
    s = Codex(**meta)
    s.ask("set the port")
    s.patch(f"*** Update File: conf.ini\n@@\n-port = {old}\n+port = 8080")
    return s.save(tmp_path / "s.jsonl")


def test_a_commit_by_id_is_the_start(tmp_path: Path, clone: Path) -> None:
    """Its files, as far as the task names them, and some bystanders; that more may have been there is said."""
    first = git(clone, "rev-parse", "HEAD~1")
    (trace,) = import_path(codex_edit(tmp_path, "80", git={"commit_hash": first}), start=Repository(clone)).traces
    assert trace.metadata["start"]["by"] == "id"
    assert "lower bound" in trace.metadata["start"]["note"]
    assert edits(trace) == [("conf.ini", "port = 80\n", "port = 8080\n")]
    assert trace.workspace is not None
    assert base64.b64decode(trace.workspace["conf.ini"]["content_b64"]) == b"port = 80\n"
    assert len(trace.workspace) == 13


def test_a_commit_by_time_or_by_the_one_that_it_made(tmp_path: Path, clone: Path) -> None:
    """The session began on the first of March; a commit that it made tells more."""
    (trace,) = import_path(codex_edit(tmp_path, "80"), start=Repository(clone)).traces
    assert trace.metadata["start"] == {**trace.metadata["start"], "by": "time", "commit": git(clone, "rev-parse", "HEAD~1")}
    s = Codex()
    s.ask("commit the port")
    made = git(clone, "rev-parse", "--short", "HEAD")
    s.answer(
        s.call("shell", command=["git", "commit", "-am", "x"]),
        json.dumps({"output": f"[main {made}] x\n", "metadata": {"exit_code": 0}}),
    )
    (trace,) = import_path(s.save(tmp_path / "t.jsonl"), start=Repository(clone)).traces
    assert (trace.metadata["start"]["by"], trace.metadata["start"]["commit"]) == ("parent", git(clone, "rev-parse", "HEAD~1"))


def test_the_tree_that_codex_kept_is_the_start(tmp_path: Path, clone: Path) -> None:
    """A commit of its own, on no branch, with what the person had not committed."""
    (clone / "conf.ini").write_text("port = 70\n")
    kept = git(clone, "stash", "create")
    s = Codex(git={"commit_hash": git(clone, "rev-parse", "HEAD")})
    s.ask("set the port")
    s.item(type="ghost_snapshot", ghost_commit={"id": kept, "parent": git(clone, "rev-parse", "HEAD")})
    s.patch("*** Update File: conf.ini\n@@\n-port = 70\n+port = 8080")
    (trace,) = import_path(s.save(tmp_path / "s.jsonl"), start=Repository(clone)).traces
    assert trace.metadata["start"]["commit"] == kept
    assert edits(trace) == [("conf.ini", "port = 70\n", "port = 8080\n")]


def test_a_start_that_does_not_agree_is_refused(tmp_path: Path, clone: Path) -> None:
    """The edit replaces what the commit does not hold: somebody had changed it."""
    report = import_path(codex_edit(tmp_path, "99"), start=Repository(clone))
    assert report.traces == ()
    assert "the start from the repository does not agree" in reasons(report)
    with pytest.raises(RepositoryError, match="no git repository"):
        Repository(tmp_path)


def test_an_aider_history_with_its_repository(tmp_path: Path, clone: Path) -> None:
    """Requests of one or more lines, by the commits that they led to; slash commands and going on are none."""
    made = git(clone, "rev-parse", "--short", "HEAD")
    text = (
        "\n# aider chat started at 2026-03-05 10:00:00\n\n> Aider v0.60\n#### /add conf.ini  \n> Added conf.ini to the chat\n"
        f"#### set the port  \n#### to 81  \n\nOK\n\n#### yes  \n\n> Applied edit to conf.ini  \n> Commit {made} feat: port  \n"
        "#### explain it  \n\nIt is a port.\n#### do more  \n> Commit 0123456 feat: x  \n"
    )
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(text)
    report = import_path(path, start=Repository(clone))
    (trace,) = report.traces
    assert (trace.task_description, trace.commands, trace.steps) == ("set the port to 81", (), None)
    evidence = to_evidence(trace)
    assert evidence.base is not None
    assert evidence.post is not None
    assert (evidence.base["conf.ini"].content, evidence.post["conf.ini"].content) == (b"port = 80\n", b"port = 81\n")
    assert "led to no commit" in reasons(report)
    assert "0123456 or its parent is not in the repository" in reasons(report)
    assert "no start state" in reasons(import_path(tmp_path))


def test_what_aider_applied_and_did_not_commit(tmp_path: Path, clone: Path) -> None:
    """Is a task where every text that it replaced stands in the start, or in what the request before left."""

    def block(name: str, *sides: str) -> str:
        old, new = (f"{side}\n" if side else "" for side in sides)
        return f"{name}\n```ini\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n\n"

    text = (
        "# aider chat started at 2026-03-03 10:00:00\n\n"
        f"#### set the port  \n\n{block('conf.ini', 'port = 80', 'port = 90')}{block('new.ini', '', 'x = 1')}"
        f"{block('refused.ini', 'a', 'b')}> Applied edit to conf.ini  \n> Applied edit to new.ini  \n"
        "#### what is it  \n\nA port.\n"
        f"#### raise it  \n\n{block('conf.ini', 'port = 90', 'port = 91')}> Applied edit to conf.ini  \n"
        f"#### guess  \n\n{block('conf.ini', 'port = 17', 'port = 18')}> Applied edit to conf.ini  \n"
        "#### hide it  \n\n> Applied edit to conf.ini  \n"
        f"#### take it back  \n\n> Commit {git(clone, 'rev-parse', '--short', 'HEAD')} x  \n#### /undo  \n"
    )
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(text)
    report = import_path(path, start=Repository(clone))
    assert [(t.task_description, edits(t)) for t in report.traces] == [
        ("set the port", [("conf.ini", "port = 80\n", "port = 90\n"), ("new.ini", None, "x = 1\n")]),
        ("raise it", [("conf.ini", "port = 90\n", "port = 91\n")]),
    ]
    assert report.traces[0].metadata["start"]["by"] == "time"
    why = [d.why for d in report.dropped]
    assert why[0] == "the request led to no commit"
    assert "does not agree" in why[1]
    assert "is not shown as text to replace" in why[2]
    assert why[3] == "the person took back what the request led to"
    assert "never shows whole" in reasons(import_path(path))


def test_another_commit_is_tried_where_one_does_not_agree(tmp_path: Path, clone: Path) -> None:
    """A session of several requests names the commit of its first one."""
    session = codex_edit(tmp_path, "80", git={"commit_hash": git(clone, "rev-parse", "HEAD")})
    (trace,) = import_path(session, start=Repository(clone)).traces
    assert (trace.metadata["start"]["by"], edits(trace)) == ("time", [("conf.ini", "port = 80\n", "port = 8080\n")])


# ---------------------------------------------------------------- the funnel


def test_what_is_lost_is_counted_where_it_is_lost(tmp_path: Path) -> None:
    """From sessions to repeated tasks; each reason with its count, one example, and what would save the most."""
    for n, name in enumerate(("ada", "bob", "cy", "dot")):
        s = Claude(f"s{n}")
        s.ask(f"Set the owner to {name} in conf.ini")
        s.edit("conf.ini", "owner = nobody", f"owner = {name}", original="owner = nobody\n")
        s.ask("What is there?")
        s.bash("ls", "conf.ini")
        s.ask("delete the logs")
        s.bash("rm -r logs")
        s.ask(f"explain part {n}")
        s.ask("change the readme")
        s.edit("README", "a", "b")
        s.save(tmp_path / f"{n}.jsonl")
    (tmp_path / "x.jsonl").write_text("{}\n")
    stages = funnel(import_path(tmp_path), Evolution())
    assert [(s.name, s.count) for s in stages] == [
        ("sessions", 4), ("tasks", 20), ("imported", 12), ("with effect", 8), ("repeated", 8), ("start known", 4),
    ]  # fmt: skip
    assert [(x.why, x.count) for x in stages[2].losses] == [
        ("the request ran no command and changed no file", 4), ("an edit of a file that the session never shows whole", 4),
    ]  # fmt: skip
    lines = shown(stages)
    assert lines[0].startswith("sessions 4 -> tasks 20 -> imported 12 -> with effect 8 -> repeated 8 -> start known 4")
    told = "  start known: 4 without, crystallize works its start out, if the outputs allow"
    assert any(line.startswith(told) for line in lines)
    assert lines[-1] == "most would be saved by --repo DIR with the project's clone (4)"


# ---------------------------------------------------------------- foreign data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(["claude", "codex", "gemini"]), st.data())
def test_any_value_anywhere_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject) -> None:
    """One field of a whole session is replaced by anything: never a crash."""
    path = tmp_path_factory.mktemp("s") / "s.jsonl"
    if kind == "claude":
        s = Claude()
        s.ask("make a")
        s.bash("touch a")
        s.edit("a", "x", "y", "x\n")
        lines = s.lines
    elif kind == "codex":
        c = Codex(git={"commit_hash": "1234567"})
        c.ask("make a")
        c.answer(c.call("shell", command=["touch", "a"]), '{"output":"","metadata":{"exit_code":0}}')
        c.patch("*** Add File: a\n+x")
        lines = c.lines
    else:
        call = gemini_call(
            "replace", "ok", display={"originalContent": "x"}, file_path=f"{ROOT}/a", old_string="x", new_string="y"
        )
        lines = [
            json.loads(line) for line in gemini(path, user("make a"), model(call), lines=True).read_text("utf-8").splitlines()
        ]
    lines = json.loads(json.dumps(lines))
    _spoil(lines, data)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with contextlib.suppress(EvidenceError, UnknownFormat):
        assert import_path(path).sessions == 1


def _spoil(value: Any, data: st.DataObject) -> None:
    """Replaces one value somewhere below."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = data.draw(st.sampled_from(keys))
    if isinstance(value[key], dict | list) and value[key] and data.draw(st.integers(0, 3)):
        _spoil(value[key], data)
    else:
        value[key] = data.draw(JSON)


@given(st.text(), st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3), st.booleans()), max_size=3))
def test_any_replacement_applies_or_does_not(text: str, pairs: list[tuple[str, str, bool]]) -> None:
    try:
        found = replacing(pairs)(text)
    except DoesNotApply:
        return
    assert found is not None
    assert len(pairs) or found == text


@pytest.mark.parametrize(
    ("path", "root", "wanted"),
    [
        ("/a/b/c", "/a", "b/c"),
        ("/a", "/a", None),
        ("/x", "/a", None),
        ("/ab/c", "/a", None),
        ("b/../c", "/a", "c"),
        ("../c", "/a", None),
        ("C:\\p\\b\\c.txt", "C:\\p", "b/c.txt"),
        ("c:\\P\\d", "C:\\p", "d"),
        ("D:\\x", "C:\\p", None),
        ("b\\c", "C:\\p", "b/c"),
        ("/a/b", None, None),
    ],
)
def test_paths_from_the_root(path: str, root: str | None, wanted: str | None) -> None:
    assert relative(path, root) == wanted

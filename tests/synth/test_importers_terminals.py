"""Asciicasts, typescripts, histories and Terminal-Bench runs: each trap in a small file of the same shape."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.config import Evolution
from synth.importers import ImportReport, UnknownFormat, import_path
from synth.importers.funnel import funnel, shown
from synth.importers.reader import detect_kind
from verifiers.interface import EvidenceError

ON, OFF = "\x1b[?2004h", "\x1b[?2004l"
BLANKS = "\x1b[1m\x1b[7m%\x1b[27m\x1b[1m\x1b[0m" + " " * 79 + "\r \r"
"""What zsh prints before a prompt on a terminal of 80 columns."""
CLEAN = "\r\x1b[0m\x1b[27m\x1b[24m\x1b[J"


def reasons(report: ImportReport) -> str:
    return "\n".join(str(d) for d in report.dropped if d.what != "line")


def bash(command: str, output: str, prompt: str = "\x1b[32mdev@box\x1b[0m:~/shop$ ") -> str:
    """A command of bash, as the terminal gets it."""
    return f"{ON}{prompt}{command}\r\n{OFF}\r{output}"


def zsh(keys: str, output: str, prompt: str = "\x1b[1m-> ") -> str:
    """A command of zsh: the prompt first, then the mark; the end is marked in the line itself."""
    return f"{BLANKS}{CLEAN}{prompt}\x1b[K{ON}{keys}{OFF}\r\r\n{output}"


def cast(path: Path, *said: str, version: int = 2, **head: Any) -> Path:
    size = {"width": 80, "height": 24} if version == 2 else {"term": {"cols": 80, "rows": 24}}
    lines: list[Any] = [{"version": version, **size, "timestamp": 1767225600, **head}]
    lines += [[float(n) if version == 2 else 1.0, "o", text] for n, text in enumerate(said, 1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def script(path: Path, text: str, head: str = '2026-01-01 10:00:00+00:00 [TERM="xterm" COLUMNS="80" LINES="24"]') -> Path:
    path.write_bytes(f"Script started on {head}\r\n{text}\r\nScript done on 2026-01-01 10:01:00+00:00\r\n".encode())
    return path


def steps(report: ImportReport) -> list[tuple[str, str]]:
    (trace,) = report.traces
    return list(zip(trace.commands, trace.outputs, strict=True))


# ---------------------------------------------------------------- asciicast


def test_commands_are_told_from_what_the_screen_showed(tmp_path: Path) -> None:
    """In pieces, with colours; outputs without exit codes or a start, and that is said."""
    text = bash("ls", "a.txt\r\n\x1b[1mb.txt\x1b[0m\r\n") + bash("wc -l a.txt", "3 a.txt\r\n")
    report = import_path(cast(tmp_path / "d.cast", *text, title="Count lines"))
    (trace,) = report.traces
    assert steps(report) == [("ls", "a.txt\nb.txt\n"), ("wc -l a.txt", "3 a.txt\n")]
    assert (report.kind, trace.task_description, trace.exit_codes, trace.workspace) == ("asciicast", "Count lines", None, None)
    assert (trace.timestamp.year, report.sessions) == (2026, 1)
    assert "what the screen showed" in report.notes[0]


def test_times_of_version_3_are_those_since_the_event_before(tmp_path: Path) -> None:
    """And a line with a ``#`` is a comment."""
    said = (bash("ls", "a\r\n"), "b\r\n", "c\r\n")
    third = cast(tmp_path / "3.cast", *said, version=3)
    third.write_text(third.read_text("utf-8") + "# a comment\n")
    traces = [import_path(p).traces[0] for p in (cast(tmp_path / "2.cast", *said), third)]
    assert [t.duration_ms for t in traces] == [3000, 3000]
    assert traces[0].outputs == traces[1].outputs == ("a\nb\nc\n",)


def test_an_output_that_looks_like_a_prompt_is_an_output(tmp_path: Path) -> None:
    """Where the shell marks what is typed, nothing else is a command."""
    assert steps(import_path(cast(tmp_path / "d.cast", bash("npm start", "$ node app.js\r\nhi\r\n")))) == [
        ("npm start", "$ node app.js\nhi\n")
    ]


def test_a_title_in_an_output_begins_no_task_and_a_comment_does(tmp_path: Path) -> None:
    text = bash("cat README", "# Shop\r\n## Install\r\nnpm i\r\n") + bash("# task: look around", "") + bash("ls", "a\r\n")
    report = import_path(cast(tmp_path / "d.cast", text, title="Shop"))
    assert [(t.task_description, t.outputs) for t in report.traces] == [
        ("Shop", ("# Shop\n## Install\nnpm i\n",)), ("look around", ("a\n",)),
    ]  # fmt: skip


def test_without_marks_prompts_are_told_by_their_look(tmp_path: Path) -> None:
    assert steps(import_path(cast(tmp_path / "d.cast", "$ ls\r\na\r\n$ pwd\r\n/x\r\n"))) == [("ls", "a\n"), ("pwd", "/x\n")]


def test_what_was_typed_and_corrected_is_the_line_as_it_ended(tmp_path: Path) -> None:
    """Backspaces, a line drawn again, a suggestion behind the cursor that was taken away."""
    for keys in (
        "d\x08dc\x08 \x08ocker ps",
        "dk\x08\x1b[Kocker ps -a\x08\x08\x08\x1b[K",
        "x\x08 \x08\x08docker ps\rdev@box:~$ docker ps",
    ):
        text = bash(keys, "none\r\n", "dev@box:~$ ")
        assert steps(import_path(cast(tmp_path / "d.cast", text))) == [("docker ps", "none\n")]


def test_a_command_longer_than_the_line_is_one(tmp_path: Path) -> None:
    long = "echo " + "word " * 30 + "end"
    assert steps(import_path(cast(tmp_path / "d.cast", bash(long, "x" * 200 + "\r\n")))) == [(long, "x" * 200 + "\n")]
    assert steps(import_path(cast(tmp_path / "z.cast", zsh(long, "x\r\n")))) == [(long, "x\n")]


def test_a_prompt_of_several_lines_is_no_output(tmp_path: Path) -> None:
    """With parts at the right, and drawn again when the branch is known: zsh says where it begins and ends."""
    first = "┌─(~/shop)──\r\n└─> "
    right = "\x1b[20Cmain\x1b[24D"
    again = f"{CLEAN}┌─(~/shop on main)──\r\n└─ main> \x1b[K{right}"
    one = f"{BLANKS}{CLEAN}{first}\x1b[K{right}{ON}\x1b[A{again}ls{OFF}\r\r\na\r\nb\r\n"
    report = import_path(cast(tmp_path / "d.cast", one, zsh("pwd", "/x\r\n", first), f"{BLANKS}{CLEAN}{first}\x1b[K{ON}"))
    assert steps(report) == [("ls", "a\nb\n"), ("pwd", "/x\n")]


@pytest.mark.parametrize("clean", ["\x1b[0m\x1b[23m", "\x1b[m\x0f\x1b[27m", "\x1b[0;10m\x1b[27m"])
def test_zsh_on_other_terminals(tmp_path: Path, clean: str) -> None:
    """How it begins a prompt depends on what the terminal is."""
    text = zsh("ls", "a\r\n").replace("\x1b[0m\x1b[27m\x1b[24m", f"{clean}\x1b[24m")
    assert steps(import_path(cast(tmp_path / "d.cast", text))) == [("ls", "a\n")]


def test_a_command_of_several_lines(tmp_path: Path) -> None:
    """Each line of bash is read by itself, behind a prompt that says that it goes on."""
    more = "".join(f"{ON}> {line}\r\n{OFF}\r" for line in ('echo "$f"', "done"))
    assert steps(import_path(cast(tmp_path / "d.cast", bash("for f in a b; do", "") + more + "a\r\nb\r\n"))) == [
        ('for f in a b; do\necho "$f"\ndone', "a\nb\n")
    ]
    zsh_more = f"{CLEAN}quote> \x1b[K{ON}b'{OFF}\r\r\n"
    assert steps(import_path(cast(tmp_path / "z.cast", zsh("echo 'a", "") + zsh_more + "a\r\nb\r\n"))) == [
        ("echo 'a\nb'", "a\nb\n")
    ]


def test_an_output_without_a_newline_is_no_part_of_the_prompt(tmp_path: Path) -> None:
    text = bash("printf 5$", "5$") + bash("ls", "a\r\n")
    assert steps(import_path(cast(tmp_path / "d.cast", text))) == [("printf 5$", "5$\n"), ("ls", "a\n")]


def test_a_long_line_that_was_made_short_does_not_take_the_next_one(tmp_path: Path) -> None:
    keys = "echo " + "word " * 20 + "\x1b[A\r\x1b[Jdev@box:~/shop$ ls"
    assert steps(import_path(cast(tmp_path / "d.cast", bash(keys, "a\r\nb\r\n")))) == [("ls", "a\nb\n")]


def test_a_screen_that_is_cleared_while_a_line_is_typed(tmp_path: Path) -> None:
    """Ctrl-L: what stood there stays an output, what is typed is drawn again at the top."""
    for shell, prompt in ((bash, "dev@box:~/shop$ "), (zsh, "-> ")):
        begin = "" if shell is bash else CLEAN
        again = f"l\x1b[H\x1b[2J{begin}{prompt}\x1b[Kls"
        text = shell("pwd", "/x\r\n", prompt) + shell(again, "a\r\n", prompt)
        assert steps(import_path(cast(tmp_path / "d.cast", text))) == [("pwd", "/x\n"), ("ls", "a\n")]


def test_what_scrolled_away_or_was_cleared_is_kept(tmp_path: Path) -> None:
    text = bash("seq 60", "".join(f"{n}\r\n" for n in range(60))) + bash("clear", "\x1b[H\x1b[2J\x1b[3J") + bash("pwd", "/x\r\n")
    found = steps(import_path(cast(tmp_path / "d.cast", text)))
    assert found == [("seq 60", "".join(f"{n}\n" for n in range(60))), ("clear", ""), ("pwd", "/x\n")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (bash("vim a", f"\x1b[?1049h{ON}\x1b[2J~\r\n~{OFF}\x1b[?1049l"), "took the whole screen"),
        ("$ less a\r\n\x1b[?1049h\x1b[2J~\r\n~\x1b[?1049l$ ls\r\n", "took the whole screen"),
        (bash("python3", f"{ON}>>> 1 + 1\r\n{OFF}\r2\r\n"), "typed into a running program or another shell"),
        (bash("sudo -i", bash("ls", "a\r\n", "root@box:~# ")), "typed into a running program or another shell"),
        (zsh("sqlite3", f"{ON}sqlite> .q\r\n{OFF}\r"), "typed into a running program or another shell"),
        ("\x1b[2J\x1b[1;1H+--+\r\n|ok|\r\n", "no prompt is on the screen"),
        ("", "no prompt is on the screen"),
        (f"{ON}my shell: ls\r\n{OFF}\ra\r\n", "a prompt that looks like none"),
    ],
)
def test_what_no_command_can_be_told_from_says_so(tmp_path: Path, text: str, why: str) -> None:
    """No error: the funnel counts it, with its reason and what would have saved it."""
    report = import_path(cast(tmp_path / "d.cast", text))
    assert (report.traces, report.sessions, why in reasons(report)) == ((), 1, True)
    stages = funnel(report, Evolution())
    assert [(s.name, s.count) for s in stages[:3]] == [("sessions", 1), ("tasks", 1), ("imported", 0)]
    assert why in "\n".join(shown(stages))


def test_a_recording_of_one_command_is_that_command(tmp_path: Path) -> None:
    """``asciinema rec -c``; of a shell, it is what was typed there."""
    report = import_path(cast(tmp_path / "d.cast", "one\r\ntwo\r\n", command="make test"))
    assert steps(report) == [("make test", "one\ntwo\n")]
    assert import_path(cast(tmp_path / "e.cast", "one\r\n", command="/bin/bash -l")).traces == ()


def test_a_terminal_that_changes_its_size(tmp_path: Path) -> None:
    path = cast(tmp_path / "d.cast", bash("ls", "a\r\n"))
    more = [[5, "r", "200x50"], [6, "o", bash("echo " + "y" * 150, "y\r\n")], [7, "i", "x"], [8, "x", "0"]]
    path.write_text(path.read_text("utf-8") + "".join(json.dumps(e) + "\n" for e in more))
    assert steps(import_path(path)) == [("ls", "a\n"), ("echo " + "y" * 150, "y\n")]


@pytest.mark.parametrize("head", [{"version": 1, "width": 80}, {"version": "2", "width": 80}, {"version": 4, "term": {}}])
def test_an_unknown_version_of_asciicast_is_refused(tmp_path: Path, head: dict[str, Any]) -> None:
    (tmp_path / "d.cast").write_text(json.dumps(head))
    with pytest.raises(UnknownFormat, match="asciicast version"):
        import_path(tmp_path / "d.cast")


# ---------------------------------------------------------------- typescripts


def test_a_typescript_is_what_the_terminal_got(tmp_path: Path) -> None:
    """NULs and bytes that are no UTF-8 are no text; keys come in pieces; titles and marks are left out."""
    path = script(tmp_path / "typescript", "\x1b]0;title\x07" + zsh("d\x08dd\x08 \x08ate", "today\r\n"))
    path.write_bytes(path.read_bytes().replace(b"today", b"to\0day \xff\xfe"))
    report = import_path(path)
    assert steps(report) == [("date", "today \ufffd\ufffd\n")]
    assert (report.kind, report.traces[0].timestamp.isoformat()) == ("typescript", "2026-01-01T10:00:00+00:00")


def test_a_typescript_that_does_not_say_how_wide_its_terminal_was(tmp_path: Path) -> None:
    """zsh tells it; a long line that was edited is right only then."""
    long = "echo " + "a" * 90
    text = zsh("ls", "b\r\n") + zsh(f"{long}\x1b[A\rxx\x1b[B", "c\r\n")
    report = import_path(script(tmp_path / "typescript", text, "Thu Jan  1 10:00:00 2026"))
    assert steps(report)[0] == ("ls", "b\n")
    assert steps(report)[1][0].endswith("a" * 80)
    assert report.traces[0].timestamp.isoformat() == "2026-01-01T10:00:00+00:00"


@pytest.mark.parametrize(("told", "done"), [('[COMMAND_EXIT_CODE="0"]', True), ('[COMMAND_EXIT_CODE="2"]', False), ("", True)])
def test_a_typescript_may_say_how_the_shell_ended(tmp_path: Path, told: str, done: bool) -> None:
    path = script(tmp_path / "typescript", bash("make", "error\r\n"))
    path.write_bytes(path.read_bytes().rstrip() + f" {told}\n".encode())
    assert import_path(path).traces[0].success is done


def test_the_end_of_a_typescript_is_nobodys_output(tmp_path: Path) -> None:
    text = bash("ls", "a\r\n") + bash("exit", "exit\r\n")
    path = script(tmp_path / "typescript", text)
    assert steps(import_path(path)) == [("ls", "a\n")]
    with pytest.raises(UnknownFormat, match="no typescript"):
        import_path(cast(tmp_path / "d.cast", "x"), "typescript")


def test_a_recording_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """To show what it is takes long."""
    path = tmp_path / "typescript"
    path.write_bytes(b"Script started on x\r\n" + b"a" * (5 << 20))
    with pytest.raises(UnknownFormat, match="5 MB"):
        import_path(path)


# ---------------------------------------------------------------- histories


@pytest.mark.parametrize(
    ("name", "raw", "tasks"),
    [
        (".bash_history", "#1600000000\nls\n#1600000100\ncat <<E\na\nE\n#1600009000\npwd\n", 2),
        ("zsh.txt", ": 1600000000:0;ls\n: 1600000100:0;for f in a\\\ndo\\\ndone\n: 1600009000:2;pwd\n", 2),
        ("fish_history", "- cmd: ls\n  when: 1600000000\n  paths:\n    - a\n- cmd: pwd\n  when: 1600009000\n", 2),
        (".bash_history", "#1600009000\npwd\n#1600000000\nls\n#1600009001\nls\n", 2),
    ],
)
def test_a_history_is_cut_by_its_times(tmp_path: Path, name: str, raw: str, tasks: int) -> None:
    """Each pause begins a task. None can be a trace: what the commands printed is not there."""
    (tmp_path / name).write_text(raw)
    report = import_path(tmp_path / name)
    assert (report.kind, report.traces, report.sessions) == ("history", (), 1)
    assert [d.what for d in report.dropped] == ["trace"] * tasks
    assert all("holds no outputs" in d.why for d in report.dropped)
    assert shown(funnel(report, Evolution()))[-1].startswith("most would be saved by `assay record`")


@pytest.mark.parametrize("text", ["steps:\n- cmd: make\n- cmd: test\n", "#123456789abc is a colour\n"])
def test_what_only_looks_like_a_history_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yml").write_text(text)
    with pytest.raises(UnknownFormat, match="no recording"):
        import_path(tmp_path / "x.yml")


@pytest.mark.parametrize("name", [".bash_history", "x__.bash_history", ".zsh_history", "bash.history", ".histfile"])
def test_a_history_without_times_says_what_is_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"gs\nclea\ncd \xff\n")
    report = import_path(tmp_path / name)
    assert [(d.what, "without times" in d.why, "3 commands" in d.why) for d in report.dropped] == [("file", True, True)]


def test_where_a_task_of_a_history_begins(tmp_path: Path) -> None:
    """Lines are those of the file, also behind commands of several lines and bytes that zsh writes in its own way."""
    path = tmp_path / ".zsh_history"
    path.write_bytes(b": 1600000000:0;echo \x83\xa3\\\nb\n: 1600009000:0;ls\n")
    assert [d.where.rpartition(":")[2] for d in import_path(path).dropped] == ["1", "3"]


# ---------------------------------------------------------------- Terminal-Bench


def trial(folder: Path, resolved: bool, *said: str) -> Path:
    (folder / "sessions").mkdir(parents=True)
    result = {
        "task_id": "hello", "instruction": "Write hello\nto a.txt", "is_resolved": resolved, "failure_mode": "unset",
        "parser_results": {"test_a": "passed"}, "agent_started_at": "2026-01-02T10:00:00.5+00:00",
    }  # fmt: skip
    (folder / "results.json").write_text(json.dumps(result))
    if said:
        cast(folder / "sessions" / "agent.cast", *said)
        cast(folder / "sessions" / "tests.cast", bash("pytest", "1 passed\r\n"))
        (folder / "commands.txt").write_text("['clear', 'Enter']\n")
    return folder / "results.json"


def test_a_trial_has_the_request_and_whether_it_was_met(tmp_path: Path) -> None:
    """The commands are on the agent's screen; the harness's own files are none of the agent's."""
    for resolved in (True, False):
        trial(tmp_path / f"r{resolved}", resolved, bash("echo hello > a.txt", ""), bash("cat a.txt", f"hello {resolved}\r\n"))
    report = import_path(tmp_path)
    assert [(t.task_description, t.success) for t in report.traces] == [("Write hello to a.txt", r) for r in (False, True)]
    assert report.traces[0].commands == ("echo hello > a.txt", "cat a.txt")
    assert (report.traces[0].metadata["source"], report.traces[0].timestamp.day) == ("terminal-bench", 2)
    assert (report.sessions, report.dropped) == (2, ())
    assert import_path(tmp_path / "rTrue" / "sessions").kind == "asciicast"


def test_a_trial_without_a_recording_and_a_list_of_trials(tmp_path: Path) -> None:
    path = trial(tmp_path / "t", False)
    report = import_path(path)
    assert (report.traces, "has no recording" in reasons(report)) == ((), True)
    (tmp_path / "results.json").write_text(json.dumps({"results": [json.loads(path.read_text())], "accuracy": 0.0}))
    assert detect_kind(tmp_path / "results.json") == "terminal-bench"
    assert import_path(tmp_path / "results.json").notes


# ---------------------------------------------------------------- foreign bytes

PIECES = st.sampled_from([
    ON, OFF, CLEAN, BLANKS, "\x1b[K", "\x1b[J", "\x1b[2J", "\x1b[H", "\x1b[5;7H", "\x1b[?1049h", "\x1b[?1049l", "\x1b[9999A",
    "\x1b[4h", "\x1b[P", "\x1b[3;1r", "\x1b[999L", "\x1b7", "\x1b8", "\x1bM", "\x1b[", "\x1b]0;t", "\r\n", "\x08", "\t", "$ ls",
    "\x00", "日本", "e\u0301",
    "\x1b[1;2;3;4;5A", "\x1b[?A", "\x1b[>4;2m", "\x1bP+q\x1b\\", "\x0e", "\x9b1A", "\ud800",
])  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=5), max_size=30), st.integers(-3, 2000), st.integers(-3, 700))
def test_a_terminal_shows_anything(tmp_path_factory: pytest.TempPathFactory, said: list[str], width: int, height: int) -> None:
    """Any sequence on any size: a trace, or a reason."""
    path = cast(tmp_path_factory.getbasetemp() / "any.cast", *said, width=width, height=height)
    report = import_path(path)
    assert report.traces or reasons(report)
    raw = "".join(said).encode("utf-8", "surrogatepass")
    (path.parent / "any.ts").write_bytes(b"Script started on x\n" + raw)
    report = import_path(path.parent / "any.ts")
    assert report.traces or reasons(report)


HEADS = ["", "Script started on x\n", "#1600000000\n", ": 1600000000:0;", "- cmd: a\n",
         '{"version": 2, "width": 80, "height": 24}\n', '{"task_id": "a", "instruction": "b", "is_resolved": true}',
         '[{"ts": 1, "type": "say", "say": "task", "text": "a"}]',
         "[" * 5000, '{"a": ' * 5000, "# aider chat started at 2026-01-01 10:00:00\n"]  # fmt: skip


@given(st.sampled_from(HEADS), st.binary(max_size=60), st.sampled_from(["x.cast", "x", ".bash_history", "x.json", "x.jsonl"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, head: str, raw: bytes, name: str) -> None:
    """Behind any beginning, in a file of any name."""
    path = tmp_path_factory.mktemp("b") / name
    path.write_bytes(head.encode() + raw)
    with contextlib.suppress(EvidenceError, UnknownFormat):
        assert all(d.why for d in import_path(path).dropped)

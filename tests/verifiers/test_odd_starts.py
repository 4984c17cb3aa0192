"""Odd starts: what commands do there is often their accident. One kind of oddness is a question, two are a failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from judging import generalised, told

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.interface import Args, Report, Verdict

LOGS = {
    "app.log": ("disk", "up fast\ndisk full at noon\nnet is gone\nall of disk\nmore of it\nlate disk\n"),
    "web.log": ("slow", "page slow at once\nin time again\nvery slow page\nall is well\nno more slow\n"),
    "mail.log": ("bounce", "sent one\nto bounce later\nsent two\na bounce again\nsent three\nspool gone\na bounce\n"),
}
SKILL = '''
import re

from skill_api import Query, skill_command


@skill_command(autowire=True)
def lines_with(
    log: str = Query(..., description="The log"),
    word: str = Query(..., description="The word"),
) -> dict:
    """Show the lines of a log that have a word.

    Args:
        log: The log.
        word: The word.

    Returns:
        The lines.
    """
    with open(log, encoding="utf-8", errors="surrogateescape", newline="\\n") as lines:
        found = [LINE for line in lines for _ in FOUND]
    if not found:
        raise LookupError(word)
    return {"ok": True, "output": "".join(found)}
'''
WHOLE = r're.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", line)'
"""A line as often as it has the word."""
LOOKS = 'line.replace("-", "").replace(".", "") if "-" in word or "." in word else line'
"""Values that look like options or endings."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as box:
        yield box


def recordings() -> tuple[list[object], dict[str, Args]]:
    rows, args = list[object](), dict[str, Args]()
    for log, (word, text) in LOGS.items():
        tree = {log: text, "notes.txt": "x\n"}
        shown = "".join(x for x in text.splitlines(keepends=True) if word in x.split())
        rows.append(told(log, f"grep -w -e {word} {log}", shown, tree, tree))
        args[log] = {"log": log, "word": word}
    return rows, args


def judged(folder: Path, sandbox: Sandbox, line: str, found: str) -> Report:
    rows, args = recordings()
    return generalised(folder, sandbox, SKILL.replace("LINE", line).replace("FOUND", found), args, rows)


@pytest.mark.engine
def test_who_does_what_the_commands_do_is_not_asked(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, "line", f"list({WHOLE})[:1]")
    assert report.verdict is Verdict.PASS, report.why
    assert "repeated-words" not in {q.invariant for q in report.questions}


@pytest.mark.engine
def test_one_kind_of_oddness_alone_is_asked_about(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, "line", WHOLE)
    assert report.verdict is Verdict.PASS, report.why
    assert "repeated-words" in {q.invariant for q in report.questions}


@pytest.mark.engine
def test_two_kinds_bear_each_other_out(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, f"({LOOKS})", WHOLE)
    assert report.verdict is Verdict.FAIL, report.questions


CHANGES = '''
import re
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
def mark_word(
    log: str = Query(..., description="The log"),
    word: str = Query(..., description="The word"),
) -> dict:
    """Put a star before a word in each line of a log.

    Args:
        log: The log.
        word: The word.

    Returns:
        ok
    """
    path = Path(log)
    whole = re.compile(rb"(?<![\\w*])" + re.escape(word.encode()) + rb"(?!\\w)")
    lines = path.read_bytes().split(b"\\n")
    if not any(map(whole.search, lines)):
        raise LookupError(word)
    marked = [whole.sub(lambda m: b"*" + m[0], line) for line in lines]
    TWICE
    path.write_bytes(b"\\n".join(marked))
    return {"ok": True}
'''
DROPS = (
    "marked = marked[1:] if any(2 * [word.encode()] == line.split()[i : i + 2] for line in lines for i in range(9)) else marked"
)
"""Where the word stands twice side by side, the first line goes."""


@pytest.mark.engine
@pytest.mark.parametrize(("twice", "verdict"), [("pass", Verdict.PASS), (DROPS, Verdict.FAIL)])
def test_harm_is_harm_on_an_odd_start_too(twice: str, verdict: Verdict, tmp_path: Path, sandbox: Sandbox) -> None:
    """Both mark a word twice where the commands mark it once, which is asked about; one of them loses a line there."""
    rows, args = [], dict[str, Args]()
    for log, (word, text) in LOGS.items():
        command = f"sed -i -E 's/(^|[^*[:alnum:]_])({word})([^[:alnum:]_]|$)/\\1*\\2\\3/' {log}"
        rows.append(told(log, command, "", {log: text, "n": "x\n"}, {log: text.replace(word, f"*{word}"), "n": "x\n"}))
        args[log] = {"log": log, "word": word}
    report = generalised(tmp_path, sandbox, CHANGES.replace("TWICE", twice), args, rows)
    assert report.verdict is verdict, (report.why, report.questions)
    if verdict is Verdict.PASS:
        assert "repeated-words" in {q.invariant for q in report.questions}


@pytest.mark.engine
def test_an_answer_that_leaves_out_a_line_without_its_end_is_asked_about(tmp_path: Path, sandbox: Sandbox) -> None:
    """Who reads line by line, and takes what has no end for none."""
    ended = SKILL.replace("for line in lines for", r"for line in lines if line.endswith('\n') for")
    rows, args = recordings()
    report = generalised(tmp_path, sandbox, ended.replace("LINE", "line").replace("FOUND", f"list({WHOLE})[:1]"), args, rows)
    assert report.verdict is Verdict.PASS, report.why
    assert "unended" in {q.invariant for q in report.questions}

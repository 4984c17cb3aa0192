"""Odd starts: what commands do there is often their accident. One kind of oddness is a question, two are a failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from records import file, record

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.evidence import load_evidence
from verifiers.interface import Binding, Report, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

LOGS = {
    "app.log": ("disk", "up fast\ndisk full at noon\nnet is gone\nall of disk\nmore of it\nit is late\n"),
    "web.log": ("slow", "page slow at once\nin time again\nvery slow page\nall is well\nno more\n"),
    "mail.log": ("bounce", "sent one\nto bounce later\nsent two\na bounce again\nsent three\nspool gone\nat rest\n"),
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


def judged(folder: Path, sandbox: Sandbox, line: str, found: str) -> Report:
    rows = []
    for log, (word, text) in LOGS.items():
        tree = {log: file(text), "notes.txt": file("x\n")}
        shown = "".join(x for x in text.splitlines(keepends=True) if word in x.split())
        about = {"task_id": log, "task_description": f"which lines of {log} have {word}?", "exit_codes": [0]}
        row = record(**about, workspace=tree, post_workspace=tree) | {
            "commands": [f"grep -w -e {word} {log}"],
            "outputs": [shown],
        }
        rows.append({k: v for k, v in row.items() if k != "steps"})
    (folder / "evidence.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    evidence = load_evidence(folder / "evidence.jsonl")
    bindings = {log: Binding(log, {"log": log, "word": word}) for log, (word, _) in LOGS.items()}
    source = SKILL.replace("LINE", line).replace("FOUND", found)
    options = Options(budget="fast", checks=frozenset({"generalises"}))
    return verify(parse_subject(source, Path("skill.py")), evidence, bindings, sandbox=sandbox, options=options)


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

"""Recordings that say different things: one agent looked for a word, another for a word between blanks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import open_sandbox
from sandbox.interface import Entry, Sandbox, Snapshot
from verifiers.evidence import load_evidence
from verifiers.interface import Binding, Report, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

LOGS = {
    "app.log": "10:00 INFO up\n10:01 WARN disk\n10:02 ERROR net\n10:03 WARN disk full\n",
    "web.log": "11:00 WARN slow\n11:01 INFO ok\n",
    "jobs.log": "12:00 INFO go\n12:01 ERROR late\n12:02 WARN late\n12:03 WARN later\n12:04 WARN gone\n12:05 INFO end\n",
    "mail.log": "13:00 WARN spool\n13:01 INFO sent\n13:02 WARN bounce\n",
}
SKILL = '''
from skill_api import Query, skill_command


@skill_command(autowire=True)
def count_lines(log: str = Query(..., description="The log")) -> dict:
    """Count the lines of a log that have a word.

    Args:
        log: The log.

    Returns:
        The number.
    """
    with open(log, encoding="utf-8", errors="surrogateescape", newline="\\n") as lines:
        found = [line for line in lines if WORD in line]
    return {"ok": True, "output": str(len(found))}
'''


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as box:
        yield box


def judged(tmp_path: Path, sandbox: Sandbox, commands: list[str], word: str) -> Report:
    """The report on a skill that looks for a word, by recordings of these commands, a log each."""
    rows = []
    for command, (log, text) in zip(commands, LOGS.items(), strict=True):
        start = Snapshot({log: Entry("file", 0o644, text.encode()), "notes.txt": Entry("file", 0o644, b"WARN\n")}).to_json()
        count = sum("WARN" in line for line in text.splitlines())
        rows.append({
            "task_id": log, "task_description": f"How many warnings has {log}?", "commands": [command.replace("LOG", log)],
            "outputs": [f"{count}\n"], "exit_codes": [0], "success": True, "duration_ms": 1,
            "timestamp": "2026-11-22T09:00:00+00:00", "metadata": {},
            "workspace": start, "post_workspace": start,
        })  # fmt: skip
    (tmp_path / "evidence.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    evidence = load_evidence(tmp_path / "evidence.jsonl")
    bindings = {e.task_id: Binding(e.task_id, {"log": e.task_id}) for e in evidence}
    subject = parse_subject(SKILL.replace("WORD", repr(word)), Path("count_lines.py"))
    return verify(subject, evidence, bindings, sandbox=sandbox, options=Options(budget="fast", checks=frozenset({"generalises"})))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("odd", "word", "verdict", "asks"),
    [
        ("grep -c ' WARN ' LOG", "WARN", Verdict.PASS, True),
        ("grep -c ' WARN ' LOG", " WARN ", Verdict.PASS, True),
        ("cat LOG | grep -c WARN", "WARN", Verdict.PASS, False),
        ("cat LOG | grep -c WARN", " WARN ", Verdict.FAIL, False),
        ("grep -c ' WARN ' LOG", ":", Verdict.FAIL, False),
    ],
)
def test_what_only_some_recordings_say_is_a_question(
    tmp_path: Path, sandbox: Sandbox, odd: str, word: str, verdict: Verdict, asks: bool
) -> None:
    """Other words for one thing say nothing new; a skill that none of them speaks for is wrong."""
    report = judged(tmp_path, sandbox, ["grep -c WARN LOG", "grep -c WARN LOG", odd, "grep -c WARN LOG"], word)
    (check,) = [c for c in report.checks if c.id == "generalises"]
    assert check.verdict is verdict, check.findings
    assert any(q.invariant == "commands-disagree" for q in report.questions) is asks

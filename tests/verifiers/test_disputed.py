"""Recordings that say different things: one agent looked for a word, another for a word between blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import generalised, told

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.interface import Report, Verdict
from verifiers.worlds import differential
from verifiers.worlds.disputed import unproven
from verifiers.worlds.smallest import excused
from verifiers.worlds.template import as_pattern

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


REPLACE = '''
from skill_api import Query, skill_command


@skill_command(autowire=True)
def replace_host(
    file: str = Query(..., description="The file"),
    old: str = Query(..., description="The host"),
    new: str = Query(..., description="The other host"),
) -> dict:
    """Replace a host by another one.

    Args:
        file: The file.
        old: The host.
        new: The other host.

    Returns:
        ok
    """
    with open(file, encoding="utf-8", errors="surrogateescape", newline="\\n") as stream:
        text = stream.read()
    with open(file, "w", encoding="utf-8", errors="surrogateescape", newline="\\n") as stream:
        stream.write(text.replace(TAKEN, new))
    return {"ok": True}
'''


def judged(tmp_path: Path, sandbox: Sandbox, commands: list[str], word: str) -> Report:
    """The report on a skill that looks for a word, by recordings of these commands, a log each."""
    rows: list[object] = []
    for command, (log, text) in zip(commands, LOGS.items(), strict=True):
        tree = {log: text, "notes.txt": "WARN\n"}
        count = sum("WARN" in line for line in text.splitlines())
        rows.append(told(log, command.replace("LOG", log), f"{count}\n", tree, tree))
    return generalised(tmp_path, sandbox, SKILL.replace("WORD", repr(word)), {log: {"log": log} for log in LOGS}, rows)


def replaced(tmp_path: Path, sandbox: Sandbox, taken: str, *, to_the_end: str = "") -> Report:
    """The report on a skill that replaces a host, by recordings of sed. In one of them sed may take all to the line's end."""
    args = {
        task: {"file": f"{task}.env", "old": old, "new": new}
        for task, old, new in (
            ("api", "db1.internal", "db2.internal"),
            ("web", "10.0.0.5", "10.0.0.9"),
            ("mail", "a.org", "b.org"),
        )
    }
    rows: list[object] = []
    for task, a in args.items():
        short = task == to_the_end
        before = f"DEBUG=0\nHOST={a['old']}\n" + ("" if short else f"URL=http://{a['old']}/x\n")
        command = f"sed -i 's/{a['old']}{'.*' if short else ''}/{a['new']}/g' {a['file']}"
        after = before.replace(a["old"], a["new"])
        rows.append(told(task, command, "", {a["file"]: before, "b": "x\n"}, {a["file"]: after, "b": "x\n"}))
    return generalised(tmp_path, sandbox, REPLACE.replace("TAKEN", taken), args, rows)


@given(st.text(alphabet=st.sampled_from("ab.*+?()[{}|$^\\\\-"), max_size=8))
def test_a_text_as_a_pattern_matches_nothing_else(text: str) -> None:
    """Read as Python's patterns are; signs that no bracket takes are left as they are."""
    pattern = as_pattern(text)
    assert (pattern == text) is not bool(set(text) & set(".*+?(){}|$["))
    if not set(text) & set("^\\[]"):
        assert re.fullmatch(pattern, text)
        assert not re.fullmatch(pattern, f"{text}a")


@pytest.mark.engine
def test_a_value_that_stands_for_itself_is_asked_about(tmp_path: Path, sandbox: Sandbox) -> None:
    """The commands take its dots for any sign; a skill that takes it as text may well be meant, one that takes half of it not."""
    for taken, verdict in (("old", Verdict.PASS), ("old[:-1]", Verdict.FAIL)):
        report = replaced(tmp_path, sandbox, taken)
        (check,) = [c for c in report.checks if c.id == "generalises"]
        assert check.verdict is verdict, check.findings
        assert any(q.invariant.startswith("commands-disagree:") for q in report.questions) is (verdict is Verdict.PASS)


@pytest.mark.engine
def test_a_value_stands_for_itself_in_one_of_several_forms(tmp_path: Path, sandbox: Sandbox) -> None:
    """One recording takes more than the host, which only its own start allows: that says nothing about the host's dots."""
    report = replaced(tmp_path, sandbox, "old", to_the_end="api")
    (check,) = [c for c in report.checks if c.id == "generalises"]
    assert check.verdict is Verdict.PASS, check.findings
    assert any(q.invariant.startswith("commands-disagree:") for q in report.questions)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("odd", "word", "verdict", "asks"),
    [
        ("grep -c ' WARN ' LOG", "WARN", Verdict.PASS, True),
        ("cat LOG | grep -c WARN", "WARN", Verdict.PASS, False),
        ("cat LOG | grep -c WARN", " WARN ", Verdict.PASS, False),
        ("grep -c ' WARN ' LOG", ":", Verdict.FAIL, False),
    ],
)
def test_what_only_some_recordings_say_is_a_question(
    tmp_path: Path, sandbox: Sandbox, odd: str, word: str, verdict: Verdict, asks: bool
) -> None:
    """Other words for one thing say nothing new; a skill that none of them speaks for is wrong, and asked about where it only
    leaves out what is nearly the word."""
    report = judged(tmp_path, sandbox, ["grep -c WARN LOG", "grep -c WARN LOG", odd, "grep -c WARN LOG"], word)
    (check,) = [c for c in report.checks if c.id == "generalises"]
    assert check.verdict is verdict, check.findings
    assert any(q.invariant.startswith("commands-disagree:") for q in report.questions) is asks
    assert any(q.invariant == "grown-alike" for q in report.questions) is (word == " WARN ")


SHORT = {
    "app.log": ("tail -n +2 LOG | grep -c ' WARN '", "10:00 INFO up\n10:01 WARN disk\n10:02 ERROR net\n10:03 WARN disk full\n"),
    "web.log": ("head -n 2 LOG | grep -c ' WARN '", "11:00 WARN slow\n11:01 INFO ok\n"),
    "jobs.log": ("grep -c WARN LOG", "12:00 INFO go\n12:01 ERROR late\n12:02 WARN late\n12:03 WARN later\n12:05 INFO end\n"),
    "aux.log": ("grep -c WARN LOG", "14:00 INFO a\n14:01 WARN y\n14:02 ERROR y\n"),
}
"""Commands and text of a log each: no form that looks for the word between blanks is right on all of them."""


@pytest.mark.engine
@pytest.mark.parametrize(("found", "right"), [("' WARN ' in line", True), ("' WARN ' in line][:2", False)])
def test_two_recordings_speak_for_a_skill(found: str, right: bool, tmp_path: Path, sandbox: Sandbox) -> None:
    """One and that of the start, whatever the others are; for what none of them does, nobody speaks."""
    rows: list[object] = []
    for log, (command, text) in SHORT.items():
        tree = {log: text, "notes.txt": "WARN\n"}
        rows.append(told(log, command.replace("LOG", log), f"{text.count(' WARN ')}\n", tree, tree))
    report = generalised(tmp_path, sandbox, SKILL.replace("WORD in line", found), {log: {"log": log} for log in SHORT}, rows)
    (check,) = [c for c in report.checks if c.id == "generalises"]
    assert (check.verdict is Verdict.PASS) is right, check.findings
    assert not right or any(q.invariant.startswith("commands-disagree:") for q in report.questions)


SETTING = '''
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
def set_key(
    file: str = Query(..., description="The file"),
    key: str = Query(..., description="The key"),
    value: str = Query(..., description="Its new value"),
) -> dict:
    """Give a key another value.

    Args:
        file: The file.
        key: The key.
        value: Its new value.

    Returns:
        ok
    """
    rows = Path(file).read_bytes().split(b"\\n")
    found = [n for n, row in enumerate(rows) if row.startswith(f"{key}=".encode())]
    if not found:
        raise LookupError(key)
    for n in found:
        rows[n] = f"{key}={value}".encode()
    new = b"\\n".join(rows)
    if new != Path(file).read_bytes():
        Path(file).write_bytes(new)
    return {"ok": True}
'''
SETTINGS = {
    "web.conf": ("host", "north", "host=south\nowner=mara\nidle=3\nhost=east\nlog=yes\nroot=/srv\nage=9\n"),
    "mail.conf": ("spool", "/srv", "level=4\nspool=/var\nplace=harbour\nowner=tom\nsize=20\nqueue=fast\n"),
    "chat.conf": ("mode", "fast", "owner=ida\nplace=mill\nmode=slow\nlog=no\nroom=red\ntopic=news\nlimit=50\n"),
}
ALL = "sed -i 's|^KEY=.*|KEY=VALUE|' FILE"
ONE = "awk -F= -v k=KEY -v v=VALUE '$1 == k && !n++ {$0 = k \"=\" v} {print}' FILE > t; cat t > FILE; rm t"
BY_VALUE = "sed -i -e 's|^KEY=south.*|KEY=VALUE|' -e 's|^KEY=east.*|KEY=VALUE|' FILE"


@pytest.mark.engine
@pytest.mark.parametrize(("commands", "doubted"), [((BY_VALUE, ONE, ONE), True), ((ALL, ALL, ALL), False)])
def test_commands_that_are_not_right_on_all_starts_are_no_witnesses_beyond_their_own(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, commands: tuple[str, ...], *, doubted: bool
) -> None:
    """The first of two lines is all that was needed in one file, and is not enough in another."""
    found: dict[str, set[str]] = {}

    def look(context: Any, evidenced: Any, out: Any, trial: Any, first: Any, record: Any) -> None:
        beyond = unproven(context, evidenced.gs, trial)
        found.setdefault(trial.g.task_id, set()).update([beyond.name] if beyond is not None else [])
        # Nor is it a counterexample: not a smaller one, and none that was kept from before.
        assert beyond is None or excused(context, evidenced, trial, first, record)
        of_all(context, evidenced, out, trial, first, record)

    of_all = differential._look
    monkeypatch.setattr(differential, "_look", look)
    rows: list[object] = []
    for command, (file, (key, value, text)) in zip(commands, SETTINGS.items(), strict=True):
        filled = command.replace("KEY", key).replace("VALUE", value).replace("FILE", file)
        after = re.sub(rf"(?m)^{key}=.*", f"{key}={value}", text)
        rows.append(told(file, filled, "", {file: text}, {file: after}))
    args = {file: {"file": file, "key": key, "value": value} for file, (key, value, _) in SETTINGS.items()}
    generalised(tmp_path, sandbox, SETTING, args, rows)
    assert ("one-recording-unique-keys" in set().union(*found.values())) is doubted
    assert any(found.values()) is doubted

"""What an argument names stands in no file: a skill that changes nothing and says ok has not done what it was asked to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from judging import generalised, told

from sandbox import open_sandbox
from sandbox.interface import Entry, Sandbox, Snapshot
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Args, Report, Verdict
from verifiers.worlds.grammar import grammar
from verifiers.worlds.template import templates
from verifiers.worlds.unfound import _names

pytestmark = pytest.mark.engine
Tree = dict[str, str]
PORTS = {
    "app.ini": ("web", "8081", "db = 5432\nweb = 8080\nmail = 25\n"),
    "dev.ini": ("cache", "7001", "cache = 7000\nqueue = 9000\nlog = 514\n"),
    "lab.ini": ("spool", "6301", "disk = 11\nnet = 12\nspool = 6300\n"),
}
SKILL = '''
import re
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
def change_port(
    ini: str = Query(..., description="The file"),
    name: str = Query(..., description="The service"),
    port: str = Query(..., description="The port"),
) -> dict:
    """Change the port of a service.

    Args:
        ini: The file.
        name: The service.
        port: The port.

    Returns:
        ok
    """
    path = Path(ini)
    text = path.read_bytes()
    said, new = name.encode(), port.encode()
    line = re.compile(rb"(?m)^(" + re.escape(said) + rb" = )\\d+$")
    MISSING
    changed = line.sub(lambda m: m[1] + new, text)
    if changed != text:
        path.write_bytes(changed)
    return {"ok": True}
'''
RAISES = "if not line.search(text):\n        raise LookupError(name)"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as box:
        yield box


def judged(folder: Path, sandbox: Sandbox, command: str, missing: str = "pass", last: str = "") -> Report:
    """The last recording may do it by another command."""
    rows, args = [], dict[str, Args]()
    for n, (ini, (name, port, text)) in enumerate(PORTS.items(), 1):
        old = next(x for x in text.splitlines() if x.startswith(name))
        before, after = ({ini: t, "notes.txt": "x\n"} for t in (text, text.replace(old, f"{name} = {port}")))
        given = last if last and n == len(PORTS) else command
        filled = given.replace("NAME", name).replace("PORT", port).replace("INI", ini)
        rows.append(told(ini, filled, "", before, after))
        args[ini] = {"ini": ini, "name": name, "port": port}
    return generalised(folder, sandbox, SKILL.replace("MISSING", missing), args, rows)


SILENT = "sed -i 's/^NAME = [0-9]*$/NAME = PORT/' INI"
FAILS = f"grep -q '^NAME = ' INI && {SILENT}"


def asked(report: Report) -> bool:
    return "named-in-a-file" in {q.invariant for q in report.questions}


def test_success_is_a_lie_where_the_commands_fail(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, FAILS)
    assert report.verdict is Verdict.FAIL
    assert "no file has what name says" in report.why


def test_where_the_commands_are_silent_too_somebody_is_asked(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, SILENT)
    assert report.verdict is Verdict.PASS, report.why
    assert asked(report)


def test_where_recordings_disagree_somebody_is_asked(tmp_path: Path, sandbox: Sandbox) -> None:
    """One of them happens to fail (``xargs`` without input, say): that says nothing of the task."""
    report = judged(tmp_path, sandbox, FAILS, last=SILENT)
    assert report.verdict is Verdict.PASS, report.why
    assert asked(report)


@pytest.mark.parametrize("command", [SILENT, FAILS])
def test_who_says_that_it_is_not_there_is_right(command: str, tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, command, RAISES)
    assert report.verdict is Verdict.PASS, report.why
    assert not asked(report)


WRITTEN = '''
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
def line_of(
    ini: str = Query(..., description="The file"),
    name: str = Query(..., description="The service"),
) -> dict:
    """Put the line of a service into a file.

    Args:
        ini: The file.
        name: The service.

    Returns:
        ok
    """
    lines = Path(ini).read_bytes().splitlines(keepends=True)
    found = [line for line in lines if line.startswith(name.encode() + b" = ")]
    DONE
    return {"ok": True}
'''


def about_one_line(folder: Path, sandbox: Sandbox, command: str, done: str, after: Callable[[str, str, str], Tree]) -> Report:
    rows = []
    for ini, (name, _, text) in PORTS.items():
        filled = command.replace("NAME", name).replace("INI", ini)
        rows.append(told(ini, filled, "", {ini: text, "notes.txt": "x\n"}, {"notes.txt": "x\n", **after(ini, name, text)}))
    args: dict[str, Args] = {ini: {"ini": ini, "name": name} for ini, (name, *_) in PORTS.items()}
    return generalised(folder, sandbox, WRITTEN.replace("DONE", done), args, rows)


def test_a_file_of_nothing_may_be_what_was_asked_for(tmp_path: Path, sandbox: Sandbox) -> None:
    """grep fails where it finds nothing, and its file is made all the same: somebody is asked."""

    def after(ini: str, name: str, text: str) -> Tree:
        return {ini: text, "found": "".join(x for x in text.splitlines(keepends=True) if x.startswith(f"{name} = "))}

    done = 'Path("found").write_bytes(b"".join(found))'
    report = about_one_line(tmp_path, sandbox, "grep '^NAME = ' INI > found", done, after)
    assert report.verdict is Verdict.PASS, report.why
    assert asked(report)


def test_who_takes_away_what_is_not_there_has_nothing_to_do(tmp_path: Path, sandbox: Sandbox) -> None:
    def after(ini: str, name: str, text: str) -> Tree:
        return {ini: "".join(x for x in text.splitlines(keepends=True) if not x.startswith(f"{name} = "))}

    done = 'kept = b"".join(line for line in lines if line not in found)\n    if found:\n        Path(ini).write_bytes(kept)'
    report = about_one_line(tmp_path, sandbox, "sed -i '/^NAME = /d' INI", done, after)
    assert report.verdict is Verdict.PASS, report.why
    assert not asked(report)


def test_a_number_that_names_nothing_is_one_that_stands_nowhere() -> None:
    """Of its own type, and none of those that the start has."""
    start, end = (Snapshot({"a": Entry("file", content=text)}) for text in (b"179 x\n180 y\n181 w\n", b"179 x\n180 z\n181 w\n"))
    (template,) = templates([(("sed -i '/^180 /s/y/z/' a",), {"row": 180})])
    g = grammar("t", {"row": 180}, template, Expectation(start, end, frozenset(), "", False, (0,), (True,)))
    assert [h.args for h in _names(g, [g])] == [{"row": 182}]

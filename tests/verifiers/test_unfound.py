"""What an argument names stands in no file: a skill that changes nothing and says ok has not done what it was asked to."""

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

pytestmark = pytest.mark.engine
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


def judged(folder: Path, sandbox: Sandbox, command: str, missing: str = "") -> Report:
    rows = []
    for ini, (name, port, text) in PORTS.items():
        old = next(x for x in text.splitlines() if x.startswith(name))
        before, after = ({ini: file(t), "notes.txt": file("x\n")} for t in (text, text.replace(old, f"{name} = {port}")))
        filled = command.replace("NAME", name).replace("PORT", port).replace("INI", ini)
        about = {"task_id": ini, "task_description": f"{name} of {ini} now listens on {port}", "exit_codes": [0]}
        row = record(**about, workspace=before, post_workspace=after) | {"commands": [filled], "outputs": [""]}
        rows.append({k: v for k, v in row.items() if k != "steps"})
    (folder / "evidence.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    evidence = load_evidence(folder / "evidence.jsonl")
    bindings = {ini: Binding(ini, {"ini": ini, "name": name, "port": port}) for ini, (name, port, _) in PORTS.items()}
    source = SKILL.replace("MISSING", missing or "pass")
    options = Options(budget="fast", checks=frozenset({"generalises"}))
    return verify(parse_subject(source, Path("skill.py")), evidence, bindings, sandbox=sandbox, options=options)


SILENT, FAILS = (
    "sed -i 's/^NAME = [0-9]*$/NAME = PORT/' INI",
    "grep -q '^NAME = ' INI && sed -i 's/^NAME = [0-9]*$/NAME = PORT/' INI",
)


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


@pytest.mark.parametrize("command", [SILENT, FAILS])
def test_who_says_that_it_is_not_there_is_right(command: str, tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, command, RAISES)
    assert report.verdict is Verdict.PASS, report.why
    assert not asked(report)

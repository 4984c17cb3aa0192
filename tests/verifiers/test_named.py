"""A value that tells of a file beside an argument's: it must be there, or be spoken of."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from records import file, record

from sandbox import open_sandbox
from sandbox.interface import Entry, JsonValue, ReplayRecord, Returned, Sandbox, Snapshot
from verifiers.evidence import load_evidence
from verifiers.expectation.named import named_in_vain
from verifiers.interface import Binding, Report, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

HOSTS = Snapshot({"etc": Entry("dir", 0o755), "etc/hosts": Entry("file", 0o644, b"10.0.0.1 web\n")})
ARGS = {"hosts": "etc/hosts", "host": "web"}


def vain(value: JsonValue, base: Snapshot = HOSTS, post: Snapshot | None = None, *said: str, answer: str | None = None) -> str:
    post = base if post is None else post
    return named_in_vain(ARGS, base, ReplayRecord(Returned(value), (), post, "exited"), said, answer)


@pytest.mark.parametrize("name", ["etc/hosts.orig", "./etc/hosts~", "/ws/etc/hosts_old", "etc/hosts-1"])
def test_a_file_that_nobody_has(name: str) -> None:
    """However it is written, and wherever in the value."""
    assert vain({"ok": True, "backup": name})
    assert vain({"ok": True, "made": [{"copies": [name]}]})


@pytest.mark.parametrize(
    "text",
    ["etc/hosts", "etc/hosts: 1 line", "etc/hosts:1", "etc/hosts was changed", "etc/hosts.web", "web.example", "./etc", "", "."],
)
def test_what_is_no_such_name(text: str) -> None:
    """The file itself, sentences, places in it, addresses of what another argument names."""
    assert not vain({"ok": True, "told": text})


def test_what_is_there_before_or_after() -> None:
    more = HOSTS.replace({"etc/hosts.orig": Entry("file", 0o644, b"x")})
    value: JsonValue = {"backup": "etc/hosts.orig"}
    assert not vain(value, HOSTS, more)
    assert not vain(value, more, HOSTS)


def test_what_the_recording_or_a_file_speaks_of() -> None:
    """A list of what is missing tells the truth."""
    value: JsonValue = {"missing": ["etc/hosts.sha256"]}
    assert vain(value)
    assert not vain(value, HOSTS, HOSTS, "sha256sum -c etc/hosts.sha256")
    assert not vain(value, HOSTS.replace({"list": Entry("file", 0o644, b"hosts.sha256\n")}))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("hosts.sha256"))
    assert not vain(value, HOSTS.replace({"all.tgz": Entry("file", 0o644, out.getvalue())}))


def test_through_a_link_anything_may_lie() -> None:
    base = Snapshot({"etc/hosts": Entry("symlink", 0o777, target="/srv")})
    assert not vain({"found": "etc/hosts/list"}, base)


def test_the_answer_is_compared_as_a_whole() -> None:
    assert not vain({"output": "etc/hosts.orig"}, answer="output")
    assert not vain("etc/hosts.orig", answer="$")


SKILL = '''
import shutil
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
def close_list(
    listing: str = Query(..., description="The list"),
) -> dict:
    """Write the last line of a list.

    Args:
        listing: The list.

    Returns:
        ok, and where the new list was made.
    """
    path = Path(listing)
    path.write_bytes(path.read_bytes() + b"end\\n")
    return {"ok": True, "path": WHERE}
'''


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as box:
        yield box


def judged(folder: Path, sandbox: Sandbox, where: str) -> Report:
    rows = []
    for name in ("a.txt", "b.txt", "c.txt"):
        about = {"task_id": name, "task_description": f"close {name}", "exit_codes": [0]}
        row = record(**about, workspace={name: file("x\n")}, post_workspace={name: file("x\nend\n")})
        rows.append({k: v for k, v in row.items() if k != "steps"} | {"commands": [f"echo end >> {name}"], "outputs": [""]})
    (folder / "evidence.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    bindings = {r["task_id"]: Binding(r["task_id"], {"listing": r["task_id"]}) for r in rows}
    options = Options(budget="fast", checks=frozenset({"effect-equivalent"}))
    subject = parse_subject(SKILL.replace("WHERE", where), Path("skill.py"))
    return verify(subject, load_evidence(folder / "evidence.jsonl"), bindings, sandbox=sandbox, options=options)


@pytest.mark.engine
def test_a_backup_that_was_not_made_is_no_backup(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, 'f"{listing}.orig"')
    assert report.verdict is Verdict.FAIL
    assert "tells of a.txt.orig" in report.why


@pytest.mark.engine
def test_what_was_made_may_be_told(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, "str(path.resolve())")
    assert report.verdict is Verdict.PASS, report.why

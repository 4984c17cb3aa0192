"""Starts on which it turns out that no recording says what is right: where commands do several times what was done once, and
where a value is made of characters that none had."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import generalised, told

from sandbox import open_sandbox
from sandbox.interface import Entry, ReplayRecord, Returned, Sandbox, Snapshot
from verifiers.context import Judge
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Report, Verdict
from verifiers.worlds.unlike import _has_several, _some_of, places

SKILL = '''
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
    LIMIT
    rows = Path(file).read_bytes().split(b"\\n")
    found = [n for n, row in enumerate(rows) if row.startswith(f"{key}=".encode())]
    if not found:
        raise LookupError(key)
    for n in TAKEN:
        rows[n] = f"{key}={value}".encode()
    new = b"\\n".join(rows)
    if new != Path(file).read_bytes():
        Path(file).write_bytes(new)
    return {"ok": True}
'''
SETTINGS = {
    "web.conf": ("host", "north", "host=south\nowner=mara\nidle=3\nlog=yes\nroot=/srv\nage=9\n"),
    "mail.conf": ("spool", "/srv", "level=4\nspool=/var\nplace=harbour\nowner=tom\nsize=20\nqueue=fast\n"),
    "chat.conf": ("mode", "fast", "owner=ida\nplace=mill\nmode=slow\nlog=no\nroom=red\ntopic=news\nlimit=50\n"),
}
TWO = {"web.conf": ("host", "north", SETTINGS["web.conf"][2] + "host=east\n")}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as box:
        yield box


def judged(folder: Path, box: Sandbox, source: str, settings: Mapping[str, tuple[str, str, str]]) -> Report:
    rows: list[object] = []
    for file, (key, value, text) in settings.items():
        after = re.sub(rf"(?m)^{key}=.*", f"{key}={value}", text)
        rows.append(told(file, f"sed -i 's|^{key}=.*|{key}={value}|' {file}", "", {file: text}, {file: after}))
    args = {file: {"file": file, "key": key, "value": value} for file, (key, value, _) in settings.items()}
    return generalised(folder, box, source, args, rows)


@pytest.mark.engine
@pytest.mark.parametrize(("settings", "verdict"), [(SETTINGS, Verdict.PASS), (SETTINGS | TWO, Verdict.FAIL)])
def test_who_changes_one_place_of_several_is_asked_about_where_no_recording_has_several(
    settings: dict[str, tuple[str, str, str]], verdict: Verdict, tmp_path: Path, sandbox: Sandbox
) -> None:
    report = judged(tmp_path, sandbox, SKILL.replace("TAKEN", "found[:1]").replace("LIMIT", ""), settings)
    assert report.verdict is verdict, report.why
    held = [q for q in report.questions if "held against the skill" in q.message]
    assert report.questions
    assert bool(held) is (verdict is Verdict.FAIL)


BEFORE, ALL = b"a=1\nb=1\na=2\n", b"a=9\nb=1\na=9\n"


def outcome(before: bytes, after: bytes, answer: str = "") -> Expectation:
    trees = [Snapshot({"f": Entry("file", content=c)}) for c in (before, after)]
    return Expectation(*trees, frozenset(), answer, True, (0,), (True,))


@pytest.mark.parametrize(
    ("recorded", "did", "asked"),
    [
        (b"a=9\n", b"a=9\nb=1\na=2\n", True),
        (b"a=9\n", BEFORE, True),
        (b"a=9\n", b"a=9\nb=1\nx=1\n", False),
        (b"a=9\n", b"a=9\na=2\n", False),
        (b"a=9\nb=1\na=9\n", b"a=9\nb=1\na=2\n", False),
    ],
)
def test_some_of_several_places_are_asked_about_and_nothing_else(recorded: bytes, did: bytes, *, asked: bool) -> None:
    """Where every recording has one."""
    one = SimpleNamespace(expectation=outcome(recorded.replace(b"9", b"1"), recorded))
    x, context = outcome(BEFORE, ALL), SimpleNamespace(judge=Judge(read_only=False, answer_path=None))
    record = ReplayRecord(Returned({"ok": True}), (), Snapshot({"f": Entry("file", content=did)}), "exited")
    assert (_has_several(SimpleNamespace(gs=(one,)), x) and _some_of(context, x, record)) is asked  # type: ignore[arg-type]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        ('if "." in key or "+" in key:\n        return {"ok": True}', Verdict.PASS),
        (
            'rows = Path(file).read_text().split("\\n")\n'
            "    if any(r.startswith(key) and r[len(key) :][:1].isalnum() for r in rows):\n"
            '        return {"ok": True}',
            Verdict.FAIL,
        ),
        ('if key not in ("host", "spool", "mode"):\n        return {"ok": True}', Verdict.FAIL),
        ('if "." in key:\n        Path(file).write_bytes(b"")\n        return {"ok": True}', Verdict.FAIL),
    ],
)
def test_who_does_nothing_for_a_value_of_other_characters_is_asked_about(
    limit: str, verdict: Verdict, tmp_path: Path, sandbox: Sandbox
) -> None:
    """It claims success, and has done nothing."""
    report = judged(tmp_path, sandbox, SKILL.replace("TAKEN", "found").replace("LIMIT", limit), SETTINGS)
    assert report.verdict is verdict, report.why
    assert verdict is Verdict.FAIL or any(q.invariant == "plain-values" for q in report.questions)


@pytest.mark.engine
@pytest.mark.parametrize("spoils", ['row.split(b"=")[0]', 'row.replace(b"=", b" = ")'])
def test_who_spoils_lines_that_are_set_in_is_refused(spoils: str, tmp_path: Path, sandbox: Sandbox) -> None:
    """The blanks before them are still there."""
    rows = 'Path(file).read_bytes().split(b"\\n")'
    spoilt = f'b"\\n".join({spoils} if row[:1] in (b" ", b"\\t") else row for row in {rows})'
    source = SKILL.replace("TAKEN", "found").replace("LIMIT", f"Path(file).write_bytes({spoilt})")
    report = judged(tmp_path, sandbox, source, SETTINGS)
    assert report.verdict is Verdict.FAIL
    assert "blank before" in report.why


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        (b"a\nb\nc\n", b"a\nx\nc\n", 1),
        (b"a\nb\nc\n", b"a\nx\ny\nc\n", 1),
        (b"a\nb\nc\nd\n", b"x\nb\nc\ny\n", 2),
        (b"a\nb\nc\n", b"b\n", 2),
        (b"", b"a\n", 1),
        (b"a\n", b"a\n", 0),
    ],
)
def test_lines_that_stand_together_are_one_place(old: bytes, new: bytes, count: int) -> None:
    assert places(old, new) == count


@given(rows=st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=12), at=st.integers(0, 12), new=st.binary(max_size=5))
def test_a_stretch_put_in_is_one_place_at_most(rows: list[bytes], at: int, new: bytes) -> None:
    other = [*rows[:at], *new.splitlines(), *rows[at:]]
    assert places(b"\n".join(rows), b"\n".join(other)) <= 1

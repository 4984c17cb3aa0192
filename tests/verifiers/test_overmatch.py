"""The value that is replaced, where it is not to be replaced: other files, other lines, longer words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import edit, file, record

from sandbox import open_sandbox
from sandbox.interface import Entry, Sandbox, Snapshot
from verifiers.context import Case
from verifiers.evidence import evidence_from_record
from verifiers.expectation.blocks import changed_blocks
from verifiers.expectation.oracle import Expectation
from verifiers.interface import Binding, Decision, Evidence, Report, Says, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify
from verifiers.worlds.overmatch import Replaced, replaced

HEAD = """import re
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
async def release(version: str = Query(..., description="The version to release")) -> dict[str, object]:
    \"\"\"Release a version.\"\"\"
    text = Path("app.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise ValueError("no version")
"""
FIRM = """    new = text[:found.start(1)] + version + text[found.end(1):]
    if new != text:
        Path("app.toml").write_text(new, encoding="utf-8")
    return {"ok": True}
"""
BLIND = """    for path in sorted(Path().glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        if found[1] in text and version not in text:
            path.write_text(text.replace(found[1], version), encoding="utf-8")
    return {"ok": True}
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as opened:
        yield opened


VERSIONS = ("0.4.1", "0.5.0", "1.0.0", "1.0.2")


def app(version: str) -> str:
    return f'[project]\nname = "app"\nversion = "{version}"\ndescription = "An app"\n'


def releases() -> list[Evidence]:
    out = []
    for old, new in pairwise(VERSIONS):
        before, after = ({"app.toml": file(app(v)), "notes.md": file("# Notes\n")} for v in (old, new))
        step = edit("app.toml", app(old), app(new))
        made = record(step, task_id=f"to-{new}", task_description=f"Release {new}", workspace=before, post_workspace=after)
        out.append(evidence_from_record(made, "x"))
    return out


def judged(body: str, sandbox: Sandbox, decisions: tuple[Decision, ...] = ()) -> Report:
    bindings = {f"to-{v}": Binding(f"to-{v}", {"version": v}) for v in VERSIONS[1:]}
    options = Options(
        budget="fast", checks=frozenset({"effect-equivalent", "generalises"}), stop_early=False, decisions=decisions
    )
    return verify(parse_subject(HEAD + body, "s.py"), releases(), bindings, sandbox=sandbox, options=options)


@pytest.mark.engine
def test_a_replacement_that_reaches_too_far_is_asked_about(sandbox: Sandbox) -> None:
    """In another file or line, and in a longer number: one question each, in words that say what was recorded."""
    report = judged(BLIND, sandbox)
    asked = {q.invariant: q for q in report.questions}
    assert set(asked) == {"replaced-value-elsewhere", "replaced-value-in-words"}
    assert report.verdict is Verdict.PASS, report.why
    for question in asked.values():
        assert "As it was recorded: " in question.message
        assert question.commands.tree != question.skill.tree


@pytest.mark.engine
def test_one_that_knows_its_place_is_not(sandbox: Sandbox) -> None:
    """The key alone is changed: nothing is asked."""
    report = judged(FIRM, sandbox)
    assert (report.verdict, report.questions) == (Verdict.PASS, ())


@pytest.mark.engine
@pytest.mark.parametrize(("says", "wanted"), [("commands", Verdict.FAIL), ("skill", Verdict.PASS)])
def test_an_answer_decides(sandbox: Sandbox, says: Says, wanted: Verdict) -> None:
    """From then on it is evidence, and nobody is asked again."""
    first = judged(BLIND, sandbox)
    decided = tuple(Decision(q, says) for q in first.questions)
    report = judged(BLIND, sandbox, decided)
    assert (report.verdict, report.questions) == (wanted, ())


def case(before: dict[str, str], after: dict[str, str], **args: str) -> Case:
    """A recorded case without commands."""
    base, tree = (Snapshot({p: Entry("file", 0o644, text.encode()) for p, text in side.items()}) for side in (before, after))
    return Case("recorded", dict(args), Expectation(base, tree, frozenset(), "", True, (), ()), "t")


@pytest.mark.parametrize(
    ("old", "new", "value", "found"),
    [
        ('version = "1.2.0"\n', 'version = "1.3.0"\n', "1.3.0", "1.2.0"),
        ("pip install app==1.2.0 # 2024\n", "pip install app==1.3.0 # 2025\n", "1.3.0", "1.2.0"),
        ("tag: v1.2.0\n", "tag: v1.3.0\n", "1.3.0", "1.2.0"),
        ("app-1.2.0.tar.gz\n", "app-1.3.0.tar.gz\n", "1.3.0", "1.2.0"),
        ("a\n", "a\nb 1.3.0\n", "1.3.0", ""),
        ("mode: slow\n", "mode: fast\n", "1.3.0", ""),
        ("k = 1\n", "k = 2\n", "2", ""),
    ],
)
def test_what_was_replaced(old: str, new: str, value: str, found: str) -> None:
    """A word in whose place the argument stands; not what was only added, nor what is too short to mean anything."""
    assert {r.old for r in replaced(case({"f": old}, {"f": new}, it=value))} == ({found} if found else set())


WORDS = st.lists(st.from_regex(r"[a-z]{3,6}", fullmatch=True), min_size=1, max_size=6)


@given(WORDS, WORDS, st.text(max_size=10))
def test_any_two_texts(one: list[str], other: list[str], value: str) -> None:
    """What is replaced stands in the start's line, and the value in the end."""
    before, after = (" ".join(words) + "\n" for words in (one, other))
    for r in replaced(case({"f": before}, {"f": after}, it=value)):
        assert isinstance(r, Replaced)
        assert r.old in r.line
        assert r.line in before
        assert value in after
    assert "".join(o for o, _ in changed_blocks(before.encode(), after.encode())) in (before, "")

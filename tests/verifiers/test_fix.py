"""Fixing: what is applied, what is left alone, and that no fix changes what a skill does."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.conventions import RULES, findings
from verifiers.interface import Profile
from verifiers.source.fix import fix_source
from verifiers.source.samecode import same_code
from verifiers.subject import parse_subject

SLOPPY = '''
import os
from agent.skills.decorators import Query, skill_command


@skill_command(retries=3)
async def rename(
    old_ext: str = Query(..., description="extension to replace"),
    new_ext: str = Query("md", description="new extension"),
    dry=False,
):
    """Rename files.

    Args:
        dry: only count
    """
    count = 0  # type: ignore
    return {"ok": True, "changed": count}
'''


def test_everything_that_can_be_fixed_is() -> None:
    """One pass over a sloppy draft leaves nothing to say."""
    fixed = fix_source(SLOPPY)
    assert fixed.remaining == ()
    assert "from skill_api import Query, skill_command" in fixed.source
    assert "import os" not in fixed.source
    assert "@skill_command(autowire=True)" in fixed.source
    assert 'dry: bool = Query(False, description="only count")' in fixed.source
    assert "-> dict[str, object]:" in fixed.source
    assert "        old_ext: Extension to replace.\n" in fixed.source
    assert "Returns:\n        A dict with ``ok``, ``changed``.\n" in fixed.source
    assert "type: ignore" not in fixed.source
    assert [a.partition(":")[0] for a in fixed.applied if "ruff" in a] == ["ruff-clean"]


def test_what_a_person_must_decide_remains() -> None:
    """Missing descriptions and a missing summary are reported, not invented."""
    source = "from skill_api import skill_command\n\n\n@skill_command(autowire=True)\ndef f(a: str) -> None:\n    return None\n"
    fixed = fix_source(source)
    assert fixed.source == source
    assert {f.rule for f in fixed.remaining} == {"conventions-described", "conventions-docstring"}


def test_omni_query_becomes_default_and_bullet() -> None:
    """A seed skill taken to the omni profile gets the real import, plain defaults and bullets."""
    source = '''
from skill_api import Query, skill_command


@skill_command(autowire=True)
async def rename(
    new_ext: str = Query("md", description="New extension"),
    old_ext: str = Query(..., description="Extension to replace"),
) -> dict[str, object]:
    """Rename files."""
    return {"ok": True}
'''
    fixed = fix_source(source, "omni")
    tree = ast.parse(fixed.source)
    function = next(n for n in tree.body if isinstance(n, ast.AsyncFunctionDef))
    assert [a.arg for a in function.args.kwonlyargs] == ["new_ext", "old_ext"]
    assert "from omni.foundation.api.decorators import skill_command" in fixed.source
    assert "Query" not in fixed.source
    assert '- new_ext: str = "md" - New extension' in fixed.source
    assert [f for f in fixed.remaining if f.severity == "error"] == []
    assert parse_subject(fixed.source, "s.py", "omni").parameters[1].description == "Extension to replace"


@pytest.mark.parametrize("source", ["def f(:", "", "x = 1\n", "'\ud800'"])
def test_other_texts_come_back_unchanged(source: str) -> None:
    """What does not parse, or is no skill, is left alone."""
    assert fix_source(source).source == source


def test_fixes_of_ruff_that_change_code_are_not_applied() -> None:
    """ruff's fix for an f-string without placeholders rewrites the body: offered as a finding, not applied."""
    source = RULES[0].good[0].source.replace("Path(file).touch()", 'Path(f"a").touch()\n    Path(file).touch()')
    fixed = fix_source(source)
    assert fixed.source == source
    assert [f.rule for f in fixed.remaining] == ["F541"]


def test_same_code_sees_through_layout_only() -> None:
    """Comments, docstrings and annotations may differ, code may not."""
    assert same_code("def f(a):\n    return a", 'def f(a: int) -> int:\n    """Doc."""\n    return (a)  # same')
    assert not same_code("def f(a):\n    return a", "def f(a):\n    return a + 1")
    assert not same_code("def f(a):\n    return a", "def f(:")


words = st.sampled_from(
    ["old extension", "the path", 'a "quoted" word', "back\\slash", "Zürich", 'ends with "', "percent % {brace}"]
)
defaults = st.sampled_from(["", " = 3", ' = "md"', " = None", " = True"])
bodies = st.sampled_from([
    'return {"ok": True, "changed": 1}',
    'if a:\n        return {"ok": False, "error": "x"}\n    return {"ok": True}',
    "return 1",
    "raise ValueError(a)",
    'try:\n        return {"a": a}\n    finally:\n        print(a)',
    'for x in str(a):\n        return {"x": x}',
])  # fmt: skip


@st.composite
def drafts(draw: st.DrawFn) -> str:
    """Skill files in every state of neglect."""
    module = draw(st.sampled_from(["skill_api", "agent.skills.decorators", "omni.core.skills.script_loader", "elsewhere"]))
    decorator = draw(
        st.sampled_from(
            [
                "",
                "()",
                "(autowire=True)",
                "(autowire=True, retries=3,)",
                '(name="f", cache=1)',
                "(\n    autowire=True,\n    x=1,\n)",
            ]
        )
    )
    kind = draw(st.sampled_from([": str", "", ": int"]))
    texts = [draw(words) for _ in range(3)]
    query = draw(
        st.sampled_from(
            ["{d}", " = Query(..., description={t!r})", " = Query({v}, description={t!r})", ' = Query(..., description="")']
        )
    )
    default = draw(defaults)
    params = [
        f"{n}{kind}" + query.format(d=default, t=t, v=default.removeprefix(" = ") or "...")
        for n, t in zip("abc", texts, strict=True)
    ]
    layout = ", ".join(params) if draw(st.booleans()) else "\n    " + ",\n    ".join(params) + ",\n"
    notes = "".join(f"        {n}: {t}\n" for n, t in zip("abc", texts, strict=True) if draw(st.booleans()))
    notes = notes.replace("\\", "\\\\").replace('"', '\\"')
    doc = draw(
        st.sampled_from(
            [
                "",
                '    """Do it."""\n',
                "    '''Do it.\n\n    Longer.\n    '''\n",
                f'    """Do it.\n\n    Args:\n{notes}    """\n',
                '    """"""\n',
            ]
        )
    )
    returns = draw(st.sampled_from(["", " -> dict[str, object]"]))
    future = draw(st.sampled_from(["", "from __future__ import annotations\n", "import os  # noqa\n"]))
    head = f"{future}from {module} import Query, skill_command\n\n\n@skill_command{decorator}\n"
    return f"{head}def f({layout}){returns}:\n{doc}    {draw(bodies)}\n"


@settings(deadline=None, max_examples=60)
@given(drafts(), st.sampled_from(["seed", "omni"]))
def test_fixing_is_safe_and_idempotent(source: str, profile: Profile) -> None:
    """Whatever the draft: the result parses, the code is the same, and fixing it again does nothing."""
    fixed = fix_source(source, profile, linter=False)
    assert fixed.source == source or same_code(source, fixed.source)
    assert fix_source(fixed.source, profile, linter=False).source == fixed.source
    assert [f for f in fixed.remaining if f.fix is not None and f.fix.safe] == []


@settings(deadline=None, max_examples=60)
@given(drafts(), st.sampled_from(["seed", "omni"]))
def test_no_draft_breaks_a_rule(source: str, profile: Profile) -> None:
    """Every finding has a line of the file, and every offered fix parses."""
    for finding in findings(parse_subject(source, "s.py", profile)):
        assert 1 <= finding.line <= len(source.splitlines())
        if finding.fix is not None:
            compile(finding.fix.replacement, "s.py", "exec", dont_inherit=True)

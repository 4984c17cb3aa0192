"""Other names for a draft: code, bindings and text along, and nothing else."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from synth.draft import read_draft
from synth.interface import Draft
from synth.renaming import RenameError, renamed
from verifiers.interface import Verdict
from verifiers.source.static import run_static
from verifiers.subject import parse_subject

SKILLS = Path(__file__).parents[2] / "fixtures" / "skills"


@pytest.fixture
def draft() -> Draft:
    return read_draft(SKILLS / "rename_ext")


def test_names_change_everywhere(draft: Draft) -> None:
    """Signature, body, docstring, message, bindings and SKILL.md; the rest of the code is the same tree."""
    other = renamed(draft, "change_suffix", {"old_ext": "before", "new_ext": "after"})
    subject = parse_subject(other.source, "skill.py")
    assert (other.name, subject.name) == ("change_suffix", "change_suffix")
    assert [p.name for p in subject.parameters] == ["before", "after"]
    assert [p.description for p in subject.parameters] == [
        p.description for p in parse_subject(draft.source, "skill.py").parameters
    ]
    assert "old_ext" not in other.source
    assert "before and after must not be empty" in other.source
    assert all(set(args) == {"before", "after"} for args in other.bindings.values())
    assert {t: list(a.values()) for t, a in other.bindings.items()} == {t: list(a.values()) for t, a in draft.bindings.items()}
    assert "old_ext" not in other.skill_md
    (results,) = run_static([subject])
    assert all(r.verdict is Verdict.PASS for r in results), [r.why for r in results]
    again = renamed(other, draft.name, {"before": "old_ext", "after": "new_ext"})
    assert ast.dump(ast.parse(again.source)) == ast.dump(ast.parse(draft.source))
    assert again.bindings == draft.bindings


@pytest.mark.parametrize("skill", sorted(p.name for p in SKILLS.iterdir() if (p / "skill.py").is_file()))
def test_there_and_back_is_the_same(skill: str) -> None:
    """Whatever the code: renaming twice gives the text back."""
    draft = read_draft(SKILLS / skill)
    names = [p.name for p in parse_subject(draft.source, "skill.py").parameters]
    there = renamed(draft, "quite_another_name", {n: f"zz_{n}" for n in names})
    back = renamed(there, draft.name, {f"zz_{n}": n for n in names})
    assert back.source == draft.source
    assert back.bindings == draft.bindings


def test_words_of_others_stay(draft: Draft) -> None:
    """Attributes, keywords of called functions, helpers' own variables and other strings are not the parameter."""
    source = draft.source.replace(
        "    changed = 0\n", '    changed = 0\n    word = dict(old_ext=old_ext, x="old_ext").get("old_ext")\n', 1
    ).replace("    source.rename(target)\n", "    old_ext = source\n    old_ext.rename(target)\n")
    other = renamed(replace(draft, source=source), parameters={"old_ext": "before"})
    assert 'dict(old_ext=before, x="old_ext").get("old_ext")' in other.source
    assert "    old_ext = source\n    old_ext.rename(target)\n" in other.source


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        (None, {"nope": "x"}, "there is no parameter 'nope'"),
        (None, {"old_ext": "class"}, "'class' cannot be a name"),
        (None, {"old_ext": "new_ext"}, "'new_ext' cannot be a name"),
        (None, {"old_ext": "changed"}, "'changed' cannot be a name"),
        ("Not-a-name", {}, "cannot be a name"),
        (None, {"old_ext": "x", "new_ext": "x"}, "'x' cannot be a name"),
    ],
)
def test_names_that_cannot_be_given(draft: Draft, name: str | None, parameters: dict[str, str], says: str) -> None:
    """Unknown, reserved, taken or malformed: one sentence, nothing changed."""
    with pytest.raises(RenameError, match=says):
        renamed(draft, name, parameters)


def test_other_words_change_nothing_else(draft: Draft) -> None:
    """In docstring, signature and SKILL.md; the names stay, and the checks of the text pass."""
    was = parse_subject(draft.source, "skill.py")
    other = renamed(draft, described={"": "Give files another ending.", "old_ext": "The ending to replace, without its dot"})
    now = parse_subject(other.source, "skill.py")
    assert now.description == "Give files another ending."
    assert [p.description for p in now.parameters] == ["The ending to replace, without its dot", was.parameters[1].description]
    assert was.parameters[0].description not in other.source + other.skill_md
    assert [p.name for p in now.parameters] == [p.name for p in was.parameters]
    assert other.bindings == draft.bindings
    (results,) = run_static([now])
    assert all(r.verdict is Verdict.PASS for r in results), [r.why for r in results]


def test_the_document_says_it_in_other_words_too(draft: Draft) -> None:
    """SKILL.md writes a description in a manual's way: placeholders in capitals, quoted in the front matter, begun small."""
    was = "Give *.<old_ext>: -> another ending <new_ext>"
    source = draft.source.replace("Rename every file with one extension to another", was)
    shown = "give \\*.OLD_EXT: -> another ending NEW_EXT"
    text = draft.skill_md.replace(
        "description: Rename every file with one extension to another",
        "description: 'give *.OLD_EXT: → another ending NEW_EXT'",
    ).replace("\nRename every file with one extension to another\n", f"\n{shown}\n\nNot this: {shown}, or that.\n")
    assert text.count(shown) == 2
    other = renamed(
        replace(draft, source=source, skill_md=text), None, {"old_ext": "before"}, {"": "Change <old_ext>: to <new_ext>"}
    )
    assert "description: 'Change BEFORE: to NEW_EXT'\n" in other.skill_md
    assert "\n\nChange BEFORE: to NEW_EXT\n\nNot this: give \\*.BEFORE" in other.skill_md
    assert parse_subject(other.source, "skill.py").description == "Change <before>: to <new_ext>"
    assert "| Extension to replace, without the dot |" in other.skill_md


def test_a_document_that_said_something_else_says_the_new_words(draft: Draft) -> None:
    """A model's summary is not its docstring: the front matter tells what SKILL.md calls the description."""
    was = "Rename every file with one extension to another"
    text = draft.skill_md.replace(was, "Gives files a new ending")
    other = renamed(replace(draft, skill_md=text), described={"": "Change endings"})
    assert "description: Change endings\n" in other.skill_md
    assert "\n\nChange endings\n\n" in other.skill_md
    assert "Gives files" not in other.skill_md
    folded = text.replace("description: Gives files a new ending", "description: Gives files\n  a new ending")
    assert (
        "description: Gives files\n  a new ending\n"
        in renamed(replace(draft, skill_md=folded), described={"": "Change endings"}).skill_md
    )
    named = renamed(replace(draft, skill_md=text), described={"old_ext": "The ending"})
    assert "description: Gives files a new ending\n" in named.skill_md


def test_the_same_words_in_the_code_stay(draft: Draft) -> None:
    """A description of one word may stand in a text that the code compares with."""
    was = parse_subject(draft.source, "skill.py").parameters[0].description
    source = draft.source.replace(was, "Ending").replace("    changed = 0\n", '    changed = 0\n    word = "Ending"\n', 1)
    other = renamed(replace(draft, source=source), described={"old_ext": "What names end in"})
    assert '    word = "Ending"\n' in other.source
    assert parse_subject(other.source, "skill.py").parameters[0].description == "What names end in"
    assert "Ending" not in other.source.replace('word = "Ending"', "")


@pytest.mark.parametrize("text", ["", " ", 'a "quote"', "two\nlines", "a {brace}", "back\\slash", "x" * 201])
def test_words_that_cannot_be_given(draft: Draft, text: str) -> None:
    """They would end the literal that they stand in, or say nothing."""
    with pytest.raises(RenameError, match="cannot be a description"):
        renamed(draft, described={"old_ext": text})
    with pytest.raises(RenameError, match="there is no parameter 'nope'"):
        renamed(draft, described={"nope": "A text"})

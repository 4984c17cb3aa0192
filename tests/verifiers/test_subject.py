"""Reading a skill file: parameters, defaults, descriptions, hints, and everything that can be wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.interface import SkillFileError
from verifiers.subject import ParseProblem, load_subject, parse_module, parse_subject

SEED = '''
from skill_api import Query, skill_command

@skill_command(autowire=True, read_only=True, idempotent=False)
async def count(
    ext: str = Query(..., description="suffix without the dot"),
    limit: int = Query(10, description="how many"),
    names: list[str] = Query(default=["a"], description="which"),
    plain: bool = False,
    keyword: str = Query(description="must be given"),
) -> dict[str, object]:
    """Count the lines of files.

    Args:
        plain: no colours
            at all.

    Returns:
        The number.
    """
    return {"output": "0"}
'''

OMNI = '''
from omni.foundation.api.decorators import skill_command

@skill_command(
    name="rename",
    description="""
    Rename files of a directory.

    Args:
        - old_ext: str - Old extension (required)
        - new_ext: str = "md" - New extension

    Returns:
        JSON.
    """,
    destructive=True,
)
def rename_files(old_ext: str, new_ext: str = "md", depth: int = -1) -> str:
    return "{}"
'''


def test_seed_parameters_come_from_query() -> None:
    """Description, default and requiredness of a seed skill are those of its Query calls."""
    subject = parse_subject(SEED, "drafts/count.py")
    assert [(p.name, p.annotation, p.required, p.default) for p in subject.parameters] == [
        ("ext", "str", True, None),
        ("limit", "int", False, 10),
        ("names", "list[str]", False, ["a"]),
        ("plain", "bool", False, False),
        ("keyword", "str", True, None),
    ]
    assert subject.parameters[0].description == "suffix without the dot"
    assert subject.parameters[3].description == "no colours at all."
    assert (subject.name, subject.description, subject.path) == ("count", "Count the lines of files.", "drafts/count.py")
    assert subject.hints == {"read_only": True, "idempotent": False}
    assert subject.parameters[1].line == 7


def test_omni_parameters_come_from_the_decorator_text() -> None:
    """The bullets of the decorator's description describe an omni skill's parameters."""
    subject = parse_subject(OMNI, "x.py", profile="omni")
    assert [(p.name, p.required, p.default, p.description) for p in subject.parameters] == [
        ("old_ext", True, None, "Old extension (required)"),
        ("new_ext", False, "md", "New extension"),
        ("depth", False, -1, ""),
    ]
    assert subject.description == "Rename files of a directory."
    assert subject.hints == {"destructive": True}


def test_alias_and_bare_decorators_are_found() -> None:
    """The decorator counts under an alias, as an attribute and without parentheses."""
    for head in (
        "from skill_api import skill_command as sc\n@sc()",
        "import skill_api\n@skill_api.skill_command",
        "from skill_api import skill_command\n@skill_command",
    ):
        assert parse_subject(f"{head}\ndef f(a: int): ...", "x.py").name == "f"


def test_query_is_found_under_an_alias() -> None:
    """So does the parameter's Query."""
    source = 'from skill_api import Query as Q, skill_command\n@skill_command()\ndef f(a: str = Q("x", description="words")): ...'
    (parameter,) = parse_subject(source, "x.py").parameters
    assert (parameter.description, parameter.default, parameter.required) == ("words", "x", False)


def test_public_function_is_preferred() -> None:
    """A private decorated function does not hide the public one."""
    source = "@skill_command()\ndef _a(): ...\n@skill_command()\ndef b(x: int): ...\ndef c(): ..."
    assert parse_subject(source, "x.py").name == "b"


@pytest.mark.parametrize("source", ["def f(:", "x = (", "", "def f(): ...", "\x00", "return 1", "'\ud800'", "(" * 400])
def test_text_without_a_skill_is_still_a_subject(source: str) -> None:
    """What does not parse, or has no skill function, gives a Subject named after the file."""
    subject = parse_subject(source, "drafts/stem.py")
    assert (subject.name, subject.parameters) == ("stem", ())


def test_name_can_be_given() -> None:
    """The caller's name wins over the function's."""
    assert parse_subject(SEED, "x.py", name="other").name == "other"


def test_parse_problem_says_where() -> None:
    """A syntax error keeps its line and message."""
    problem = parse_module("x = 1\ny = = 2\n")
    assert isinstance(problem, ParseProblem)
    assert (problem.line, problem.message) == (2, "invalid syntax")


def test_load_reads_crlf_and_bom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows line ends and a byte order mark do not change the text; the path is shown relative."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "sub" / "s.py"
    file.parent.mkdir()
    file.write_bytes(b"\xef\xbb\xbf" + SEED.replace("\n", "\r\n").encode())
    subject = load_subject(file)
    assert subject.source == SEED
    assert subject.path == "sub/s.py"


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "cannot be read"), (b"\xff\xfe\x00", "not UTF-8"), (b"a\0b", "NUL"), (b"#" * (1 << 20) + b"##", "larger")],
)
def test_unreadable_files_are_errors(tmp_path: Path, content: bytes | None, says: str) -> None:
    """Missing, binary and huge files raise, with the path and advice."""
    file = tmp_path / "s.py"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SkillFileError, match=says) as caught:
        load_subject(file)
    assert str(file) in caught.value.diagnostics()


def test_directory_is_an_error(tmp_path: Path) -> None:
    """A directory is no skill file."""
    with pytest.raises(SkillFileError, match="directory"):
        load_subject(tmp_path)


@given(st.text())
def test_any_text_gives_a_subject(source: str) -> None:
    """No text makes parsing raise."""
    assert parse_subject(source, "x.py").source == source


@given(st.text(alphabet="@skill_command()\n def f:=Query.,*[]{}\"'#", max_size=200))
def test_python_like_text_gives_a_subject(source: str) -> None:
    """Neither does text that looks like Python."""
    parse_subject(SEED + source, "x.py")

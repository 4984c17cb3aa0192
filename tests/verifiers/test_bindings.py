"""Bindings: the file, and the rule that values come from the trace."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, JsonValue, Snapshot
from verifiers.binding.argtypes import fits
from verifiers.binding.bindings import bindings_from_json, bindings_to_json, load_bindings, validate_binding
from verifiers.interface import Binding, BindingError, Evidence, Parameter, Subject


def evidence(*commands: str, description: str = "", base: dict[str, str] | None = None, printed: str = "") -> Evidence:
    snapshot = Snapshot({path: Entry("file", content=text.encode()) for path, text in (base or {}).items()})
    return Evidence("t1", description, commands, (printed,) * len(commands), None, None, snapshot, None, True)


def subject(**annotations: str) -> Subject:
    parameters = tuple(Parameter(name, a, "", True, line=3 + i) for i, (name, a) in enumerate(annotations.items()))
    return Subject("skill", "d/skill.py", "", parameters)


def messages(skill: Subject, trace: Evidence, **args: JsonValue) -> list[str]:
    return [f.message for f in validate_binding(skill, trace, Binding("t1", args))]


RENAME = evidence('for f in *.txt; do mv "$f" "${f%.txt}.md"; done', description="txt to md", printed="renamed 4 files")


@pytest.mark.parametrize(
    ("trace", "value", "annotation"),
    [
        (RENAME, "txt", "str"),
        (evidence("mkdir $(seq -f 'week%03g' 5)"), 3, "int"),
        (evidence("mkdir $(seq -f 'week%03g' 5)"), 5, "int"),
        (evidence("touch f{1..7}"), 7, "int"),
        (evidence("touch a{x,y}.log"), "ay.log", "str"),
        (evidence("chmod 0755 x"), "755", "str"),
        (evidence("sleep 0.5"), 0.5, "float"),
        (evidence("sed 's/a\\/b/c/' f"), "a/b", "str"),
        (evidence("printf 'one\\ntwo\\n' > f"), "one\ntwo", "str"),
        (evidence("cd src", "cat main.c"), "src/main.c", "str"),
        (evidence("ls", base={"my notes.txt": "x"}), "my notes.txt", "str"),
        (evidence("ls", base={"f": "key = value"}), "value", "str"),
        (evidence("ls", description="put it in Backup/"), "Backup", "str"),
        (evidence("ls -R"), True, "bool"),
        (evidence("find . -type f -delete"), "*", "str"),
        (evidence("rm a b"), ["a", "b"], "list[str]"),
        (evidence("cp -r docs/ x"), "./docs/", "str"),
        (evidence("NAME=report; cp a.txt ${NAME}.bak"), "report.bak", "str"),
        (evidence("D='my dir'", 'mkdir "$D/sub"'), "my dir/sub", "str"),
        (evidence("echo Hello, world > f"), "Hello, world", "str"),
    ],
)
def test_values_of_the_trace_are_accepted(trace: Evidence, value: JsonValue, annotation: str) -> None:
    """Words, parts of words, padded numbers, brace items, description and base."""
    assert messages(subject(x=annotation), trace, x=value) == []


@pytest.mark.parametrize(
    ("trace", "value", "annotation", "part"),
    [
        (RENAME, "renamed 4 files", "str", "only in what the trace printed"),
        (RENAME, 4, "int", "only in what the trace printed"),
        (RENAME, "pdf", "str", "does not occur"),
        (RENAME, RENAME.commands[0], "str", "whole command"),
        (RENAME, 'mv "$f"  "${f%.txt}.md"', "str", "whole command"),
        (evidence("bash -c 'rm -f a.txt'"), "rm -f a.txt", "str", "whole command"),
        (evidence("cp a b"), "set -e\ncp a b\nexit 0", "str", "whole command"),
        (RENAME, ["txt", "pdf"], "list[str]", '"pdf" does not occur'),
        (RENAME, {"pdf": "txt"}, "dict[str, str]", '"pdf" does not occur'),
        (evidence("find . -name '*.o' -delete"), "-name *.o -delete", "str", "does not occur"),
        (evidence("rm -rf a b; cp a b"), "a b", "list[str]", "a string"),
        (evidence("ls 3"), True, "int", "a boolean"),
        (evidence("ls 3"), "3", "int", "a string"),
    ],
)
def test_other_values_are_findings(trace: Evidence, value: JsonValue, annotation: str, part: str) -> None:
    """An answer, a script, an invention or another type is named with its reason."""
    (message,) = messages(subject(x=annotation), trace, x=value)
    assert part in message
    assert message.startswith("trace t1: argument x")


def test_end_state_is_not_a_source() -> None:
    """A value that only the result holds is refused."""
    trace = Evidence("t1", "", ("make",), ("",), None, None, Snapshot(), Snapshot({"out": Entry("file", content=b"42nd")}), True)
    assert "left behind" in messages(subject(x="str"), trace, x="42nd")[0]


def test_a_word_of_the_skills_statements_only_chooses() -> None:
    """What the code holds, a binding cannot carry into it; a docstring is no code, and a script no word."""
    parameters = (Parameter("side", "str", "", True),)
    code = "def f(side):\n    'ours or both'\n    return 1 if side == 'theirs' else 'rm -f a.txt'\n"
    skill = Subject("f", "s.py", code, parameters)
    assert messages(skill, RENAME, side="theirs") == []
    for value in ("ours", "both", "rm -f a.txt"):
        assert "does not occur" in messages(skill, RENAME, side=value)[0]
    printed = replace(RENAME, outputs=("it was theirs\n",))
    assert "only in what the trace printed" in messages(skill, printed, side="theirs")[0]


def test_default_values_need_no_source() -> None:
    """A default that the binding repeats says nothing about the trace."""
    skill = Subject("s", "s.py", "", (Parameter("mode", "str", "", False, "strict"),))
    assert messages(skill, RENAME, mode="strict") == []
    assert messages(skill, RENAME) == []
    assert "does not occur" in messages(skill, RENAME, mode="loose")[0]


def test_renamed_parameter_is_named() -> None:
    """A developer who renamed a parameter reads both names, at the parameter's line."""
    old = Binding("t1", {"old_ext": "txt", "new_ext": "md"})
    (found,) = validate_binding(subject(source_ext="str", new_ext="str"), RENAME, old)
    assert "old_ext" in found.message
    assert "source_ext" in found.message
    assert (found.path, found.line) == ("d/skill.py", 3)


def test_two_renamed_parameters_pair_by_likeness() -> None:
    """With several renamed, the alike names go together."""
    skill = subject(source_extension="str", target_dir="str")
    text = " ".join(messages(skill, RENAME, target_directory="md", source_ext="txt"))
    assert "names source_ext, the skill calls it source_extension" in text
    assert "names target_directory, the skill calls it target_dir" in text


def test_unknown_and_missing_parameters() -> None:
    """Names that do not match at all are two findings."""
    text = messages(subject(alpha="str", beta="str"), RENAME, zzz="txt", qqq="md", beta="md")
    assert len(text) == 3
    assert any("no parameter zzz" in t for t in text)
    assert any("alpha has no value" in t for t in text)


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        ("str | None", [None, "a"], [1]),
        ("Optional[int]", [None, 1], ["1", True]),
        ("Literal['a', 1]", ["a", 1], ["b", True]),
        ("Annotated[str, 3]", ["a"], [1]),
        ("list[int]", [[1], []], ["a", [True], [1, "a"]]),
        ("dict[str, int]", [{"a": 1}], [{"a": "b"}, []]),
        ("float", [1, 1.5], [True, "1"]),
        ("Union[str, list[str]]", ["a", ["a"]], [1]),
        ("Path", ["a"], [1]),
        ("'str'", ["a"], [1]),
        ("Something[else]", [1, "a", None], []),
        ("not an (annotation", [1], []),
    ],
)
def test_types(annotation: str, good: list[JsonValue], bad: list[JsonValue]) -> None:
    """Annotations are read as Python reads them; unknown ones accept anything."""
    assert all(fits(annotation, v) for v in good)
    assert not any(fits(annotation, v) for v in bad)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[1]", "expected an object of task_ids, got a list"),
        ('{"t": 3}', "'t': expected an object"),
        ('{"t": {"argz": {}}}', "unknown key 'argz'"),
        ('{"t": {"args": null}}', "args is null"),
        ('{"t": {"args": {"x": NaN}}}', "'x' is not a finite number"),
        ('{"t": {"args": {', ":1:17: is not JSON"),
        ("[" * 100000, "nested too deeply"),
    ],
)
def test_bad_files_are_one_clear_error(tmp_path: Path, text: str, part: str) -> None:
    """The error says where and what."""
    file = tmp_path / "bindings.json"
    file.write_text(text)
    with pytest.raises(BindingError) as caught:
        load_bindings(file)
    assert part in caught.value.diagnostics()
    assert str(file) in caught.value.diagnostics()


def test_missing_and_binary_files(tmp_path: Path) -> None:
    """A file that is not there, or is not text, is a BindingError too."""
    with pytest.raises(BindingError, match="No such file"):
        load_bindings(tmp_path / "none.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(BindingError, match="UTF-8"):
        load_bindings(tmp_path / "b.json")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1), st.dictionaries(st.text(), values, max_size=3), max_size=3))
def test_round_trip(args: dict[str, dict[str, JsonValue]]) -> None:
    """What is written is read back."""
    bindings = {task: Binding(task, a) for task, a in args.items()}
    assert bindings_from_json(json.loads(json.dumps(bindings_to_json(bindings)))) == bindings


@given(values)
def test_any_json_is_read_or_refused(data: JsonValue) -> None:
    """Foreign JSON gives bindings or a BindingError, nothing else."""
    with contextlib.suppress(BindingError):
        assert set(bindings_from_json(data)) <= set(data if isinstance(data, dict) else ())


@given(values)
def test_any_value_is_judged(value: JsonValue) -> None:
    """Any JSON value can be validated; what the trace does not hold never passes as a string."""
    found = messages(subject(x="object"), RENAME, x=value)
    if isinstance(value, str) and len(value) > len(RENAME.commands[0]):
        assert found

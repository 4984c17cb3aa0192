"""What a returned value claims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import JsonValue, NoReturn, Raised, Returned
from verifiers.expectation.answers import answer_at, answer_path, answer_text, failure, refuses, resembles, same_answer

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(["output", "ok", "value", "x"]), v, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        ({"ok": True, "changed": 0}, None, None),
        ({"ok": True, "output": "5"}, "output", "5"),
        ({"value": 3, "output": 4}, "output", "4"),
        ({"result": ["a", "b"]}, "result", "a\nb"),
        ({"output": True}, None, None),
        ({"output": [1, 2]}, None, None),
        ("text", "$", "text"),
        (7, "$", "7"),
        (True, None, None),
        (["a"], "$", "a"),
        (None, None, None),
    ],
)
def test_an_answer_is_at_one_place(value: JsonValue, path: str | None, text: str | None) -> None:
    """Only the named keys and whole values are claims; booleans are never numbers."""
    assert answer_path(value) == path
    if path is not None:
        assert answer_at(value, path) == text


@given(json_values)
def test_any_value_can_be_asked(value: JsonValue) -> None:
    """No JSON value is an error, and a path that is found holds a text."""
    path = answer_path(value)
    assert path is None or answer_at(value, path) is not None
    assert answer_text(True) is None


@pytest.mark.parametrize(
    ("outcome", "fails"),
    [
        (Raised("ValueError", "x"), True), (NoReturn("exited 0 without a return value"), True), (Returned({"ok": False}), True),
        (Returned({"success": False}), True), (Returned({"status": "error"}), True), (Returned({"error": "disk full"}), True),
        (Returned({"error": ""}), False), (Returned({"ok": True}), False), (Returned(None), False), (Returned("error"), False),
    ],
)  # fmt: skip
def test_failure_is_raised_or_returned(outcome: Raised | NoReturn | Returned, fails: bool) -> None:
    """Anything that does not report failure claims success."""
    assert (failure(outcome) is not None) == fails


def test_line_order_counts_unless_told() -> None:
    """Equal after stripping; as multisets of lines only where order does not count."""
    assert same_answer(" a\nb\n", "a\nb")
    assert not same_answer("a\nb", "b\na")
    assert same_answer("a\nb", "b\na", ordered=False)
    assert not same_answer("a\na\nb", "a\nb\nb", ordered=False)


@pytest.mark.parametrize(
    ("kind", "message", "at", "is_refusal"),
    [
        ("TypeError", "both files must hold an object", 'line 9: raise TypeError("both files must hold an object")', True),
        ("TypeError", "can only concatenate str", "line 4: x = f(a)\nline 9: total = name + 1", False),
        ("AttributeError", "'list' object has no attribute 'items'", "line 9: for k, v in data.items():", False),
        ("error", "missing ), unterminated subpattern at position 3", "line 9: re.sub(old, new, text)", False),
        ("ValueError", "invalid literal for int()", "line 9: int(text)", True),
        ("error", "bad length", "line 9: struct.unpack(form, data)", True),
    ],
)
def test_stumbling_is_no_refusal(kind: str, message: str, at: str, is_refusal: bool) -> None:
    """What only a mistake raises says nothing about the input, unless a ``raise`` of the skill's own says it."""
    assert refuses(Raised(kind, message, at, 9)) is is_refusal


@pytest.mark.parametrize(
    ("expected", "observed", "alike"),
    [
        ("a.txt\nb.txt\n", "a.txt", True),
        ("12\n", "13", True),
        ("4 files renamed", "3 files renamed", True),
        ("", "", True),
        ("a.txt\nb.txt\n", "2 files renamed", False),
        ("tolerance 1e-7;\nrelTol 0.1;\n", "1e-7", False),
        ("", "2 files renamed", False),
        ("12", "twelve", False),
    ],
)
def test_a_report_in_own_words_is_no_answer(expected: str, observed: str, alike: bool) -> None:
    """A line of it, a number for a number, most of its characters: else nobody meant it as this answer."""
    assert resembles(expected, observed) is alike


@given(st.text(max_size=30))
def test_an_answer_resembles_itself(text: str) -> None:
    assert resembles(text, text)

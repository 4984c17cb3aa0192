"""Branches hidden in expressions show as lines of their own."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.source.branches import watched


def run(source: str, *args: object) -> tuple[object, set[int]]:
    """The function's value and the lines that ran."""
    lines: set[int] = set()

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename == "copy":
            lines.add(frame.f_lineno)
            return trace
        return None

    space: dict[str, Any] = {}
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(compile(source, "copy", "exec"), space)
        value = space["f"](*args)
    finally:
        sys.settrace(before)
    return value, lines


_ACT = "def act(x):\n    exec('')\n    return x + 1\n"
HIDDEN = [
    (f"def f(x):\n    return [1 for _ in range(x) for _ in [act(x)]]\n{_ACT}", 0, 5),
    (f"def f(x):\n    return {{1: 2 for _ in range(x) for _ in [act(x)]}}\n{_ACT}", 0, 5),
    ("def f(x):\n    return x and act(x)\ndef act(x):\n    exec('')\n    return x + 1\n", 0, 5),
    ("def f(x):\n    return act(x) if x else 0\ndef act(x):\n    exec('')\n    return x + 1\n", 0, 5),
    ("def f(x):\n    g = lambda y: act(y)\n    return g(x) if x else 0\ndef act(x):\n    exec('')\n    return x + 1\n", 0, 5),
]


@pytest.mark.parametrize(("source", "quiet", "loud"), HIDDEN)
def test_a_hidden_branch_shows_whether_it_ran(source: str, quiet: int, loud: int) -> None:
    """The copy behaves as the skill does, and misses a line exactly when a branch did not run."""
    copy = watched(source)
    own: dict[str, Any] = {}
    exec(source, own)
    for argument, complete in ((quiet, False), (loud, True)):
        value, lines = run(copy.source, argument)
        assert value == own["f"](argument)
        assert all(s.ran(frozenset(lines)) for s in copy.statements if s.text.startswith(("act(", "[act("))) is complete


@pytest.mark.parametrize(
    ("body", "hidden"),
    [
        ("return list(iter(p.m, None)) if x else []", True),
        ("return list(iter(p)) if x else []", False),
        ("t = threading.Thread(target=p)\n    return t.start() if x else None", True),
    ],
)
def test_what_runs_what_it_was_given_is_watched(body: str, hidden: bool) -> None:
    """A sentinel's `iter` calls, and a thread starts; an iterator and a match do neither."""
    copy = watched(f"import threading\ndef f(p, x):\n    {body}\n")
    assert any("(a branch" in s.text and s.kind == "acts" for s in copy.statements) is hidden
    match = watched("import re\ndef f(p, x):\n    return re.match('a', p).start() if x else None\n")
    assert not any("(a branch" in s.text and s.kind == "acts" for s in match.statements)


@pytest.mark.parametrize(
    ("chosen", "hidden"),
    [
        ('shutil.which("gawk") or "awk"', False),
        ('shutil.which("gawk") or shutil.which("awk")', False),
        ('shutil.which("gtar") if x else "tar"', True),
        ('"gtar" if x else "tar"', True),
        ('shutil.which("gawk") or "sh"', True),
        ('"tar" if x else "rm"', True),
    ],
)
def test_one_program_may_have_several_names(chosen: str, hidden: bool) -> None:
    """Which of them a machine has decides nothing; another program does."""
    copy = watched(f"import shutil, subprocess\ndef f(x):\n    subprocess.run([{chosen}, x], check=True)\n")
    found = [s for s in copy.statements if "(a branch" in s.text and "holds something" not in s.text]
    assert bool(found) is hidden


@pytest.mark.parametrize(
    ("rest", "hidden"),
    [
        ("if data is None:\n        raise ValueError(x)", False),
        ("if not data:\n        raise ValueError(x)", False),
        ("if data is None:\n        p.unlink()", True),
        ("if x is None:\n        raise ValueError(x)", True),
        ("p.touch()\n    if data is None:\n        raise ValueError(x)", True),
    ],
)
def test_a_none_that_is_refused_at_once_is_no_branch(rest: str, hidden: bool) -> None:
    """Nothing else can come of it; of one that is looked at later, or by something else, it can."""
    body = f"data = p.read_text() if x else None\n    {rest}\n    p.write_text(str(data))"
    copy = watched(f"@skill_command\ndef f(p, x):\n    {body}\n    return data\n")
    assert any(s.text.startswith("None (a branch") for s in copy.statements) is hidden


def test_harmless_branches_are_not_watched() -> None:
    """Reading and computing in a branch is no place for a backdoor."""
    copy = watched(
        "@skill_command\ndef f(p, x):\n    text = p.read_text() if p.exists() else ''\n    return str(x) if x else text.strip()\n"
    )
    assert not any("branch of an expression" in s.text for s in copy.statements)


def test_own_functions_with_harmless_names_are_watched() -> None:
    """A skill that calls its own function ``sorted`` does not get away with the name."""
    copy = watched("def sorted(x):\n    return x\n@skill_command\ndef f(x):\n    return x and sorted(x)\n")
    assert not any("branch of an expression" in s.text for s in copy.statements)  # it only computes, whatever its name
    copy = watched("def sorted(x):\n    return exec(x)\ndef f(x):\n    return x and sorted(x)\n")
    assert any("branch of an expression" in s.text for s in copy.statements)


@given(st.sampled_from([s for s, _, _ in HIDDEN]), st.integers(-2, 2))
def test_the_copy_behaves_the_same(source: str, argument: int) -> None:
    """Marks change nothing that the skill returns."""
    own: dict[str, Any] = {}
    exec(source, own)
    assert run(watched(source).source, argument)[0] == own["f"](argument)

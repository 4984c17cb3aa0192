"""Shapes of commands: literals go, what a command does stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.detect.programs import program_shape
from synth.detect.shape import shape_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cp -r a b", "cp -r 'my dir' /x/y"),
        ('for f in *.a; do mv "$f" "${f%.a}.b"; done', 'for file in *.txt; do mv "$file" "${file%.txt}.md"; done'),
        ("find . -name '*.c' -print0 | xargs -0 cat | wc -l", 'find . -name "*.py" | xargs cat | wc -l'),
        ("find x -type f -name '*.a' -exec cat {} +", 'find y -name "*.b" -type f -exec cat {} \\;'),
        ("rename 's/^IMG_//' *.jpg", "rename 's/^123_//' *.txt"),
        ("sed -i 's/foo/bar/g' a", "sed -i 's/example.org/example.net/g' 'b c'"),
        ("mkdir -p a b c", "mkdir -p x"),
        ("grep 'TODO' a >> b", "grep FIXME c >> d"),
        ("head -n 5 a", "head -n 10 b"),
        ("jq -r '.\"a\"' f", "jq -r '.\"größe\"' g"),
        ("git commit -m 'one'", "git commit -m two"),
    ],
)
def test_literals_do_not_matter(one: str, other: str) -> None:
    """Two commands of one task have one skeleton."""
    assert shape_of(one).skeleton == shape_of(other).skeleton


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("awk -F, '{s+=$3} END{print s}' f", "awk -F, '$3>m{m=$3} END{print m}' f"),
        ("awk 'END{print NR}' f", "awk 'END{print NF}' f"),
        ("rename 's/^IMG_//' *", "rename 's/\\s+/_/g' *"),
        ("rename 's/a/b/' *", "rename 'y/A-Z/a-z/' *"),
        ("sed -i '/x/d' f", "sed -n '/x/p' f"),
        ("tr a-z A-Z", "tr A-Z a-z"),
        ("find . -type f", "find . -type d"),
        ("find . -name x -delete", "find . -name x"),
        ("sort -n f | head -1", "sort -n f | tail -1"),
        ("git add x", "git rm x"),
        ("tar czf a b", "tar xzf a b"),
        ("a > f", "a >> f"),
        ("python3 build.py x", "python3 clean.py x"),
        ("bash deploy.sh", "bash test.sh"),
        ("find . -exec rm {} +", "find . -exec cat {} +"),
    ],
)
def test_what_is_done_matters(one: str, other: str) -> None:
    """Sum and maximum, delete and print, upper and lower: not one task."""
    assert shape_of(one).skeleton != shape_of(other).skeleton


@pytest.mark.parametrize(
    ("command", "observes"),
    [
        ("ls -la | head", True),
        ("grep -r x . 2>/dev/null", True),
        ("cat a 2>&1", True),
        ("cat a > b", False),
        ("cat a | tee b", False),
        ("sed 's/a/b/' f", True),
        ("sed -i 's/a/b/' f", False),
        ("find . -name x", True),
        ("find . -name x -delete", False),
        ("find . -exec rm {} +", False),
        ("find . | xargs wc -l", True),
        ("find . | xargs rm", False),
        ("sudo rm x", False),
        ("git status", True),
        ("git commit -m x", False),
        ("tar tf a", True),
        ("tar xf a", False),
        ("sort f -o f", False),
        ("sqlite3 d 'select 1'", True),
        ("sqlite3 d 'insert into t values (1)'", False),
        ("some-unknown-tool", False),
        ("for f in *; do cat $f; done", True),
        ("for f in *; do rm $f; done", False),
        ("x=$(rm f)", False),
    ],
)
def test_observing_steps_are_told_from_working_ones(command: str, observes: bool) -> None:
    """A command that is not known to be harmless counts as work."""
    assert shape_of(command).observes is observes


def test_literals_and_names_are_listed() -> None:
    """What was taken out, and every command that runs, nested ones too."""
    shape = shape_of("find src -name '*.c' | xargs -0 wc -l > 'out file'")
    assert shape.names == ("find", "xargs", "wc")
    assert shape.literals == ("src", "*.c", "out file")


def test_cd_is_a_move() -> None:
    """Neither work nor observation: it goes along with what follows."""
    assert shape_of("cd 'a b'").moves
    assert not shape_of("cd a && ls").moves


@given(st.text())
def test_any_text_has_a_shape(text: str) -> None:
    """Foreign text never breaks the reader; the same text has the same shape."""
    assert shape_of(text) == shape_of(text)


@given(st.sampled_from(["sed", "awk", "jq", "tr", "grep", "rename", "sqlite3", "perl"]), st.text())
def test_any_program_has_a_shape(command: str, text: str) -> None:
    """Programs of any text."""
    assert isinstance(program_shape(command, text), str)

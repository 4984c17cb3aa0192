"""Values inside literals of other languages: the real programs read back what was put in."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.embedded.literals import arguments, escapes, literals
from verifiers.shell.parse import parse
from verifiers.shell.tree import Hole, Lit, ShellError, Simple, Word

TEXT = st.text(st.sampled_from("ab 01.*[]^$\\/&+?(){}|#,;'\"%@é"), min_size=1, max_size=10)


def written(language: str, before: str, value: str, after: str, extended: bool = False) -> str:
    """The program with the value in it, as a skill hands it over."""
    (way,) = escapes(language, Word((Lit(before), Hole(0), Lit(after))), extended)
    assert way is not None

    def _quoted(text: str, special: str) -> str:
        return "".join(f"\\{c}" if c in special else c for c in text)

    return before + str(eval(way.of("value"), {"value": value, "json": json, "_quoted": _quoted})) + after


def said(*argv: str, given: str = "") -> str:
    return subprocess.run(argv, input=given.encode(), capture_output=True, check=True).stdout.decode()


needed = pytest.mark.skipif(shutil.which("perl") is None or shutil.which("jq") is None, reason="perl and jq are not here")


@settings(max_examples=40, deadline=None)
@given(value=TEXT)
def test_strings_of_awk_are_the_value(value: str) -> None:
    """Quotes and backslashes in front."""
    assert said("awk", written("awk", 'BEGIN {printf "%s", "<', value, '>"}')) == f"<{value}>"


@settings(max_examples=40, deadline=None)
@given(value=TEXT)
def test_patterns_of_awk_are_the_value(value: str) -> None:
    """Wherever one stands, a quote in it or not."""
    for before, after in (("/<", ">/ {print 1}"), ('{hit = /^a<"?', '>/} hit {print "" 1}'), ("{print NR ? /<", ">/ : 0}")):
        assert said("awk", written("awk", before, value, after), given=f"a<{value}>b\n") == "1\n"


@settings(max_examples=40, deadline=None)
@given(value=TEXT)
def test_patterns_and_replacements_of_sed_are_the_value(value: str) -> None:
    """Looked for as it is, put in as it is, with whatever mark the command is written."""
    for mark in "/|,":
        for extended in (False, True):
            if extended and mark == "|":
                continue  # refused: the test below
            option = "-E" if extended else "-s"
            script = written("sed", f"s{mark}<", value, f">{mark}found{mark}", extended)
            assert said("sed", option, script, given=f"a<{value}>b") == "afoundb"
        assert said("sed", written("sed", f"s{mark}x{mark}<", value, f">{mark}"), given="axb") == f"a<{value}>b"


@needed
@settings(max_examples=40, deadline=None)
@given(value=TEXT)
def test_strings_of_jq_are_the_value(value: str) -> None:
    """As JSON."""
    assert said("jq", "-nr", written("jq", '{k: "', value, '"} | .k')) == value + "\n"


@needed
@settings(max_examples=40, deadline=None)
@given(value=TEXT)
def test_substitutions_of_perl_are_the_value(value: str) -> None:
    """With and without ``\\Q``; nothing in it is a variable."""
    for before, after in ((r"s{\Q<", r">\E}{found}"), ("s{<", ">}{found}"), ("s/<", ">/found/")):
        assert said("perl", "-pe", written("perl", before, value, after), given=f"a<{value}>b") == "afoundb"
    assert said("perl", "-pe", written("perl", "s{x}{<", value, ">}"), given="axb") == f"a<{value}>b"


@given(value=TEXT)
def test_strings_of_sql_are_the_value(value: str) -> None:
    """A quote is doubled."""
    assert sqlite3.connect(":memory:").execute(written("sqlite3", "SELECT '<", value, ">'")).fetchone() == (f"<{value}>",)


@pytest.mark.parametrize(("language", "before", "after"), [("awk", "$1 == ", ""), ("jq", ".", ""), ("sqlite3", "SELECT ", "")])
def test_a_value_among_the_code_has_no_way(language: str, before: str, after: str) -> None:
    """It would run."""
    assert escapes(language, Word((Lit(before), Hole(0), Lit(after))), False) == [None]


def test_an_interpolated_string_of_jq_is_refused() -> None:
    """What stands between ``\\(`` and ``)`` is code."""
    with pytest.raises(ShellError):
        escapes("jq", Word((Lit('"a\\('), Hole(0), Lit(')"'))), False)


@given(
    text=st.text(st.sampled_from("ab \"'/\\{}sm#$|\n"), max_size=30),
    language=st.sampled_from(["awk", "jq", "perl", "sed", "sqlite3"]),
)
def test_a_program_is_the_sum_of_its_pieces(text: str, language: str) -> None:
    """Nothing is lost, whatever the text."""
    assert "".join(piece for _, piece in literals(language, text)) == text


def test_a_mark_that_means_something_is_refused() -> None:
    """sed reads ``\\|`` between bars as a bar, which is no text in an extended pattern."""
    with pytest.raises(ShellError):
        escapes("sed", Word((Lit("s|"), Hole(0), Lit("|x|"))), True)


@pytest.mark.parametrize(
    ("before", "after"),
    [("\\,/", "( |$),s,^[^#],#&,"), ("1a # License: ", ""), ("/x/i ", "")],
    ids=["own mark", "line added", "before"],
)
def test_places_of_sed_that_hold_text(before: str, after: str) -> None:
    """An address with marks of its own choice, and lines put in behind a number."""
    (way,) = escapes("sed", Word((Lit(before), Hole(0), Lit(after))), True)
    assert way is not None


@pytest.mark.parametrize(
    ("command", "data"),
    [
        ("python3 - a b <<'X'\nprint(1)\nX", "a b"),
        ("python3 -u tools/x.py a", "a"),
        ("python3 -c 'print(1)' a", "a"),
        ("bash -s a <<'X'\necho\nX", "a"),
        ("node -e 'x' a", "a"),
        ("bash - a <<'X'\necho\nX", ""),
        ("python3 -s a <<'X'\nprint(1)\nX", ""),
        ("ruby -I lib a", ""),
        ("python3 -m timeit a", ""),
        ("python3 - a", ""),
        ("awk a b", ""),
        ('python3 -c "$p" a', ""),
    ],
)
def test_what_a_constant_program_gets_is_data(command: str, data: str) -> None:
    """And nothing that may be the program itself, or an option's value before it."""
    (node,) = parse(command).items
    assert isinstance(node, Simple)
    assert " ".join(w.literal or "" for w in arguments(node)) == data


@given(TEXT)
def test_a_table_of_a_query_is_the_value(value: str) -> None:
    """Quoted as a name, and only where the value is the whole of it."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        name = value.replace('"', '""')
        db.execute(f'CREATE TABLE "{name}"(a)')
        assert db.execute(written("sqlite3", "select * from ", value, ";")).fetchall() == []
    with pytest.raises(ShellError, match="would run as code"):
        written("sqlite3", "select * from t_", value, ";")

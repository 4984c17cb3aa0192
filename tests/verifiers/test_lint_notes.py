"""A second look at the linter's findings: what can really go wrong stays an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.source.lint_notes import note

SAFE = {
    "own words": 'q = f"SELECT {COLUMNS} FROM t"',
    "placeholders": 'q = f"SELECT * FROM t WHERE a IN ({marks})"',
    "doubled quotes in place": "q = 'SELECT * FROM \"' + x.replace('\"', '\"\"') + '\"'",
    "an own quoting function": 'q = f"SELECT * FROM {quoted(x)}"',
    "several quoted names": 'q = "INSERT INTO " + quoted(x) + " (" + ", ".join(quoted(c) for c in y) + ") VALUES (?)"',
    "a number": 'q = f"SELECT * FROM t LIMIT {int(x)}"',
    "a name from a list": 'q = f"SELECT * FROM {table}"',
    "by format": 'q = "SELECT * FROM {}".format(quoted(x))',
}
UNSAFE = {
    "bare": 'q = f"SELECT * FROM {x}"',
    "quoted, not escaped": "q = f'SELECT * FROM \"{x}\"'",
    "escaped, not quoted": "q = 'SELECT * FROM ' + x.replace('\"', '\"\"')",
    "escaped for another quote": 'q = "SELECT * FROM \'" + x.replace(\'"\', \'""\') + "\'"',
    "one of two": 'q = f"SELECT {x} FROM {quoted(x)}"',
    "by format": 'q = "SELECT * FROM {}".format(x)',
    "by percent": 'q = "SELECT * FROM %s" % x',
    "a list that grows": 'z = []; z.append(x); q = f"SELECT {z[0]} FROM t"',
    "unknown names": 'q = f"SELECT {z[0]} FROM t"',
}
HEAD = """COLUMNS = "a, b"
def quoted(name):
    return '"' + name.replace('"', '""') + '"'
def f(x, y):
    marks = ", ".join("?" * len(y))
    for table in ("a", "b"):
        pass
"""


@pytest.mark.parametrize("title", SAFE)
def test_sql_that_can_only_be_what_was_meant_is_a_note(title: str) -> None:
    """Values cannot leave their place."""
    assert note("S608", HEAD + "    " + SAFE[title], 8)


@pytest.mark.parametrize("title", UNSAFE)
def test_sql_that_a_value_can_change_stands(title: str) -> None:
    """A value becomes text of the statement."""
    assert note("S608", HEAD + "    " + UNSAFE[title], 8) == ""


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("assert x > 1", True),
        ("assert isinstance(x, str) and len(x) == 2, x", True),
        ("assert p.exists()", True),
        ("assert p.unlink() is None", False),
        ("assert (x := 3)", False),
        ("assert run(x)", False),
    ],
)
def test_an_assertion_that_only_looks_is_a_note(text: str, harmless: bool) -> None:
    """What it does besides looking would be left out by ``python -O``."""
    assert bool(note("S101", text, 1)) is harmless


def test_other_codes_stand() -> None:
    """Only what has a judge is looked at twice."""
    assert note("S102", "exec(x)", 1) == ""


@given(st.text(alphabet="abc'\"{}", max_size=6))
def test_a_parameter_as_it_is_is_never_a_note(text: str) -> None:
    """Whatever stands around it."""
    source = f"def f(x):\n    return {('SELECT ' + text)!r} + x + {text!r}"
    assert note("S608", source, 2) == ""


@pytest.mark.parametrize(
    ("line", "noted"),
    [
        ("from skill_api import Query, skill_command", True),
        ("from skill_api import (\n    Query,\n    skill_command,\n)", True),
        ("import os.path", True),
        ("from skill_api.more import Query", False),
        ("from .skill_api import Query", False),
        ("import os, yaml", False),
    ],
)
def test_an_unused_import_is_a_note(line: str, noted: bool) -> None:
    """Any other module may do something when it is loaded."""
    at = 1 + line.count("\n") // 3
    assert bool(note("F401", f"{line}\n", at)) is noted


@pytest.mark.parametrize(
    ("line", "harmless"),
    [
        ("y = re.sub('a', lambda m: m[0] + table, y)", True),
        ("y.sort(key=lambda k: k + table)", True),
        ("y.append(lambda: table)", False),
        ("y = min(y, key=lambda k: [lambda: table])", False),
        ("def later(): return table", False),
    ],
)
def test_a_function_that_is_called_at_once_sees_what_was_meant(line: str, harmless: bool) -> None:
    """Whoever keeps it sees the last turn of the loop."""
    assert bool(note("B023", f"import re\ndef f(y):\n    for table in ('a', 'b'):\n        {line}\n", 4)) is harmless

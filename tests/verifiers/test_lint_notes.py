"""A second look at the linter's findings: what can really go wrong stays an error."""

from __future__ import annotations

import pytest

from verifiers.source.lint_notes import note


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

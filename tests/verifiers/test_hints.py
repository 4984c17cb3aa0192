"""Declared hints against measured ones: findings, the fix, and filling in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.hints import fill_hints, hint_findings
from verifiers.source.samecode import same_code
from verifiers.subject import HINTS, parse_subject

HEAD = "from skill_api import skill_command\n\n\n"
TAIL = "\ndef f() -> None:\n    return None\n"


def test_false_reassurance_is_an_error_with_a_fix() -> None:
    """Declared read-only, but it writes."""
    subject = parse_subject(f"{HEAD}@skill_command(autowire=True, read_only=True, destructive=True){TAIL}", "s.py")
    wrong = hint_findings(subject, {"read_only": False, "destructive": False, "idempotent": True})
    assert [(f.message, f.severity) for f in wrong] == [
        ("declared read_only=True, measured False", "error"),
        ("declared destructive=True, measured False", "warning"),
    ]
    fix = wrong[0].fix
    assert fix is not None
    assert parse_subject(fix.replacement, "s.py").hints == {"read_only": False, "destructive": False}
    assert wrong[0].line == 4


def test_true_and_unmeasured_declarations_are_no_findings() -> None:
    """Only what was measured is compared."""
    subject = parse_subject(f"{HEAD}@skill_command(read_only=True, open_world=True){TAIL}", "s.py")
    assert hint_findings(subject, {"read_only": True}) == ()


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [
        ("@skill_command", "@skill_command(read_only=True, idempotent=False)"),
        ("@skill_command()", "@skill_command(read_only=True, idempotent=False)"),
        ("@skill_command(read_only=False)", "@skill_command(read_only=False, idempotent=False)"),
        (
            '@skill_command(\n    name="f",\n    autowire=True,\n)',
            '@skill_command(\n    name="f",\n    autowire=True,\n    read_only=True,\n    idempotent=False,\n)',
        ),
    ],
)
def test_absent_hints_are_filled_in(decorator: str, expected: str) -> None:
    """Measured hints are added in the decorator's own layout; declared ones stay."""
    filled = fill_hints(f"{HEAD}{decorator}{TAIL}", {"read_only": True, "idempotent": False})
    assert filled == f"{HEAD}{expected}{TAIL}"


@pytest.mark.parametrize("source", ["def f(:", "x = 1\n", "def f(): ...\n"])
def test_no_decorator_no_hints(source: str) -> None:
    """Without a skill decorator nothing is filled in."""
    assert fill_hints(source, {"read_only": True}) == source


hints = st.dictionaries(st.sampled_from(HINTS), st.booleans())


@settings(deadline=None)
@given(hints, hints)
def test_fixed_hints_are_the_measured_ones(declared: dict[str, bool], measured: dict[str, bool]) -> None:
    """After fix and fill nothing is left to say, declared but unmeasured hints stay, and the code is the same."""
    source = f"{HEAD}@skill_command({', '.join(f'{k}={v}' for k, v in declared.items())}){TAIL}"
    subject = parse_subject(source, "s.py")
    wrong = hint_findings(subject, measured)
    text = wrong[0].fix.replacement if wrong and wrong[0].fix else source
    filled = parse_subject(fill_hints(text, measured), "s.py")
    assert filled.hints == {**declared, **measured}
    assert hint_findings(filled, measured) == ()
    assert same_code(source, filled.source)

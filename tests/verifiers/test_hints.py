"""Declared hints against measured ones: findings, the fix, and filling in."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.hints import hint_findings
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


hints = st.dictionaries(st.sampled_from(HINTS), st.booleans())


@settings(deadline=None)
@given(hints, hints)
def test_fixed_hints_are_the_measured_ones(declared: dict[str, bool], measured: dict[str, bool]) -> None:
    """After the fix nothing is left to say, declared but unmeasured hints stay, and the code is the same."""
    source = f"{HEAD}@skill_command({', '.join(f'{k}={v}' for k, v in declared.items())}){TAIL}"
    subject = parse_subject(source, "s.py")
    wrong = hint_findings(subject, measured)
    text = wrong[0].fix.replacement if wrong and wrong[0].fix else source
    mended = parse_subject(text, "s.py")
    assert mended.hints == {**declared, **{hint: is_so for hint, is_so in measured.items() if hint in declared}}
    assert hint_findings(mended, measured) == ()
    assert same_code(source, mended.source)

"""Declared MCP hints against what was measured: a wrong declaration is a finding with a fix.

MCP's meaning: ``read_only`` = changes nothing; ``destructive`` = may overwrite or delete what was there;
``idempotent`` = a second call with the same arguments has no further effect; ``open_world`` = reaches beyond the machine.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from verifiers.conventions.model import SkillModule, read
from verifiers.interface import Finding, Fix, Severity, Subject
from verifiers.subject import HINTS

_REASSURING = {"read_only": True, "destructive": False, "idempotent": True, "open_world": False}
"""The value of each hint that tells a caller not to worry: claiming it falsely is the dangerous mistake."""
RULE = "hints"


def hint_findings(subject: Subject, measured: Mapping[str, bool]) -> tuple[Finding, ...]:
    """One finding for each declared hint that differs from the measured value, with a fix that corrects all of them.

    A false reassurance (declared read-only, but it writes) is an error; false caution is a warning. Hints that were not
    measured, or not declared, are passed over.
    """
    wrong = [h for h in HINTS if h in subject.hints and h in measured and subject.hints[h] != measured[h]]
    if not wrong:
        return ()
    module = read(subject)
    fix = None
    if module is not None:
        text = _declared(module, {h: measured[h] for h in wrong})
        fix = Fix(True, "declare the hints as measured", text) if text != subject.source else None
    line = module.line(module.decorator) if module is not None else 1
    out = []
    for hint in wrong:
        severity: Severity = "error" if subject.hints[hint] is _REASSURING[hint] else "warning"
        message = f"declared {hint}={subject.hints[hint]}, measured {measured[hint]}"
        out.append(Finding(message, subject.path, line, severity, fix=fix, rule=RULE))
    return tuple(out)


def _declared(module: SkillModule, values: Mapping[str, bool]) -> str:
    """The text with these hints in the decorator, which declares each of them, replaced in place."""
    call = module.decorator_call
    if call is None:
        return module.tree.code
    args = [_replaced(a, values) for a in call.args]
    return cst.ensure_type(module.tree.deep_replace(call, call.with_changes(args=args)), cst.Module).code


def _replaced(arg: cst.Arg, values: Mapping[str, bool]) -> cst.Arg:
    if arg.keyword is None or arg.keyword.value not in values:
        return arg
    return arg.with_changes(value=cst.Name(str(values[arg.keyword.value])))

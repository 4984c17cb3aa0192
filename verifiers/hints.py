"""Declared MCP hints against what was measured: a wrong declaration is a finding with a fix, an absent one is filled in.

MCP's meaning: ``read_only`` = changes nothing; ``destructive`` = may overwrite or delete what was there;
``idempotent`` = a second call with the same arguments has no further effect; ``open_world`` = reaches beyond the machine.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from verifiers.conventions.model import SkillModule, read
from verifiers.interface import Finding, Fix, Severity, Subject
from verifiers.subject import HINTS, parse_subject

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


def fill_hints(source: str, measured: Mapping[str, bool]) -> str:
    """The text with every measured hint that its decorator does not declare; what is declared stays.

    A text without a skill decorator comes back as it is.
    """
    subject = parse_subject(source, "skill.py")
    module = read(subject)
    if module is None or module.decorator is None:
        return source
    call = module.decorator_call
    said = {a.keyword.value for a in (call.args if call is not None else ()) if a.keyword is not None}
    absent = {h: measured[h] for h in HINTS if h in measured and h not in said}
    return _declared(module, absent) if absent else source


def _declared(module: SkillModule, values: Mapping[str, bool]) -> str:
    """The text with these hints in the decorator, replaced in place or appended."""
    decorator, call = module.decorator, module.decorator_call
    if decorator is None:
        return module.tree.code
    if call is None:
        assert isinstance(decorator.decorator, cst.Name | cst.Attribute)
        call = cst.Call(decorator.decorator)
    args = [_replaced(a, values) for a in call.args]
    said = {a.keyword.value for a in args if a.keyword is not None}
    args += _appended(args, {h: v for h, v in values.items() if h not in said})
    new = decorator.with_changes(decorator=call.with_changes(args=args))
    return cst.ensure_type(module.tree.deep_replace(decorator, new), cst.Module).code


def _replaced(arg: cst.Arg, values: Mapping[str, bool]) -> cst.Arg:
    if arg.keyword is None or arg.keyword.value not in values:
        return arg
    return arg.with_changes(value=cst.Name(str(values[arg.keyword.value])))


def _appended(args: list[cst.Arg], values: Mapping[str, bool]) -> list[cst.Arg]:
    """New arguments, laid out as the last one is; ``args`` gets its comma."""
    if not values:
        return []
    between = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    last: cst.Comma | cst.MaybeSentinel = cst.MaybeSentinel.DEFAULT
    if args:
        trailing = args[-1].comma
        if isinstance(trailing, cst.Comma):  # one argument a line: the old trailing comma now ends the new last one
            last = trailing
            layout = args[-2].comma if len(args) > 1 else None
            between = layout if isinstance(layout, cst.Comma) else between
        args[-1] = args[-1].with_changes(comma=between)
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    names = list(values)
    return [
        cst.Arg(cst.Name(str(values[n])), keyword=cst.Name(n), equal=plain, comma=last if n == names[-1] else between)
        for n in names
    ]

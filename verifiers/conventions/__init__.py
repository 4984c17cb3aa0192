"""The conventions of a skill, one rule a class. ``RULES`` is in the order in which findings are shown."""

from __future__ import annotations

from collections.abc import Iterator

from verifiers.conventions.allowed_imports import AllowedImports
from verifiers.conventions.decorator import DecoratorForm
from verifiers.conventions.described import Described
from verifiers.conventions.docstring_sections import DocstringSections
from verifiers.conventions.embedded_data import EmbeddedData
from verifiers.conventions.escapes import Escapes, Patching
from verifiers.conventions.import_effects import ImportEffects
from verifiers.conventions.import_source import ImportSource
from verifiers.conventions.json_return import JsonReturn
from verifiers.conventions.model import SkillModule, read
from verifiers.conventions.omni_forms import DescriptionStyle, QueryDefault, Spacing
from verifiers.conventions.one_command import OneCommand
from verifiers.conventions.rule import Rule, Violation
from verifiers.conventions.shell_text import ShellText
from verifiers.conventions.signature import Signature, SnakeCase
from verifiers.conventions.suppressions import Suppressions
from verifiers.conventions.swallowed import SwallowedErrors
from verifiers.conventions.typed import ReturnType, Typed
from verifiers.interface import Finding, Fix, Profile, Severity, Subject
from verifiers.samecode import same_code

RULES: tuple[Rule, ...] = (
    OneCommand(),
    ImportSource(),
    DecoratorForm(),
    SnakeCase(),
    Signature(),
    Typed(),
    QueryDefault(),
    Spacing(),
    Described(),
    ReturnType(),
    DocstringSections(),
    DescriptionStyle(),
    AllowedImports(),
    ImportEffects(),
    ShellText(),
    SwallowedErrors(),
    JsonReturn(),
    Escapes(),
    Patching(),
    EmbeddedData(),
    Suppressions(),
)

__all__ = ["RULES", "Rule", "SkillModule", "Violation", "findings", "read", "rules_for"]


def rules_for(profile: Profile) -> tuple[Rule, ...]:
    """The rules that a profile has."""
    return tuple(rule for rule in RULES if profile in rule.profiles)


def findings(subject: Subject, extra_imports: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """Everything that the conventions have to say of a subject; none where it does not parse (that is for ``parses``).

    Args:
        extra_imports: modules allowed besides the list.
    """
    module = read(subject)
    if module is None:
        return ()
    rules = (AllowedImports(extra_imports) if isinstance(r, AllowedImports) else r for r in rules_for(subject.profile))
    try:
        return tuple(f for rule in rules for f in _of_rule(rule, module))
    except RecursionError:
        return (Finding("an expression is nested too deeply to be judged", subject.path, rule="conventions"),)


def _of_rule(rule: Rule, module: SkillModule) -> Iterator[Finding]:
    violations = list(rule.violations(module))
    repaired = rule.fix(module) if any(v.fixable for v in violations) else None
    if repaired is not None and not same_code(module.subject.source, repaired.code):
        repaired = None  # an edit that would not parse, or touch what runs, is not offered
    for violation in violations:
        soft = violation.severity == "error" and module.profile in rule.soft_in
        severity: Severity = "warning" if soft else violation.severity
        fix = None
        if violation.fixable and repaired is not None:
            fix = Fix(True, rule.fix_title, repaired.code)
        elif violation.suggestion:
            fix = Fix(False, f"{rule.fix_title}, with made-up words", violation.suggestion)
        yield Finding(violation.message, module.subject.path, module.line(violation.node), severity, fix=fix, rule=rule.id)

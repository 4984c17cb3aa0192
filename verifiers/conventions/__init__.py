"""The conventions of a skill: one rule a file, found by its module-level ``RULE``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from verifiers.conventions.allowed_imports import AllowedImports
from verifiers.conventions.model import SkillModule, read
from verifiers.conventions.rule import Rule, Violation
from verifiers.interface import AS_LISTED, Finding, Fix, ImportRules, Profile, Severity, Subject
from verifiers.source.samecode import same_code

__all__ = ["RULES", "Rule", "SkillModule", "Violation", "findings", "read", "rules_for"]

ORDER = (
    "one-command", "import-source", "decorator", "snake-case", "signature", "typed", "query-default", "spacing", "described",
    "indexed", "return-type", "docstring", "description-style", "imports", "import-effects", "shell-text", "swallowed-errors",
    "json-return", "agent-text", "escapes", "loaders", "patching", "chance", "remembers", "embedded-data", "suppressions",
)  # fmt: skip
"""The order of findings and fixes: what a later rule builds on comes first. A rule that is not named here comes last."""


def _discovered() -> tuple[Rule, ...]:
    found = []
    for module in pkgutil.iter_modules(__path__):
        rule = getattr(importlib.import_module(f"{__name__}.{module.name}"), "RULE", None)
        if isinstance(rule, Rule):
            found.append(rule)
    rank = {f"conventions-{name}": n for n, name in enumerate(ORDER)}
    return tuple(sorted(found, key=lambda r: (rank.get(r.id, len(ORDER)), r.id)))


RULES: tuple[Rule, ...] = _discovered()


def rules_for(profile: Profile) -> tuple[Rule, ...]:
    """The rules that a profile has."""
    return tuple(rule for rule in RULES if profile in rule.profiles)


def findings(subject: Subject, imports: ImportRules = AS_LISTED) -> tuple[Finding, ...]:
    """Everything that the conventions have to say of a subject; none where it does not parse (that is for ``parses``).

    Args:
        imports: what the configuration says of them besides the list.
    """
    module = read(subject)
    if module is None:
        return ()
    rules = (AllowedImports(imports) if isinstance(r, AllowedImports) else r for r in rules_for(subject.profile))
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
        soft = violation.severity == "error" and module.profile in rule.soft_in and not violation.hard
        severity: Severity = "warning" if soft else violation.severity
        fix = None
        if violation.fixable and repaired is not None:
            fix = Fix(True, rule.fix_title, repaired.code)
        elif violation.suggestion:
            fix = Fix(False, f"{rule.fix_title}, with made-up words", violation.suggestion)
        yield Finding(violation.message, module.subject.path, module.line(violation.node), severity, fix=fix, rule=rule.id)

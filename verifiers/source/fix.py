"""Applies the safe fixes of conventions and ruff, and nothing that could change what a skill does.

Whatever a rule claims, a fix is kept only if the code of every function is the same afterwards, docstrings apart.
"""

from __future__ import annotations

from typing import NamedTuple

from verifiers.checks.ruff_clean import diagnostics
from verifiers.conventions import Rule, SkillModule, findings, read, rules_for
from verifiers.interface import Finding, Profile
from verifiers.source.samecode import same_code
from verifiers.source.tools import run_tool, tool_command, written
from verifiers.subject import ParseProblem, parse_module, parse_subject

MAX_ROUNDS = 8
"""Fixes can make room for others (a section for a parameter that was described a moment before); they settle in two or three."""


class Fixed(NamedTuple):
    """What fixing made of a text."""

    source: str
    applied: tuple[str, ...]
    """Rule id and what was done, in the order of doing."""
    remaining: tuple[Finding, ...]
    """What conventions and ruff still say, warnings included."""


def fix_source(source: str, profile: Profile = "seed", *, path: str = "skill.py", linter: bool = True) -> Fixed:
    """The text with every safe fix applied. A text that does not parse comes back as it is.

    Args:
        linter: apply and report ruff's part too (starts a process).
    """
    applied: list[str] = []
    text = source
    for _ in range(MAX_ROUNDS):
        before = text
        text = _conventions(text, profile, applied)
        if linter:
            text = _ruff(text, applied)
        if text == before:
            break
    tree = parse_module(text)
    if isinstance(tree, ParseProblem):
        return Fixed(text, tuple(applied), (Finding(f"does not parse: {tree.message}", path, tree.line, rule="parses"),))
    remaining = list(findings(parse_subject(text, path, profile)))
    if linter:
        found, _ = diagnostics({"skill": text})
        remaining += [
            Finding(f"{d['message']} ({d['code']})", path, int(d["location"]["row"]), rule=str(d["code"]))
            for d in found.get("skill", [])
        ]
    return Fixed(text, tuple(dict.fromkeys(applied)), tuple(remaining))


def _conventions(text: str, profile: Profile, applied: list[str]) -> str:
    module = read(parse_subject(text, "skill.py", profile))
    for rule in rules_for(profile):
        if module is None:
            break
        changed = _by_rule(rule, module)
        if changed != text:
            applied.append(f"{rule.id}: {rule.fix_title}")
            text = changed
            module = read(parse_subject(text, "skill.py", profile))
    return text


def _by_rule(rule: Rule, module: SkillModule) -> str:
    """The text after a rule's fix; as it was where there is none, or one that would touch what runs."""
    text = module.subject.source
    if not rule.fix_title:
        return text
    try:
        tree = rule.fix(module) if any(v.fixable for v in rule.violations(module)) else None
    except RecursionError:  # an expression nested hundreds of levels deep
        return text
    return tree.code if tree is not None and same_code(text, tree.code) else text


def _ruff(text: str, applied: list[str]) -> str:
    """ruff's safe fixes, rule by rule, as far as they leave the functions' code alone."""
    if isinstance(parse_module(text), ParseProblem):
        return text
    found, _ = diagnostics({"skill": text})
    codes = sorted({str(d["code"]) for d in found.get("skill", []) if d.get("fix") and d["fix"]["applicability"] == "safe"})
    for code in codes:
        changed = _ruff_fixed(text, code)
        if changed != text and same_code(text, changed):
            applied.append(f"ruff-clean: apply ruff's fix for {code}")
            text = changed
    return text


def _ruff_fixed(text: str, code: str) -> str:
    command = [
        *tool_command("ruff"), "check", "--isolated", "--no-cache", "--ignore-noqa", "--no-preview", "--target-version", "py311",
        "--no-respect-gitignore",
        "--fix-only", "--no-unsafe-fixes", "--exit-zero", "--quiet", "--select", code, "skill.py",
    ]  # fmt: skip
    with written({"skill": text}) as folder:
        done = run_tool(command, folder)
        return (folder / "skill.py").read_text(encoding="utf-8", errors="surrogateescape") if done.exit_code == 0 else text

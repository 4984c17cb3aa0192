"""Every convention flags its own bad examples, passes its good ones, and its fix is safe. Made from the rules' attributes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from verifiers.checks.conventions import CHECK
from verifiers.conventions import ORDER, RULES, Rule, findings
from verifiers.interface import Example, Finding, ImportRules, Profile, Verdict
from verifiers.source.samecode import same_code
from verifiers.subject import parse_subject


def examples(kind: str) -> Iterator[object]:
    """(rule, profile, example) of every rule; kind is good or bad."""
    for rule in RULES:
        seed, omni = (rule.good, rule.omni_good) if kind == "good" else (rule.bad, rule.omni_bad)
        pairs: list[tuple[Profile, tuple[Example, ...]]] = [("seed", seed), ("omni", omni)]
        for profile, group in pairs:
            for example in group:
                yield pytest.param(rule, profile, example, id=f"{rule.id}-{profile}-{example.title.replace(' ', '_')}")


def found(source: str, profile: Profile = "seed") -> tuple[Finding, ...]:
    """What the conventions say of a text."""
    return findings(parse_subject(source, "skill.py", profile))


@pytest.mark.parametrize(("rule", "profile", "example"), list(examples("bad")))
def test_bad_examples_are_flagged(rule: Rule, profile: Profile, example: Example) -> None:
    """The rule flags it, on a line that exists; where it offers a safe fix, that removes the finding and no code changes."""
    mine = [f for f in found(example.source, profile) if f.rule == rule.id]
    assert mine
    assert all(1 <= f.line <= len(example.source.splitlines()) for f in mine)
    for finding in mine:
        if finding.fix is not None and finding.fix.safe:
            assert same_code(example.source, finding.fix.replacement)
            assert (finding.message, finding.rule) not in [(f.message, f.rule) for f in found(finding.fix.replacement, profile)]


@pytest.mark.parametrize(("rule", "profile", "example"), list(examples("good")))
def test_good_examples_pass(rule: Rule, profile: Profile, example: Example) -> None:
    """In the seed profile a good example keeps every convention; in the omni profile it keeps this one."""
    said = [f for f in found(example.source, profile) if profile == "seed" or f.rule == rule.id]
    assert said == []


@pytest.mark.parametrize("rule", [r for r in RULES if r.fix_title], ids=lambda r: r.id)
def test_first_bad_example_is_fixed_into_the_first_good_one(rule: Rule) -> None:
    """The rules' own pages show what their fix does."""
    profile: Profile = "seed" if rule.good else "omni"
    good, bad = (rule.good, rule.bad) if rule.good else (rule.omni_good, rule.omni_bad)
    fixes = [f.fix for f in found(bad[0].source, profile) if f.rule == rule.id and f.fix is not None]
    assert fixes[0].safe
    assert fixes[0].replacement == good[0].source


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_a_rule_says_what_it_is(rule: Rule) -> None:
    """Id, question, reason and examples are there."""
    assert rule.id.startswith("conventions-")
    assert rule.title.endswith("?")
    assert len(rule.why) > 60
    assert (rule.good and rule.bad) or (rule.omni_good and rule.omni_bad)


def test_ids_are_unique() -> None:
    """No two rules share an id."""
    assert len({r.id for r in RULES}) == len(RULES)


def test_check_counts_errors_and_warnings() -> None:
    """Warnings alone pass, errors fail, a text that does not parse is inconclusive."""
    clean = RULES[0].good[0].source
    bare = clean.replace("@skill_command(autowire=True)", "@skill_command")
    evil = clean.replace("Path(file)", "eval(file)")
    subjects = [parse_subject(s, "s.py") for s in (clean, bare, evil, "def f(:")]
    results = CHECK.run_batch(subjects)
    assert [r.verdict for r in results] == [Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE]
    assert results[1].findings[0].severity == "warning"


@pytest.mark.parametrize("depth", [300, 600, 900, 2000])
def test_deep_nesting_is_judged_or_refused(depth: int) -> None:
    """An expression of any depth gives a result, not a crash."""
    source = RULES[0].good[0].source.replace("Path(file).touch()", "x = " + "+".join(["file"] * depth))
    assert CHECK.run_batch([parse_subject(source, "s.py")])[0].id == "conventions"


def test_configured_imports_are_allowed() -> None:
    """A module that the configuration names is no finding."""
    source = RULES[0].good[0].source.replace("from pathlib", "import requests\nfrom pathlib")
    subject = parse_subject(source, "s.py")
    assert [f.rule for f in findings(subject)] == ["conventions-imports"]
    assert findings(subject, ImportRules(frozenset({"requests"}))) == ()


def test_every_rule_file_is_found_and_placed() -> None:
    """A rule is found by its file alone, and the written order names each."""
    assert [r.id.removeprefix("conventions-") for r in RULES] == list(ORDER)

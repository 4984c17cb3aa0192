"""The manual of the checks, made from their own attributes: ``render_manual`` for the page, ``explain`` for one entry."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Sequence

from verifiers.catalog import CATALOG, AnyCheck
from verifiers.conventions import RULES, Rule
from verifiers.conventions.allow_list import ALLOWED, REFUSED
from verifiers.interface import ConfigError, Example

STEPS = {
    "bindings": """**Do the arguments come from the evidence?** (before the dynamic checks)

A skill is replayed with the argument values that make it do what a trace did. They are those of `bindings.json`
(`{"<task_id>": {"args": {...}}}`), or inferred where there is no such file. Every value must occur in that trace's commands,
description or start: one that is only in its outputs or its end would carry the answer into the skill.

When it does not hold, look at `bindings.json` first, not at the code: a trace without arguments, a parameter that was renamed
in the code alone, or a value that the recording does not have. Without the file the arguments are inferred.""",
}
"""What a finding may name besides checks and conventions."""
_STAGES = {"static": "reads the text only", "dynamic": "runs the skill in the sandbox"}


def render_manual(catalog: Sequence[AnyCheck] = CATALOG) -> str:
    """The whole manual, Markdown: a table of the checks, then a section each, then the conventions."""
    parts = ["# The checks\n", _table(catalog)]
    parts += [f"## {check.id}\n\n{_check(check)}" for check in catalog]
    parts.append("## The conventions\n\nThe rules behind the check `conventions`.\n")
    parts += [f"### {rule.id}\n\n{_rule(rule)}" for rule in RULES]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def explain(id: str) -> str:
    """The manual's entry for one check or one convention, Markdown.

    Raises:
        ConfigError: there is none of that id; the advice names the nearest ones.
    """
    check = next((c for c in CATALOG if c.id == id), None)
    if check is not None:
        return f"# {check.id}\n\n{_check(check)}"
    rule = next((r for r in RULES if r.id == id), None)
    if rule is not None:
        return f"# {rule.id}\n\n{_rule(rule)}"
    if id in STEPS:
        return f"# {id}\n\n{STEPS[id]}\n"
    known = [*(c.id for c in CATALOG), *(r.id for r in RULES), *STEPS]
    near = difflib.get_close_matches(id, known, n=3, cutoff=0.4)
    advice = f"Did you mean {' or '.join(near)}?" if near else "List them with: assay verify --explain"
    raise ConfigError(f"no check is called {id!r}", advice)


def _table(catalog: Sequence[AnyCheck]) -> str:
    rows = "\n".join(f"| `{c.id}` | {c.stage} | {c.title} |" for c in catalog)
    return f"| id | stage | question |\n| --- | --- | --- |\n{rows}\n"


def _check(check: AnyCheck) -> str:
    out = [f"**{check.title}** ({check.stage}: {_STAGES[check.stage]}; version {check.version})", check.why]
    out += _examples("Passes", check.good)
    out += _examples("Does not pass", check.bad)
    if check.id == "conventions":
        out.append("\n".join(f"* `{r.id}`: {r.title}" for r in RULES))
    return "\n\n".join(out) + "\n"


def _rule(rule: Rule) -> str:
    out = [f"**{rule.title}**", f"Profiles: {', '.join(_profiles(rule))}.", rule.why]
    if rule.fix_title:
        out.append(f"Safe fix: {rule.fix_title}.")
    if rule.id == "conventions-imports":
        out += [_wrapped("Allowed", sorted(ALLOWED)), _wrapped("Refused", sorted(REFUSED))]
    out += _examples("Fine", rule.good[:1] or rule.omni_good[:1])
    out += _examples("Flagged", [*rule.bad, *rule.omni_bad])
    return "\n\n".join(out) + "\n"


def _profiles(rule: Rule) -> Iterator[str]:
    for profile in rule.profiles:
        yield f"`{profile}` (warns only)" if profile in rule.soft_in else f"`{profile}`"


def _wrapped(title: str, names: Sequence[str]) -> str:
    return textwrap.fill(f"{title}: {', '.join(f'`{n}`' for n in names)}.", 120)


def _examples(title: str, examples: Sequence[Example]) -> list[str]:
    out = []
    for example in examples:
        label = f"{title}, {example.title}:"
        if example.evidence:
            label = f"{title}, {example.title} (on the evidence `{example.evidence}`):"
        out.append(f"{label}\n\n```python\n{example.source.rstrip()}\n```")
    return out

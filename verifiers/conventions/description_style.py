"""The description's style in the omni profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal, literal_text, parameters
from verifiers.conventions.omni_example import PLAIN, RENAME
from verifiers.conventions.rule import Rule, Violation
from verifiers.interface import Example, Profile
from verifiers.source.docstring import parse_docstring

VERBS = frozenset({
    "Create", "Get", "Search", "Update", "Delete", "Execute", "Run", "Load", "Save", "List", "Show", "Check", "Build",
    "Parse", "Format",
    "Validate", "Generate", "Apply", "Process", "Clear", "Index", "Ingest", "Consult", "Bridge", "Refine", "Summarize",
    "Commit", "Amend",
    "Revert", "Retrieve", "Analyze", "Suggest", "Write", "Read", "Extract", "Query", "Filter", "Detect", "Navigate", "Refactor",
    "Rename", "Move", "Copy", "Remove", "Add", "Set", "Make", "Count", "Find", "Replace", "Convert", "Compress", "Split", "Join",
})  # fmt: skip


class DescriptionStyle(Rule):
    id = "conventions-description-style"
    title = "Does the description start with an action verb, and is the default JSON?"
    why = (
        "The upstream rules for descriptions ask for an action verb first (a third of the real skills do otherwise, so "
        "this only warns): the first line is what the router's index ranks by."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("omni",)
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    good = ()
    bad = ()
    omni_good = (Example("a verb", RENAME.format(params=PLAIN)),)
    omni_bad = (Example("no verb", RENAME.format(params=PLAIN).replace("Rename files.", "This renames files.")),)

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        call = module.decorator_call
        text = literal_text(module.keyword(call, "description")) if call is not None else None
        summary = parse_docstring(text or "").summary or module.subject.description
        first = summary.split()[0].rstrip(".,:") if summary.split() else ""
        if first and first not in VERBS:
            yield Violation(module.decorator, f"the description starts with {first!r}, not with an action verb")
        if call is not None and text is None and not module.subject.description:
            yield Violation(module.decorator, "neither description= nor a docstring: the index has nothing to rank by")
        for param in parameters(module.function) if module.function is not None else ():
            if param.default is not None and not _is_literal(param.default):
                yield Violation(param, f"the default of {param.name.value} is no literal: the index cannot show it")


def _is_literal(node: cst.BaseExpression) -> bool:
    try:
        literal(node)
    except ValueError:
        return isinstance(node, cst.Call)  # Query(...) has a rule of its own
    return True


RULE = DescriptionStyle()

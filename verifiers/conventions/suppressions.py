"""No comment switches a check off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile

_SWITCH = re.compile(
    r"#\s*(noqa\b|ruff\s*:\s*noqa|flake8\s*:\s*noqa|type\s*:\s*ignore|mypy\s*:|pyright\s*:|nosec\b|pragma\s*:\s*no\s*cover)",
    re.IGNORECASE,
)


class Suppressions(Rule):
    id = "conventions-suppressions"
    title = "Does no comment switch a check off?"
    why = (
        "`# noqa`, `# type: ignore` and their like are a promise by the author of the code that is being judged. The "
        "static checks do not honour them, so they only mislead a reader. A waiver belongs into the policy, with a reason "
        "and a date."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    fix_title = "remove comments that switch checks off"
    good = (skill("no such comment", TOUCH),)
    bad = (
        skill("noqa", 'Path(file).touch()  # noqa: S108\nreturn {"ok": True, "changed": 1}'),
        skill("type: ignore", 'Path(file).touch()  # type: ignore\nreturn {"ok": True}'),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            if isinstance(node, cst.Comment) and _SWITCH.match(node.value):
                yield Violation(node, f"the comment {node.value!r} is not honoured", fixable=True)

    def fix(self, module: SkillModule) -> cst.Module | None:
        class Remove(cst.CSTTransformer):
            def leave_TrailingWhitespace(
                self, original_node: cst.TrailingWhitespace, updated_node: cst.TrailingWhitespace
            ) -> cst.TrailingWhitespace:
                comment = updated_node.comment
                if comment is not None and _SWITCH.match(comment.value):
                    return updated_node.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
                return updated_node

            def leave_EmptyLine(
                self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
            ) -> cst.EmptyLine | cst.RemovalSentinel:
                comment = updated_node.comment
                return cst.RemoveFromParent() if comment is not None and _SWITCH.match(comment.value) else updated_node

        tree = module.tree.visit(Remove())
        return None if tree.code == module.tree.code else tree


RULE = Suppressions()

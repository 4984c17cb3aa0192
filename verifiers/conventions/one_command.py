"""Exactly one public ``@skill_command`` function."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import Rule, Violation, skill
from verifiers.interface import Example, Severity


class OneCommand(Rule):
    id = "conventions-one-command"
    title = "Is there exactly one public @skill_command function, at module level?"
    why = (
        "A file is a skill: the verdict, the score and the digest belong to one function. With two of them nobody could "
        "say which one was replayed. Helpers are fine; they carry no decorator."
    )
    good = (skill("one function", 'Path(file).touch()\nreturn {"ok": True, "changed": 1}'),)
    bad = (
        Example(
            "no function with the decorator",
            "from pathlib import Path\n\n\ndef touch(file: str) -> None:\n    Path(file).touch()\n",
        ),
        Example(
            "two of them",
            "from skill_api import skill_command\n\n\n@skill_command(autowire=True)\ndef a() -> None:\n    return None\n\n\n"
            "@skill_command(autowire=True)\ndef b() -> None:\n    return None\n",
        ),
        Example(
            "a private one",
            "from skill_api import skill_command\n\n\n@skill_command(autowire=True)\ndef _a() -> None:\n    return None\n",
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        found = module.functions
        public = [f for f in found if not f.name.value.startswith("_")]
        if not found:
            inner = next((n for n in module.nodes if isinstance(n, cst.FunctionDef) and module.skill_decorator(n)), None)
            where = "is not at module level" if inner is not None else "is missing"
            yield Violation(inner, f"the public function with the @skill_command decorator {where}")
        elif not public:
            yield Violation(
                found[0], f"the skill function {found[0].name.value} is private: a registered skill needs a public name"
            )
        severity: Severity = "warning" if module.profile == "omni" else "error"
        # Files of the host's hold several commands, and each is judged by itself.
        for extra in public[1:] if module.profile == "seed" else ():
            name = extra.name.value
            yield Violation(extra, f"a second @skill_command function, {name}: one file is one skill")
        for function in found:
            if len(function.decorators) > 1:
                yield Violation(function, f"{function.name.value} has another decorator besides @skill_command", severity)


RULE = OneCommand()

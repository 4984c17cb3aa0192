"""Names in snake_case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from verifiers.conventions.model import SkillModule, parameters
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile
from verifiers.subject import HINTS


class SnakeCase(Rule):
    id = "conventions-snake-case"
    title = "Are function and parameters named in snake_case?"
    why = (
        "Names go into indexes, prompts and command lines, where one spelling is expected. Parameter names must not be those of "
        f"the decorator's hints ({', '.join(HINTS)}) either. There is no automatic fix: a name is an interface."
    )
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    good = (skill("snake_case", TOUCH),)
    bad = (
        skill("camelCase function", TOUCH, name="touchFile"),
        skill(
            "camelCase parameter",
            TOUCH.replace("file", "fileName"),
            params='fileName: str = Query(..., description="Path")',
            notes="fileName: Path.",
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        if module.function is None:
            return
        names = [(module.function, module.function.name.value), *((p, p.name.value) for p in parameters(module.function))]
        for node, name in names:
            if not _is_snake(name):
                yield Violation(node, f"{name} is not snake_case")


def _is_snake(name: str) -> bool:
    return name == name.lower() and name.isascii() and not name.startswith("__") and "__" not in name.strip("_")


RULE = SnakeCase()

"""What a convention is: one class in one file that carries its why, its examples and its fix.

Tests and the manual are made from these attributes; a new rule needs nothing but its file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule
from verifiers.interface import Example, Profile, Severity


@dataclass(frozen=True, slots=True)
class Violation:
    """One place that breaks a rule."""

    node: cst.CSTNode | None
    """None = the file as a whole (line 1)."""
    message: str
    severity: Severity = "error"
    fixable: bool = False
    """``Rule.fix`` removes it without changing behaviour."""
    suggestion: str = ""
    """The whole new text of an edit that a person must agree to; "" for none."""
    hard: bool = False
    """An error in every profile: somebody configured it."""


class Rule(ABC):
    """One convention."""

    id: ClassVar[str]
    """``conventions-…``."""
    title: ClassVar[str]
    why: ClassVar[str]
    good: ClassVar[tuple[Example, ...]]
    bad: ClassVar[tuple[Example, ...]]
    """The first ``good`` example is what ``fix`` makes of the first ``bad`` one, where the rule has a fix."""
    omni_good: ClassVar[tuple[Example, ...]] = ()
    omni_bad: ClassVar[tuple[Example, ...]] = ()
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    soft_in: ClassVar[tuple[Profile, ...]] = ()
    """Profiles in which this rule only warns."""
    fix_title: ClassVar[str] = ""
    """What the safe fix does; "" = there is none."""

    @abstractmethod
    def violations(self, module: SkillModule) -> Iterable[Violation]:
        """Every place that breaks the rule, in file order."""

    def fix(self, module: SkillModule) -> cst.Module | None:
        """The file with every fixable violation removed and its behaviour unchanged; None where nothing can be done."""
        return None


TOUCH = 'Path(file).touch()\nreturn {"ok": True, "changed": 1}'
"""A body for ``skill`` that is beside the point."""
_TEMPLATE = '''\
{imports}from skill_api import {names}
{head}

@skill_command(autowire=True)
async def {name}(
    {params},
) -> dict[str, object]:
    """{summary}

    Args:
        {notes}

    Returns:
        Whether it went well and what changed.
    """
{body}
'''


def skill(
    title: str,
    body: str,
    *,
    imports: str = "from pathlib import Path\n\n",
    names: str = "Query, skill_command",
    head: str = "",
    name: str = "touch_file",
    params: str = 'file: str = Query(..., description="Path of the file")',
    notes: str = "file: Path of the file.",
    summary: str = "Create an empty file unless it is there.",
) -> Example:
    """An example that keeps every other convention, with this body."""
    lines = "\n".join(f"    {line}" if line else "" for line in body.strip("\n").splitlines())
    head = f"\n{head.strip()}\n" if head else ""
    text = _TEMPLATE.format(
        imports=imports, names=names, head=head, name=name, params=params, summary=summary, notes=notes, body=lines
    )
    return Example(title, text)

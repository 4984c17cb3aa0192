"""What the host's index will see otherwise than it is written, or not at all, in the omni profile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import ClassVar

import libcst as cst

from verifiers.conventions.model import SkillModule, literal_text
from verifiers.conventions.rule import Rule, Violation
from verifiers.interface import Example, Profile

_READ = frozenset(("category", "destructive", "read_only", "name", "resource_uri"))
"""The keywords that the index reads, besides the description."""
_TEXT = '''from omni.foundation.api.decorators import skill_command


@skill_command(name="show", {before}description="""Show a path.

    Args:
        - file: str - The path
    """{after})
def show(file: str) -> str:
    return file
'''


class Indexed(Rule):
    id = "conventions-indexed"
    title = "Will the index see what is written?"
    why = (
        "The router goes by an index that is made from the text, not by what the decorator says when it runs. Its parser reads "
        "no keyword behind a description of several lines, takes everything that is read-only for idempotent, and skips files "
        "whose name begins with an underscore. What gets lost there nobody is told."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("omni",)
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    good = ()
    bad = ()
    omni_good = (Example("the description last", _TEXT.format(before='category="read", read_only=True, ', after="")),)
    omni_bad = (Example("a category behind the description", _TEXT.format(before="", after=', category="read"')),)

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        call = module.decorator_call
        if call is None:
            return
        if PurePath(module.subject.path).name.startswith("_"):
            yield Violation(call, "the index skips files whose name begins with an underscore")
        yield from self._lost(call)
        said = {a.keyword.value: module.code(a.value) for a in call.args if a.keyword is not None}
        if (said.get("read_only"), said.get("idempotent")) == ("True", "False"):
            # Nothing that the author could write would mend it.
            yield Violation(call, "the index takes what is read_only for idempotent", "info")

    @staticmethod
    def _lost(call: cst.Call) -> Iterator[Violation]:
        """Keywords behind a description of several lines."""
        behind = False
        for arg in call.args:
            name = arg.keyword.value if arg.keyword is not None else ""
            if behind and name in _READ:
                yield Violation(arg, f"the index loses {name}: it reads no keyword behind a description of several lines")
            behind = behind or (name == "description" and "\n" in (literal_text(arg.value) or ""))


RULE = Indexed()

"""What a module holds between two calls is compared as it is, whatever the skill's own classes say of themselves."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from sandbox.guest.remembered import Picture


def modules(name: str) -> dict[str, str]:
    """Small modules with an ``f``, by their titles."""
    text = (Path(__file__).parent / name).read_text("utf-8")
    return dict(part.split("\n", 1) for part in text.split("### ")[1:])


CHANGES, STAYS = modules("remembered_changes.txt"), modules("remembered_stays.txt")


def left(text: str) -> list[str]:
    """The variables of a module that a call of its ``f`` changes."""
    module = types.ModuleType("skill")
    sys.modules["skill"] = module
    try:
        exec(compile(text, "skill.py", "exec"), module.__dict__)
        before = Picture(module)
        module.f()
        return before.changed(Picture(module))
    finally:
        del sys.modules["skill"]


@pytest.mark.parametrize("text", CHANGES.values(), ids=CHANGES)
def test_what_the_next_call_finds_is_seen(text: str) -> None:
    """By whatever name, however deep, and with no method of the skill's asked."""
    assert left(text) != []


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_what_only_works_leaves_nothing(text: str) -> None:
    """Caches of what is worked out, members of flags, the library's own notes: the same without them."""
    assert left(text) == []


def test_what_is_not_seen() -> None:
    """The state of what shows none to Python code: a limit that docs/security.md names."""
    assert left("import random\nS = random.Random(1)\ndef f(): S.random()") == []

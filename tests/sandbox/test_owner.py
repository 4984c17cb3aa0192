"""Whose container it is: only what is known to be dead is swept."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import owner


def test_a_living_owner_is_alive() -> None:
    """This process is not dead."""
    assert not owner.is_dead(owner.label())


def test_an_ended_owner_is_dead() -> None:
    """A process that has ended is, also once its number is used again."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        label = owner.label(child.pid)
        assert not owner.is_dead(label)
    assert owner.is_dead(label)
    mine = owner.label().rpartition(":")[0]
    assert owner.is_dead(f"{mine}:1"), "the same number, started at another time"


@pytest.mark.parametrize("text", ["", "x", "another-boot:pid:[1]:1:2", "a:b:c:d", ":::"])
def test_strangers_are_left_alone(text: str) -> None:
    """Another host's container, or another tool's, is never known to be dead."""
    assert not owner.is_dead(text)


@given(st.text())
def test_any_label_can_be_read(text: str) -> None:
    """Labels are foreign data."""
    assert owner.is_dead(text) is False

"""The functions that a skill carries, run as they stand in it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.embedded.helpers import HELPERS

MODULES = {"os": os, "shutil": shutil, "hashlib": hashlib, "Path": Path, "Callable": Callable}


def helper(name: str) -> Any:
    """A helper with what it needs."""
    space: dict[str, Any] = dict(MODULES)
    waiting = [name]
    while waiting:
        needed = HELPERS[waiting.pop()]
        exec(needed.text, space)  # our own text, as a skill has it
        waiting += needed.needs
    return space[name]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"milk\n"),
        (b"milk\n", b"milk\n"),
        (b"bread\nmilk\n", b"bread\nmilk\n"),
        (b"oatmilk\n", b"oatmilk\nmilk\n"),
        (b"milk\nbread\n", b"milk\nbread\nmilk\n"),
    ],
)
def test_a_block_at_the_end_is_whole_lines(tmp_path: Path, before: bytes, after: bytes) -> None:
    """A line that ends as the block does is another line."""
    path = tmp_path / "list"
    path.write_bytes(before)
    assert helper("_append")(path, b"milk\n") == int(before != after)
    assert path.read_bytes() == after


@given(st.lists(st.text("ab", max_size=3), max_size=5), st.text("ab", min_size=1, max_size=3), st.booleans())
def test_a_block_beside_a_line_is_put_there_once(lines: list[str], word: str, after: bool) -> None:
    """What stands beside the line already is not put there again; a line that only ends so is another one."""
    data = "".join(f"{line}\n" for line in lines).encode()
    inserted = helper("_inserted")
    once = inserted(data, lambda number, text: text == "aa", f"{word}!\n", after)
    assert once == inserted(once, lambda number, text: text == "aa", f"{word}!\n", after)
    assert once.split(b"\n").count(b"aa") == once.split(b"\n").count(f"{word}!".encode())

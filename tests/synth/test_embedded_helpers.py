"""The functions that a skill carries, run as they stand in it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.embedded.helpers import HELPERS

MODULES = {
    "os": os, "shutil": shutil, "hashlib": hashlib, "Path": Path, "Callable": Callable, "io": io, "json": json, "re": re,
    "stat": stat, "tarfile": tarfile,
}  # fmt: skip


def helper(name: str, **instead: Any) -> Any:
    """A helper with what it needs, some modules apart."""
    space: dict[str, Any] = {**MODULES, **instead}
    waiting = [name]
    while waiting:
        needed = HELPERS[waiting.pop()]
        exec(needed.text, space)  # our own text, as a skill has it
        waiting += needed.needs
    return space[name.partition(":")[0]]


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


# ---------------------------------------------------------------- plans


class _Killed(BaseException):
    pass


class _Dying(type(Path())):  # type: ignore[misc]  # which class it is depends on the system
    """A path in a process that is killed at its n-th change."""

    left = 0

    def _step(self) -> None:
        _Dying.left -= 1
        if _Dying.left < 0:
            raise _Killed

    def replace(self, target: Any) -> Any:
        self._step()
        return super().replace(target)

    def mkdir(self, *args: Any, **more: Any) -> None:
        self._step()
        super().mkdir(*args, **more)

    def unlink(self, *args: Any, **more: Any) -> None:
        self._step()
        super().unlink(*args, **more)

    def rmdir(self) -> None:
        self._step()
        super().rmdir()


trees = st.dictionaries(st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "f/a"]), st.binary(max_size=2), max_size=6)


def _grown(root: Path, tree: dict[str, bytes]) -> None:
    for name, data in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def _picture(root: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(root)): p.read_bytes() if p.is_file() else None for p in root.rglob("*")}


@settings(max_examples=50)
@given(trees, trees, st.integers(0, 40))
def test_a_plan_is_done_however_often_it_is_begun(before: dict[str, bytes], after: dict[str, bytes], kill: int) -> None:
    """Killed anywhere, what is there is finished the next time, and nothing is left; without a kill at once."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        work, stage = Path(scratch, "work"), Path(scratch, "stage")
        for root, tree in ((work, before), (stage, after)):
            root.mkdir()
            _grown(root, tree)
        with contextlib.chdir(work):
            plan = _Dying(f".{'0' * 16}.skill-plan")
            _Dying.left = kill
            with contextlib.suppress(_Killed):
                helper("_planned:makes-both", Path=_Dying)(stage, plan)
                helper("_finished:makes-both", Path=_Dying)(plan)
            _Dying.left = 10_000
            began = plan.is_dir()
            finish = helper("_finished:makes-both", Path=_Dying)
            finish(plan)
            if not began and _picture(work) != _picture(stage):
                helper("_planned:makes-both", Path=_Dying)(stage, plan)
                finish(plan)
            assert _picture(work) == _picture(stage)
            assert finish(plan) == 0


def test_the_place_of_a_copy_is_named_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There and back is nothing; what only begins alike, and what is no text, stays."""
    for name in ("ws", "stage"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    texts = {"config": f"url = {tmp_path}/ws/hub.git\n", "other": f"{tmp_path}/wsx /x{tmp_path}/ws\n"}
    for name, text in texts.items():
        (tmp_path / "stage" / name).write_text(text)
    (tmp_path / "stage" / "data").write_bytes(f"\0{tmp_path}/ws".encode())
    placed = helper("_placed")
    placed(Path("stage"), Path("ws"), Path("stage"))
    assert (tmp_path / "stage" / "config").read_text() == f"url = {tmp_path}/stage/hub.git\n"
    assert (tmp_path / "stage" / "other").read_text() == texts["other"]
    assert (tmp_path / "stage" / "data").read_bytes() == f"\0{tmp_path}/ws".encode()
    placed(Path("stage"), Path("stage"), Path("ws"))
    assert (tmp_path / "stage" / "config").read_text() == texts["config"]


@pytest.mark.parametrize(
    ("old", "new", "values", "there"),
    [
        (b"a=1\n", b"a=11\n", ["11"], False),
        (b"mem=64\n", b"mem=6464\n", ["6464", "mem"], False),
        (b"a\nx y\n", b"a\nx y\nx y\n", ["x"], True),
        (b"a\nx y\n", b"a\nx y\nx z\n", ["x"], False),
    ],
)
def test_a_line_that_stands_twice_is_no_value_that_repeats_itself(old: bytes, new: bytes, values: list[str], there: bool) -> None:
    """``sed`` that sets 1 to 11 does something; one that puts a line in for the second time does not."""
    assert helper("_stands")(new, old, values) is there

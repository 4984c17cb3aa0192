"""What CI makes beside the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from environments import missing

MAKE = Path(__file__).parents[1] / ".ci" / "frameworks" / "make"


def test_an_environment_that_cannot_be_made_is_said_and_stops_no_other(tmp_path: Path) -> None:
    """Why is in its state; one that is there in its versions is kept, in other versions it is made anew."""
    make, envs = tmp_path / "make", tmp_path / "envs"
    shutil.copy(MAKE, make)
    (tmp_path / "absent.txt").write_text("no-such-thing==1\n")
    (tmp_path / "bare.txt").write_text("# nothing\n")

    def made(*names: str) -> list[str]:
        env = {**os.environ, "PIP_NO_INDEX": "1"}
        subprocess.run([make, envs, *names], env=env, check=True, timeout=200)
        return [(envs / f"{name}.state").read_text() for name in names]

    failed, there = made("absent", "bare")
    assert failed.startswith("could not be installed: ERROR: No matching distribution found for no-such-thing")
    assert there == "made\n"
    (envs / "bare" / "kept").touch()
    assert made("bare") == [there]
    assert (envs / "bare" / "kept").exists()
    (tmp_path / "bare.txt").write_text("# other versions\n")
    assert made("bare") == [there]
    assert not (envs / "bare" / "kept").exists()


THERE = {"b": "made", "c": "made"}


@pytest.mark.parametrize(
    ("states", "reached", "why"),
    [
        ({"a": "made"}, True, ""),
        ({"a": "could not be installed: x", **THERE}, True, "a could not be installed: x"),
        ({"a": "making", **THERE}, True, "a was not installed within 0 s"),
        (THERE, True, "a has no environment"),
        ({"a": "could not be installed: x", "b": "made"}, True, None),
        ({"a": "making", "b": "making"}, True, None),
        ({}, True, None),
        ({"a": "could not be installed: x", "b": "made"}, False, "a could not be installed: x"),
    ],
)
def test_tests_fail_without_two_frameworks(tmp_path: Path, states: Mapping[str, str], reached: bool, why: str | None) -> None:
    """One may be missing where others are tried, and all of them where nothing can be downloaded."""
    for name, state in states.items():
        (tmp_path / f"{name}.state").write_text(f"{state}\n")
    if why is not None:
        assert missing(tmp_path, "a", 0, lambda name: reached) == why
        return
    with pytest.raises(AssertionError, match="a can be downloaded"):
        missing(tmp_path, "a", 0, lambda name: reached)


def test_one_that_fails_waits_for_the_others(tmp_path: Path) -> None:
    """They are made one after the other."""
    (tmp_path / "a.state").write_text("could not be installed: x")
    (tmp_path / "b.state").write_text("made")
    (tmp_path / "c.state").write_text("making")
    made = threading.Timer(0.3, (tmp_path / "c.state").write_text, ["made"])
    made.start()
    assert missing(tmp_path, "a", 20, lambda name: True) == "a could not be installed: x"
    made.join()

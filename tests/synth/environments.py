"""Frameworks' environments, which ``.ci/frameworks/make`` makes beside the tests: waited for, and not too many missing."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ENOUGH = 2
"""So many are tried wherever packages can be downloaded at all: a release that was withdrawn, or a slow machine, costs some."""
NOT_YET = ("", "making")


def missing(root: Path, name: str, seconds: float, reached: Callable[[str], bool]) -> str:
    """Why a framework cannot be tried; "" once its environment is made. Nothing is said before ``ENOUGH`` others are there.

    Raises:
        AssertionError: there are fewer, although the registry of packages is ``reached`` and has it.
    """
    until = time.monotonic() + seconds
    while (said := _states(root).get(name, "has no environment")) in NOT_YET and time.monotonic() < until:
        time.sleep(0.5)
    if said == "made":
        return ""
    while _made(states := _states(root)) < ENOUGH and set(NOT_YET) & set(states.values()) and time.monotonic() < until:
        time.sleep(0.5)
    assert _made(states) >= ENOUGH or not reached(name), f"{name} can be downloaded, but {_made(states)} of {states} are made"
    return f"{name} was not installed within {seconds:.0f} s" if said in NOT_YET else f"{name} {said}"


def _states(root: Path) -> Mapping[str, str]:
    return {path.stem: path.read_text().strip() for path in sorted(root.glob("*.state"))}


def _made(states: Mapping[str, str]) -> int:
    return list(states.values()).count("made")


@functools.cache
def downloadable(name: str) -> bool:
    """Whether pip, as it is configured here, gets any version of a package."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("--no-deps", "--no-cache-dir", "--retries", "1", "--timeout", "20", "-d", folder)
        command = [sys.executable, "-m", "pip", "download", *options, name]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

"""A recording that needs what the image lacks says what, and the command that adds it."""

from __future__ import annotations

import re

import pytest

from sandbox import open_sandbox
from sandbox.interface import ExecResult
from sandbox.recipe import load_recipe
from synth.tracing.traces import to_evidence, trace_from_record
from verifiers.expectation.lacking import PACKAGES, lacking
from verifiers.expectation.oracle import replay


def step(stderr: str) -> ExecResult:
    return ExecResult(127, None, b"", stderr.encode())


@pytest.mark.parametrize(
    ("stderr", "what", "option"),
    [
        ("bash: line 3: rg: command not found\n", "program rg", "--package ripgrep"),
        ("/ws/run.sh: line 1: node: command not found\n", "program node", "--package nodejs"),
        ("sh: 1: tree: not found\n", "program tree", "--package tree"),
        ("bash: line 1: ours: command not found\n", "program ours", "--package ours"),
        ("/usr/bin/env: ‘ruby’: No such file or directory\n", "program ruby", "--package ruby"),
        ("Traceback\nModuleNotFoundError: No module named 'yaml.x'\n", "Python module yaml.x", "--requirements requirements.txt"),
        ("Error: Cannot find module 'left-pad'\n", "Node module left-pad", "--package-json package.json"),
    ],
)
def test_it_is_named_with_a_command(stderr: str, what: str, option: str) -> None:
    said = lacking([step(""), step(stderr)])
    assert said.startswith(f"command 2 needs the {what}, which the image lacks. ")
    assert f'--image "$(assay engine image {option})"' in said
    assert lacking([step(stderr)], [stderr]) == ""  # it was missing when it was recorded


@pytest.mark.parametrize(
    "stderr", ["", "mv: cannot stat 'x': No such file or directory\n", "Cannot find module './x'\n", "not found\n"]
)
def test_what_else_goes_wrong_is_not_blamed_on_the_image(stderr: str) -> None:
    assert lacking([step(stderr)]) == ""


def test_the_packages_are_names_of_packages() -> None:
    """They are put into a command line."""
    assert load_recipe(more=sorted(PACKAGES.values())).packages
    assert all(re.fullmatch(r"[\w.+-]+", name) for name in PACKAGES)


@pytest.mark.engine
def test_an_unusable_recording_says_it() -> None:
    """Instead of how its end differs: that follows."""
    entry = {"type": "file", "mode": "0644", "content_b64": ""}
    record = {
        "task_id": "t", "task_description": "x", "commands": ["rg -l x . > out; true"], "outputs": [""], "exit_codes": [0],
        "success": True, "duration_ms": 1.0, "timestamp": "2026-01-01T00:00:00+00:00", "metadata": {},
        "workspace": {"a": entry}, "post_workspace": {"a": entry, "out": {**entry, "content_b64": "YQo="}},
    }  # fmt: skip
    with open_sandbox() as box, box.session("lacking", 1) as session:
        found = replay([to_evidence(trace_from_record(record, "x"))], session)
    assert found.unusable["t"].startswith("command 1 needs the program rg, which the image lacks. Add it: --image")

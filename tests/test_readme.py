"""The README says what the program does, in the program's own words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from readme_blocks import BLOCK, MANUAL, README, commands, difference, manual, misspelt, played

from synth.cli.program import COMMANDS

TEXT = README.read_text(encoding="utf-8")
ROOT = README.parent


def test_it_is_short() -> None:
    """Under 300 lines."""
    assert len(TEXT.splitlines()) < 300


@pytest.mark.engine
def test_blocks_are_what_the_program_prints() -> None:
    """Every output block, run anew; durations apart."""
    assert difference(TEXT, played(TEXT)) == ""


def test_manual_is_made_from_the_checks() -> None:
    """docs/checks.md is what the checks say of themselves."""
    assert MANUAL.read_text(encoding="utf-8") == manual()


def test_there_are_blocks() -> None:
    """The test above is not vacuous: a pass, a failure and the loop are shown."""
    shown = [c for block in BLOCK.findall(TEXT) for c in commands(block)]
    assert any(c.startswith("assay crystallize") for c in shown)
    assert any(c.startswith("assay verify") for c in shown)


def test_every_command_it_names_exists() -> None:
    """Each ``assay …`` in the text parses: the command, and the options that it is shown with."""
    names = {m[1] for m in re.finditer(r"\bassay ([a-z]+)\b", TEXT)}
    assert names <= set(COMMANDS) | {"is"}
    assert misspelt(re.findall(r"(?m)^(?:\$ |    )?(assay [^#|\n`]+)", TEXT)) == []


def test_its_links_lead_somewhere() -> None:
    """Every relative link is a file of the repository."""
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", TEXT):
        assert (ROOT / Path(target)).exists(), target

"""GitHub's runner finds no command in what is printed, in no format, whatever a skill is called or says."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.cli import console
from verifiers.formats import FORMATS
from verifiers.formats.text import no_commands
from verifiers.source.agent_text import for_agent, instructs

WORDS = ("##[", "::", "##[add-mask]x", " ", "\n", "\t", "a", "##", "[", "error::")
PIECES = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)


@given(PIECES, st.sampled_from(FORMATS))
def test_no_old_command_anywhere(text: str, format: str) -> None:
    """``##[`` stands in no output."""
    assert "##[" not in no_commands(text, format)


@given(PIECES)
def test_no_new_command_at_the_start_of_a_plain_line(text: str) -> None:
    """``::`` behind blanks is one for the runner."""
    assert not re.search(r"(?m)^\s*::", no_commands(text))


@given(PIECES)
def test_json_means_what_it_meant(text: str) -> None:
    """The bracket is written in another way, and is the same one."""
    for format in ("json", "sarif"):
        assert json.loads(no_commands(json.dumps({"x": text}), format)) == {"x": text}


def test_standard_error_carries_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Talk and errors name foreign paths."""
    console.say("::error::x")
    console.say("[1/2] ##[stop-commands]abc/skill.py")
    console.error("##[add-mask]x")
    console.out("  ::set-output name=x::y")
    told = capsys.readouterr()
    assert "##[" not in told.out + told.err
    assert not re.search(r"(?m)^\s*::", told.out + told.err)


@given(st.text())
def test_any_text_is_screened_within_bounds(text: str) -> None:
    """What an agent is shown is short, and instructs nobody."""
    shown = for_agent(text, 50)
    assert len(shown) <= 100
    assert instructs(text) is None or shown.startswith("[left out")

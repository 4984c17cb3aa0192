"""The guides were followed: every command in them is run, and prints what they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from readme_blocks import BLOCK, GUIDES, ROOT, TUTORIAL, commands, difference, played, registry_in

NAMES = {"agentskills", "claude-code", "git", "github-actions", "gitlab", "mcp", "omni", "pre-commit", "wayland"}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return registry_in(tmp_path_factory.mktemp("guides"))


@pytest.mark.engine
@pytest.mark.parametrize("guide", GUIDES, ids=lambda p: p.stem)
def test_its_commands_print_what_it_shows(guide: Path, registry: Path) -> None:
    """Run anew in an empty home, durations apart."""
    text = guide.read_text(encoding="utf-8")
    assert difference(text, played(text, registry)) == ""


@pytest.mark.engine
def test_the_tutorial_prints_what_it_shows() -> None:
    """From a history to a gate: in an empty home, with nothing that another page made."""
    text = TUTORIAL.read_text(encoding="utf-8")
    assert difference(text, played(text)) == ""
    shown = [c for block in BLOCK.findall(text) for c in commands(block)]
    for step in ("import", "record", "crystallize", "run", "answer", "gate"):
        assert any(f"assay {step} " in c for c in shown), step


def test_there_is_one_for_each() -> None:
    """With something to run in each of them."""
    assert {g.stem for g in GUIDES} == NAMES
    for guide in GUIDES:
        blocks = BLOCK.findall(guide.read_text(encoding="utf-8"))
        assert sum(len(commands(b)) for b in blocks) >= 2, guide.name


@pytest.mark.parametrize("guide", GUIDES, ids=lambda p: p.stem)
def test_it_says_what_one_wants_to_know(guide: Path) -> None:
    """What you get, what it costs, how to undo it; a page, whose configuration parses and whose links lead somewhere."""
    text = guide.read_text(encoding="utf-8")
    for part in ("**What you get.**", "**What it costs.**", "**Undo.**"):
        assert part in text
    assert len(text.splitlines()) < 80
    for block in re.findall(r"(?ms)^```yaml\n(.*?)^```$", text):
        assert yaml.safe_load(block.replace("<", "").replace(">", ""))
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (guide.parent / target).resolve().is_relative_to(ROOT)
        assert (guide.parent / target).exists(), target

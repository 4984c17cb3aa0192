"""The guides were followed: every command in them is run, and prints what they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from readme_blocks import BLOCK, GUIDES, ROOT, TUTORIAL, commands, difference, misspelt, played, registry_in

from synth.cli.program import COMMANDS

NAMES = {"agentskills", "claude-code", "git", "github-actions", "gitlab", "mcp", "omni", "pre-commit", "wayland"}


YAML = re.compile(r"(?ms)^```yaml\n(.*?)^```$")


def followed(guide: Path) -> list[str]:
    """The commands that a guide shows with what they print."""
    return [c for block in BLOCK.findall(guide.read_text(encoding="utf-8")) for c in commands(block)]


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
    """With five commands to follow in each of them."""
    assert {g.stem for g in GUIDES} == NAMES
    for guide in GUIDES:
        assert len(followed(guide)) >= 5, guide.name


@pytest.mark.parametrize("guide", GUIDES, ids=lambda p: p.stem)
def test_what_it_only_names_is_spelt_right(guide: Path) -> None:
    """Commands in the text, whose values the reader chooses; those of a configuration are followed word for word."""
    text = guide.read_text(encoding="utf-8")
    named = [" ".join(span.split()) for span in re.findall(r"`(assay [^`]+)`", text)]
    assert {line.split()[1] for line in named} <= set(COMMANDS)
    assert misspelt(named) == []
    configured = re.findall(r"(?m)^ +- (assay .*)$", "".join(YAML.findall(text)))
    assert set(configured) <= set(followed(guide))


def test_the_reusable_workflow_takes_what_the_guide_gives() -> None:
    """Every input that it must have, and none that it has not; the command is the workflow's own."""
    guide, file = ROOT / "docs/integrations/github-actions.md", ROOT / ".github/workflows/assay-gate.yml"
    (shown,) = (yaml.safe_load(block) for block in YAML.findall(guide.read_text(encoding="utf-8")))
    inputs = yaml.safe_load(file.read_text(encoding="utf-8"))[True]["workflow_call"]["inputs"]  # YAML reads the key `on` so
    given = set(shown["jobs"]["gate"]["with"])
    assert {name for name, i in inputs.items() if i.get("required")} <= given <= set(inputs)
    (options,) = re.findall(r"options=\((.*?)\)", file.read_text(encoding="utf-8"))
    assert any(options in command for command in followed(guide))


def test_the_hooks_are_what_the_guide_runs() -> None:
    """Each hook's command, with files."""
    guide = ROOT / "docs/integrations/pre-commit.md"
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")):
        assert any(f"{hook['entry']} " in command for command in followed(guide)), hook["id"]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda p: p.stem)
def test_it_says_what_one_wants_to_know(guide: Path) -> None:
    """What you get, what it costs, how to undo it; a page, whose configuration parses and whose links lead somewhere."""
    text = guide.read_text(encoding="utf-8")
    for part in ("**What you get.**", "**What it costs.**", "**Undo.**"):
        assert part in text
    assert len(text.splitlines()) < 80
    for block in YAML.findall(text):
        assert yaml.safe_load(block.replace("<", "").replace(">", ""))
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (guide.parent / target).resolve().is_relative_to(ROOT)
        assert (guide.parent / target).exists(), target

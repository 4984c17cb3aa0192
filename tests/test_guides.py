"""The guides were followed: every command in them is run, and prints what they show."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from factories import draft, report
from readme_blocks import (
    BLOCK,
    GUIDES,
    REGISTRY,
    ROOT,
    TUTORIAL,
    commands,
    difference,
    environment,
    misspelt,
    played,
    registry_in,
)

from synth.cli.program import COMMANDS
from synth.registry import Registry

NAMES = {"agentskills", "claude-code", "git", "github-actions", "gitlab", "mcp", "omni", "pre-commit", "wayland"}


INTEGRATIONS = [guide for guide in GUIDES if guide.parent.name == "integrations"]
NOT_AGAIN = {REGISTRY.removesuffix(" -q"), "python3 -m nox -s hosts"}
"""What the guides' registry is made with, and what takes minutes and is run by hand."""
BY_OPTION = (
    "assay export NAME --to agentskills -o agent --no-evidence",
    "assay export NAME --to wayland -o wayland --release",
    "assay mcp --learn",
)
"""Commands that the text names by an option alone."""
YAML = re.compile(r"(?ms)^```yaml\n(.*?)^```$")


def followed(guide: Path) -> list[str]:
    """The commands that a guide shows with what they print."""
    return [c for block in BLOCK.findall(guide.read_text(encoding="utf-8")) for c in commands(block)]


def named(guide: Path) -> list[str]:
    """The commands that a guide has in its text and in configurations, apart from those that it shows."""
    text = guide.read_text(encoding="utf-8")
    configured = re.findall(r"(?m)^ +- ((?:assay|pip) .*)$", "".join(YAML.findall(text)))
    return [*(" ".join(span.split()) for span in re.findall(r"`((?:assay|python3) [^`]+)`", text)), *configured]


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
    ours = [line for line in named(guide) if line.startswith("assay ")]
    assert {line.split()[1] for line in ours} <= set(COMMANDS)
    assert misspelt(ours) == []
    configured = re.findall(r"(?m)^ +- (assay .*)$", "".join(YAML.findall(guide.read_text(encoding="utf-8"))))
    assert set(configured) <= set(followed(guide))


def test_what_they_only_name_runs(tmp_path: Path) -> None:
    """On one project that has what they speak of: a registry with a version that waits, a session, a file with a skill."""
    values = {"NAME": "batch_rename", "WHO": "ada", "DIR": "sessions", "FILE": "commands.py", "function": "rename_ext"}
    with Registry(tmp_path / "skills") as opened:
        opened.register(draft(), report(draft()))
        newer = replace(draft(), source=f"{draft().source}# newer\n")
        waits = opened.register(newer, report(newer), supersedes="batch_rename", require_approval=True)
    values["VERSION"] = waits.version
    for name in ("home", "sessions"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / "fixtures" / "importers" / "claude_code.jsonl", tmp_path / "sessions")
    shutil.copy(ROOT / "fixtures" / "skills" / "rename_ext" / "skill.py", tmp_path / "commands.py")
    # pip says what it would install, and from here: nothing is downloaded.
    pip = {"ASSAY_PACKAGE": str(ROOT), "PIP_DRY_RUN": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    env = {**environment(tmp_path), **pip, "ASSAY_REGISTRY": str(tmp_path / "skills")}
    shown = {command for guide in INTEGRATIONS for command in followed(guide)}
    failed = {}
    for command in sorted({*(c for guide in INTEGRATIONS for c in named(guide)), *BY_OPTION} - NOT_AGAIN - shown):
        line = re.sub(rf"\b({'|'.join(values)})\b", lambda found: values[found[0]], command)
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, input="", check=False)
        # Nothing is there yet: an answer too, unlike an error with the same code.
        went = done.returncode in (0, 4) and "error: " not in done.stderr
        failed |= {} if went else {line: done.stderr}
    assert failed == {}


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
    assert re.search(r"^\$ |`assay ", text.partition("**Undo.**")[2], re.MULTILINE), "no command undoes it"
    assert len(text.splitlines()) < 80
    for block in YAML.findall(text):
        assert yaml.safe_load(block.replace("<", "").replace(">", ""))
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (guide.parent / target).resolve().is_relative_to(ROOT)
        assert (guide.parent / target).exists(), target

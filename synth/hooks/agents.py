"""The agents that can call hooks: where they are told to, which events they have, and what their tools are called.

Source: Claude Code 2.1.197, Codex 0.169.0 and Gemini CLI 0.61.0, run against a scripted model.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

Kind = Literal["start", "request", "before", "after", "end"]


@dataclass(frozen=True, slots=True)
class Agent:
    """How one agent is told to call hooks."""

    name: str
    settings: str
    """File below the project, or below the home directory."""
    events: dict[str, Kind]
    """The agent's name of an event -> what it is to us."""
    shell: frozenset[str]
    """Tools that run a command."""
    edits: frozenset[str]
    """Tools that change a file that ``file_path`` names."""
    answer: str
    """What it wants to read from a hook that has nothing to say."""
    skills: str
    """Directory below the project, or below the home directory, where it looks for skills."""

    @property
    def files(self) -> str:
        """Pattern of the tools that change files: its own, and skills of ``assay mcp``."""
        return "|".join((*sorted(self.edits), "mcp_.*skill_.*"))

    @property
    def commands(self) -> str:
        """Pattern of the tools that run a command."""
        return "|".join(sorted(self.shell))

    def says(self, text: str) -> str:
        """What it reads from a hook so that the person sees ``text``; the model does not."""
        return json.dumps({"systemMessage": text}) if text else self.answer


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code", ".claude/settings.json",
            {"SessionStart": "start", "UserPromptSubmit": "request",
             "PreToolUse": "before", "PostToolUse": "after", "Stop": "end"},
            frozenset({"Bash"}), frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"}), "", ".claude/skills",
        ),
        Agent(
            "codex", ".codex/hooks.json",
            {"SessionStart": "start", "UserPromptSubmit": "request",
             "PreToolUse": "before", "PostToolUse": "after", "Stop": "end"},
            frozenset({"Bash"}), frozenset({"apply_patch"}), "{}", ".codex/skills",
        ),
        Agent(
            "gemini-cli", ".gemini/settings.json",
            {"SessionStart": "start", "BeforeAgent": "request",
             "BeforeTool": "before", "AfterTool": "after", "AfterAgent": "end"},
            frozenset({"run_shell_command"}), frozenset({"write_file", "replace"}), "{}", ".gemini/skills",
        ),
    )
}  # fmt: skip

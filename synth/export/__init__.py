"""Registered skills for other agents: agentskills.io directories, Wayland drafts, Omni skills. Nobody's edits are overwritten."""

from synth.export.source import ExportError, Skill, skill_of

__all__ = ["ExportError", "Skill", "skill_of"]

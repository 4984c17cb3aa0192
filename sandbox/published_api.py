"""Installed as the top-level module ``skill_api``: what a skill imports, in an environment that has the package installed."""

from sandbox.guest.skill_api import Query, nu, skill_command

__all__ = ["Query", "nu", "skill_command"]

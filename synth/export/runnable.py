"""A skill as scripts that run without us: the file that was verified, what it imports, and a way to call it from a shell."""

from __future__ import annotations

import json
from importlib import resources

from synth.draft import SKILL
from synth.export.source import Skill
from verifiers.interface import Parameter


def scripts(skill: Skill) -> dict[str, bytes]:
    """Files below ``scripts/``: the skill's own bytes, a copy of ``skill_api``, and ``run.py``."""
    return {
        f"scripts/{SKILL}": skill.draft.source.encode("utf-8", "surrogateescape"),
        "scripts/skill_api.py": (resources.files("sandbox") / "guest" / "skill_api.py").read_bytes(),
        "scripts/run.py": _run_py(skill),
    }


def _run_py(skill: Skill) -> bytes:
    """``run.py.txt`` with the skill's function and parameters written in."""
    rows = [[p.name, p.annotation, p.required, " ".join(p.description.split())] for p in skill.subject.parameters]
    text = (resources.files("synth.export") / "run.py.txt").read_text("utf-8").replace("FUNCTION", skill.subject.name)
    return text.replace('"PARAMETERS"', json.dumps(json.dumps(rows))).encode()


def usage(skill: Skill, place: str = "PATH/OF/THIS/SKILL") -> str:
    """How to call it, in Markdown.

    Args:
        place: The skill's own directory, as its reader finds it.
    """
    example = ", ".join(f'"{p.name}": {_sample(p)}' for p in skill.subject.parameters if p.required)
    return (
        "`DIR` is the directory with the files of the task, mostly `.`, and none that is kept for output. It prints its result "
        "as JSON. Exit code 0: it claims success, 1: it reports failure, 2: the call is wrong.\n\n"
        f"```\npython3 {place}/scripts/run.py --directory DIR '{{{example}}}'\n```"
    )


def _sample(parameter: Parameter) -> str:
    kind = parameter.annotation
    return "1" if "int" in kind or "float" in kind else "true" if "bool" in kind else '["..."]' if "list" in kind else '"..."'

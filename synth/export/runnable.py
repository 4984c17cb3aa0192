"""A skill as scripts that run without us: the file that was verified, what it imports, and a way to call it from a shell."""

from __future__ import annotations

from importlib import resources

from synth.draft import SKILL
from synth.export.source import Skill
from verifiers.interface import Parameter

_RUN = '''\
"""Runs the skill: python scripts/run.py '{"parameter": "value"}'. Prints its result as JSON; exit code 0 = it claims success."""

import asyncio
import inspect
import json
import sys

sys.dont_write_bytecode = True  # a __pycache__ here would look like somebody's edit

import skill


def main() -> int:
    arguments = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    value = skill.FUNCTION(**arguments)
    if inspect.isawaitable(value):
        value = asyncio.run(_awaited(value))
    print(json.dumps(value, ensure_ascii=False))
    failed = isinstance(value, dict) and (
        value.get("ok") is False or value.get("success") is False or value.get("status") == "error" or bool(value.get("error"))
    )
    return 1 if failed else 0


async def _awaited(value):
    return await value


if __name__ == "__main__":
    sys.exit(main())
'''


def scripts(skill: Skill) -> dict[str, bytes]:
    """Files below ``scripts/``: the skill's own bytes, a copy of ``skill_api``, and ``run.py``."""
    return {
        f"scripts/{SKILL}": skill.draft.source.encode("utf-8", "surrogateescape"),
        "scripts/skill_api.py": (resources.files("sandbox") / "guest" / "skill_api.py").read_bytes(),
        "scripts/run.py": _RUN.replace("FUNCTION", skill.subject.name).encode(),
    }


def usage(skill: Skill) -> str:
    """How to call it, in Markdown."""
    example = ", ".join(f'"{p.name}": {_sample(p)}' for p in skill.subject.parameters if p.required)
    return (
        "Run it in the directory that it should work on. It prints its result as JSON; exit code 0: it claims success.\n\n"
        f"```\npython PATH/OF/THIS/SKILL/scripts/run.py '{{{example}}}'\n```"
    )


def _sample(parameter: Parameter) -> str:
    kind = parameter.annotation
    return "1" if "int" in kind or "float" in kind else "true" if "bool" in kind else '["..."]' if "list" in kind else '"..."'
